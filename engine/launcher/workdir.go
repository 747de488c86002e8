package launcher

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/isolate/sandboxinit"
	program "github.com/hamadryad/hamadryad/engine/worker"
)

// workDir is a worker's folder, and the owner of the files that it makes.
type workDir struct {
	base  string // the launcher's folder of temporary files
	own   string // name of the worker's own folder below base; "": all workers share base
	plan  string // path of its job's plan, as the worker sees it
	owner int    // id of its user

	tickets string // path of its file of Kerberos tickets; "": it has none

	closed func() // called when the worker is gone; nil: nothing to do

	opened *os.File // its folder; nil: it could not be opened
	before stamp    // of its folder, at an attempt's beginning
	spare  string   // path of an empty folder of an earlier attempt, for the next one; "": none
}

// stamp is the time of a folder's last change, and the time of reading it.
type stamp struct{ changed, seen time.Time }

// stampTick exceeds the coarsest granularity of a kernel's change times of a folder (10 ms).
const stampTick = 100 * time.Millisecond

// stamp reads the folder's change time. The zero stamp says that it could not be read.
func (h *workDir) stamp() stamp {
	var is unix.Stat_t
	if h.opened == nil || unix.Fstat(int(h.opened.Fd()), &is) != nil {
		return stamp{}
	}
	return stamp{changed: time.Unix(is.Ctim.Unix()), seen: time.Now().Round(0)} // both by the wall clock
}

// recordState notes the folder's state before an attempt makes files. It waits for no disk.
func (h *workDir) recordState() { h.before = h.stamp() }

// unchanged reports whether nothing was made in the folder since recordState. It is cheaper than
// looking for a folder that does not exist, and a launcher may end a thousand attempts in a second.
// Nobody can set the time of a folder's last change (ctime) back. Changes within one tick have the
// same time, so a folder that changed just before the attempt began counts as changed.
func (h *workDir) unchanged() bool {
	now := h.stamp()
	return !now.seen.IsZero() && now.changed.Equal(h.before.changed) && h.before.seen.Sub(now.changed) > stampTick
}

// open keeps the folder open, so that its change time is cheap to read.
func (h *workDir) open() *workDir {
	h.opened, _ = os.Open(h.folder()) // on failure each attempt's folder is looked for
	return h
}

// The names of the files that a worker finds in a folder of its own.
const (
	workDirProgram = "program"
	workDirPlan    = "plan"
	workDirTickets = "tickets"
)

// folder is the folder in which the worker starts.
func (h *workDir) folder() string { return filepath.Join(h.base, h.own) }

// nameOf is the name of the folder of an attempt's temporary files, below base.
func (h *workDir) nameOf(attempt uint64) string {
	return filepath.Join(h.own, "a"+strconv.FormatUint(attempt, 10))
}

// scratchOf is the path of the folder of an attempt's temporary files.
func (h *workDir) scratchOf(attempt uint64) string { return filepath.Join(h.base, h.nameOf(attempt)) }

// clear removes an attempt's temporary files. Most attempts make none. The empty folder of a finished
// attempt is kept for the worker's next one.
func (h *workDir) clear(attempt uint64, finished bool, l *leftovers) {
	if h.unchanged() {
		return
	}
	path := h.scratchOf(attempt)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return
	}
	if !finished || !emptyFolder(path, h.owner) {
		l.remove(h.base, h.nameOf(attempt))
		return
	}
	h.removeSpare(l)
	h.spare = path
}

// emptyFolder reports whether a path is an empty folder, as a worker of that user makes it.
func emptyFolder(path string, owner int) bool {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	var is unix.Stat_t
	if unix.Fstat(fd, &is) != nil || is.Uid != uint32(owner) || is.Mode&0o7777 != 0o700 {
		return false
	}
	_, err = f.Readdirnames(1)
	return err == io.EOF //nolint:errorlint // only the bare one is the end
}

// removeSpare removes the folder that is kept for the next attempt, if it is still there.
func (h *workDir) removeSpare(l *leftovers) {
	if h.spare == "" {
		return
	}
	if _, err := os.Lstat(h.spare); !errors.Is(err, fs.ErrNotExist) {
		l.remove(h.base, filepath.Join(h.own, filepath.Base(h.spare)))
	}
	h.spare = ""
}

// keepTickets returns where the worker with that number keeps Kerberos tickets: a file that it
// makes itself, and that is removed with its folder.
func (h *workDir) keepTickets(number uint64) string {
	h.tickets = filepath.Join(h.folder(), workDirTickets+strconv.FormatUint(number, 10))
	return h.tickets
}

// ticketsPath is the path of the tickets' file; "": there is none.
func (h *workDir) ticketsPath() string { return h.tickets }

// onClose sets a function to call when the worker is gone.
func (h *workDir) onClose(do func()) { h.closed = do }

// close removes the worker's own files, once it has ended. It is called once.
func (h *workDir) close(l *leftovers) {
	if h.opened != nil {
		_ = h.opened.Close()
	}
	if h.closed != nil {
		h.closed()
	}
	if h.own == "" {
		h.removeSpare(l)
		if h.tickets != "" {
			_ = os.Remove(h.tickets) // the worker may not have made it
			_ = os.Remove(h.tickets + program.Unfinished)
		}
		return
	}
	l.remove(h.base, h.own)
}

// sharedWorkDir is the folder of a worker that runs as the launcher's user.
func sharedWorkDir(base, plan string) *workDir {
	return (&workDir{base: base, plan: plan, owner: os.Geteuid()}).open()
}

// ownWorkDir makes a folder for a worker of another user, and adds its files to the order. store is
// the folder of its job's stored files; "" if it stores nothing.
func ownWorkDir(base string, number uint64, o *sandboxinit.Order, program, plan, store string) (*workDir, error) {
	h := &workDir{base: base, own: "w" + strconv.FormatUint(number, 10), owner: o.UID}
	if err := os.Mkdir(h.folder(), 0o700); err != nil {
		return nil, fmt.Errorf("a worker's folder: %w", err)
	}
	h.plan = filepath.Join(h.folder(), workDirPlan)
	o.Folder, o.Program = h.folder(), workDirProgram
	o.Files = []sandboxinit.File{{Name: workDirProgram, Path: program}, {Name: workDirPlan, Path: plan}}
	if store != "" {
		o.Seen = []string{store}
	}
	return h.open(), nil
}

// planPath is the path of the job's plan, as the worker sees it.
func (h *workDir) planPath() string { return h.plan }

// user is the id of the user who owns the files made here.
func (h *workDir) user() int { return h.owner }
