// Package datadir is a launcher's data folder: its lock, its layout, and what a launcher remembers
// after a restart.
//
//	f, err := datadir.Open("/var/lib/hamadryad", false)
//	defer f.Close()
//	incarnation, err := f.Incarnation()
//
// # Invariants
//
// Incarnations grow. One launcher at a time has a folder.
package datadir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/isolate/safepath"
	"github.com/hamadryad/hamadryad/internal/atomicfile"
	"github.com/hamadryad/hamadryad/internal/dataformat"
	"github.com/hamadryad/hamadryad/internal/process/proctree"
)

// Dir is a launcher's data folder. While it is open, no other launcher can open it.
type Dir struct {
	root     string
	lock     *os.File
	note     *os.File // the last two incarnations; kept open, and of a fixed size
	identity string   // unique, and the same across restarts
}

// dataName is the kind of a launcher's data folder in the folder's format mark.
const dataName = "launcher"

// versions are the format versions of what stays in the folder across restarts: identity,
// incarnations, the accepted configuration, logs of attempts, programs. A change of one of these
// formats raises it.
var versions = dataformat.Versions{"files": 1}

// Identity distinguishes the folder from all others, across restarts of its launcher.
func (d *Dir) Identity() string { return d.identity }

// Mark returns the environment variable of the workers of this folder.
func (d *Dir) Mark() string { return Variable + "=" + d.root }

// Variable marks the workers of a data folder in their environment, so that a later start finds
// stray workers.
const Variable = "HAMADRYAD_DATA"

// closed is the mode of a folder that only its owner uses. passable is the mode of a folder in
// which others can open files by name, but can't list them.
const (
	closed   = 0o700
	passable = 0o711
)

// Open locks the data folder and removes what an earlier run left there, except for the attempts'
// logs. It ends the earlier run's processes first, because they could still write. others is true
// if workers run as other users.
func Open(root string, others bool) (*Dir, error) {
	mode := map[bool]fs.FileMode{false: closed, true: passable}[others]
	if err := dataformat.Check(root, dataName, versions); err != nil {
		return nil, err
	}
	err := os.MkdirAll(root, mode)
	if err == nil {
		err = os.Chmod(root, mode)
	}
	if err != nil {
		return nil, fmt.Errorf("launcher's data folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(root, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("launcher's data folder: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("data folder %s is in use by another launcher: give each its own", root)
		}
		return nil, fmt.Errorf("lock data folder %s: %w", root, err)
	}
	d := &Dir{root: root, lock: f}
	if err := proctree.KillMarked(proctree.Mark(d.Mark())); err != nil {
		d.Close()
		return nil, fmt.Errorf("processes of an earlier launcher on %s are left and can't be killed: %w", root, err)
	}
	for sub, mode := range map[string]fs.FileMode{storeName: mode, scratchName: mode} {
		path := filepath.Join(root, sub)
		if err := errors.Join(safepath.RemoveAll(root, sub), os.Mkdir(path, mode), os.Chmod(path, mode)); err != nil {
			d.Close()
			return nil, fmt.Errorf("clean the data folder: %w", err)
		}
	}
	err = os.MkdirAll(d.Logs(), closed)
	if err == nil {
		err = errors.Join(os.Chmod(d.Logs(), closed), d.claimNote())
	}
	if err == nil {
		err = d.claimIdentity()
	}
	if err == nil {
		err = dataformat.Mark(root, dataName, versions)
	}
	if err != nil {
		d.Close()
		return nil, fmt.Errorf("claim room for the launcher's records: %w", err)
	}
	return d, nil
}

// The names in the folder: store and scratch exist only while a launcher has it open.
const (
	storeName   = "store"
	scratchName = "scratch"
	logsName    = "logs"
)

// Store returns the folder of stored outputs.
func (d *Dir) Store() string { return filepath.Join(d.root, storeName) }

// Scratch returns the folder of temporary files.
func (d *Dir) Scratch() string { return filepath.Join(d.root, scratchName) }

// Logs returns the folder of the attempts' logs.
func (d *Dir) Logs() string { return filepath.Join(d.root, logsName) }

// Incarnation returns a number larger than all before it, even if the clock went back. It
// overwrites a preallocated slot in a file that is open since the start, so it works on a full
// disk.
func (d *Dir) Incarnation() (uint64, error) {
	noted, err := d.noted()
	if err != nil {
		return 0, err
	}
	slot := 0
	if noted[1] < noted[0] {
		slot = 1 // the newer one stays: a torn write loses nothing
	}
	n := max(uint64(time.Now().UnixNano()), noted[0]+1, noted[1]+1)
	_, err = d.note.WriteAt(fmt.Appendf(nil, "%-*d\n", noteSlot-1, n), int64(slot*noteSlot))
	if err == nil {
		err = d.note.Sync()
	}
	if err != nil {
		return 0, fmt.Errorf("note the incarnation: %w", err)
	}
	return n, nil
}

// noted returns the two incarnations noted last, 0 for none.
func (d *Dir) noted() (noted [2]uint64, err error) {
	for i := range noted {
		text := make([]byte, noteSlot)
		n, err := d.note.ReadAt(text, int64(i*noteSlot))
		if err != nil && !errors.Is(err, io.EOF) {
			return noted, fmt.Errorf("read the incarnation: %w", err)
		}
		if last, err := strconv.ParseUint(strings.TrimRight(string(text[:n]), " \n\x00"), 10, 64); err == nil {
			noted[i] = last
		}
	}
	return noted, nil
}

// claimIdentity reads the folder's identity. It makes a new one for a new folder, and when the
// incarnations come close to their maximum: for the manager that is another launcher.
func (d *Dir) claimIdentity() error {
	path := filepath.Join(d.root, "identity")
	noted, err := d.noted()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	d.identity = strings.TrimSpace(string(text))
	spent := max(noted[0], noted[1]) > math.MaxInt64
	if d.identity != "" && !spent {
		return nil
	}
	d.identity = rand.Text()
	err = atomicfile.Replace(path, []byte(d.identity+"\n"))
	if err == nil && spent {
		_, err = d.note.WriteAt([]byte(strings.Repeat(" ", 2*noteSlot)), 0)
	}
	return err
}

// Accept keeps the configuration with which the launcher has joined.
func (d *Dir) Accept(source []byte) error {
	return atomicfile.Replace(filepath.Join(d.root, acceptedFile), source)
}

// acceptedFile keeps the configuration with which the launcher last joined.
const acceptedFile = "configuration.accepted"

// Accepted returns the configuration with which a launcher with this data folder last joined, or
// nil.
func Accepted(data string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(data, acceptedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// noteSlot is the size in bytes of one of the two slots for an incarnation: a disk sector, which is
// written whole or not at all.
const noteSlot = 512

// claimNote opens the file of incarnations and preallocates it.
func (d *Dir) claimNote() error {
	f, err := os.OpenFile(filepath.Join(d.root, "incarnation"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	d.note = f
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if missing := 2*noteSlot - info.Size(); missing > 0 {
		if _, err := f.WriteAt([]byte(strings.Repeat(" ", int(missing))), info.Size()); err != nil {
			return err
		}
	}
	return errors.Join(f.Sync(), atomicfile.SyncFolder(d.root))
}

// Close releases the folder.
func (d *Dir) Close() {
	d.note.Close() // nil, when it was not opened
	d.lock.Close()
}
