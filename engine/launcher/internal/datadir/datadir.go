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

// Dir is a launcher's data folder. While it is open no other launcher has it.
type Dir struct {
	root     string
	lock     *os.File
	note     *os.File // the last two incarnations; open, and as large as it ever gets
	identity string   // the same in all lives; nobody else has it
}

// dataName is what the mark of a launcher's data folder says that it is.
const dataName = "launcher"

// versions are those of what stays in the folder from one life to the next: identity,
// incarnations, the accepted configuration, logs of attempts, programs. Whoever changes the
// form of one raises it.
var versions = dataformat.Versions{"files": 1}

// Identity tells the folder from all others, in all lives of its launcher.
func (d *Dir) Identity() string { return d.identity }

// Mark is what a worker of this folder has in its environment.
func (d *Dir) Mark() string { return Variable + "=" + d.root }

// Variable marks the workers of a data folder in their environment, so that a
// successor finds strays.
const Variable = "HAMADRYAD_DATA"

// closed is the mode of a folder that its owner alone uses. passable is that of one in
// which others find what they know the name of, and can't look round.
const (
	closed   = 0o700
	passable = 0o711
)

// Open locks the data folder and removes what an earlier life left there but for the attempts'
// logs, processes first: they could write on. Others says that workers run as other users.
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

// The names of what is in the folder: store and scratch only while a launcher has it.
const (
	storeName   = "store"
	scratchName = "scratch"
	logsName    = "logs"
)

// Store is the folder of what attempts stored.
func (d *Dir) Store() string { return filepath.Join(d.root, storeName) }

// Scratch is the folder of temporary files.
func (d *Dir) Scratch() string { return filepath.Join(d.root, scratchName) }

// Logs is the folder of the attempts' logs.
func (d *Dir) Logs() string { return filepath.Join(d.root, logsName) }

// Incarnation returns a number larger than any before it, also when the clock
// went back. It writes over what it wrote before, in a file that is open since the
// start: a full disk has room for that.
func (d *Dir) Incarnation() (uint64, error) {
	noted, err := d.noted()
	if err != nil {
		return 0, err
	}
	slot := 0
	if noted[1] < noted[0] {
		slot = 1 // the newer one stays: a write that breaks off loses nothing
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

// noted are the two incarnations noted last, 0 for none.
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

// claimIdentity reads the folder's identity, and makes one for a new folder, and for
// one whose incarnations have come so far that they can't grow much longer: to the
// manager that is another launcher.
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

// Accept keeps the configuration that the launcher has joined with.
func (d *Dir) Accept(source []byte) error {
	return atomicfile.Replace(filepath.Join(d.root, acceptedFile), source)
}

// acceptedFile keeps the configuration that the launcher joined with last.
const acceptedFile = "configuration.accepted"

// Accepted returns the configuration that a launcher with this data folder joined with
// last, nil when there is none.
func Accepted(data string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(data, acceptedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// noteSlot is the size of one of the two places for an incarnation, in bytes: a
// disk's sector, which is written whole or not at all.
const noteSlot = 512

// claimNote opens the file of incarnations and fills it up.
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

// Close gives the folder free.
func (d *Dir) Close() {
	d.note.Close() // nil, when it was not opened
	d.lock.Close()
}
