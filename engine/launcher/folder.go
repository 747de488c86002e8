package launcher

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/sdk/job/process/proctree"
)

// folder is a launcher's data folder, held by a lock.
type folder struct {
	root string
	lock *os.File
}

// dataVariable marks the workers of a data folder in their environment, so that a
// successor finds strays.
const dataVariable = "HAMADRYAD_DATA"

// openFolder locks the data folder and removes what an earlier life left there,
// processes first: they could write on.
func openFolder(root string) (*folder, error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("launcher's data folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(root, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
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
	d := &folder{root: root, lock: f}
	if err := proctree.KillMarked(proctree.Mark(dataVariable + "=" + root)); err != nil {
		d.close()
		return nil, fmt.Errorf("processes of an earlier launcher on %s are left and can't be killed: %w", root, err)
	}
	for _, sub := range []string{d.store(), d.scratch(), d.logs()} {
		if err := errors.Join(os.RemoveAll(sub), os.Mkdir(sub, 0o755)); err != nil {
			d.close()
			return nil, fmt.Errorf("clean the data folder: %w", err)
		}
	}
	return d, nil
}

func (d *folder) store() string   { return filepath.Join(d.root, "store") }
func (d *folder) scratch() string { return filepath.Join(d.root, "scratch") }
func (d *folder) logs() string    { return filepath.Join(d.root, "logs") }

// scratchOf is the folder for one attempt's temporary files.
func (d *folder) scratchOf(attempt uint64) string {
	return filepath.Join(d.scratch(), "a"+strconv.FormatUint(attempt, 10))
}

// jobStore is the folder of all that a job's attempts stored.
func (d *folder) jobStore(job uint64) string {
	return filepath.Join(d.store(), "job-"+strconv.FormatUint(job, 10))
}

// incarnation returns a number larger than any before it, also when the clock
// went back.
func (d *folder) incarnation() (uint64, error) {
	path := filepath.Join(d.root, "incarnation")
	n := uint64(time.Now().UnixNano())
	if text, err := os.ReadFile(path); err == nil {
		if last, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil && last >= n {
			n = last + 1
		}
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, []byte(strconv.FormatUint(n, 10)), 0o644); err != nil {
		return 0, fmt.Errorf("note the incarnation: %w", err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return 0, fmt.Errorf("note the incarnation: %w", err)
	}
	return n, nil
}

// close gives the folder free.
func (d *folder) close() { d.lock.Close() }
