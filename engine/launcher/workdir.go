package launcher

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/isolate/sandboxinit"
	program "github.com/hamadryad/hamadryad/engine/worker"
)

// workDir is where a worker lives, and whose the files are that it makes.
type workDir struct {
	base  string // the launcher's folder of temporary files
	own   string // name of the worker's own folder below base; "": all workers share base
	plan  string // path of its job's plan, as it finds it
	owner int    // id of its user

	tickets string // path of its file of Kerberos tickets; "": it has none

	closed func() // to be called when it is left; nil: nothing is to be done

	opened *os.File // its folder; nil: it could not be opened
	before stamp    // of its folder, as an attempt began
}

// stamp is when a folder changed last, and when that was looked at.
type stamp struct{ changed, seen time.Time }

// stampTick is more than the coarsest tick by which kernels date changes of a folder (10 ms).
const stampTick = 100 * time.Millisecond

// stamp looks at the folder. The zero stamp says that it could not.
func (h *workDir) stamp() stamp {
	var is unix.Stat_t
	if h.opened == nil || unix.Fstat(int(h.opened.Fd()), &is) != nil {
		return stamp{}
	}
	return stamp{changed: time.Unix(is.Ctim.Unix()), seen: time.Now().Round(0)} // both by the wall clock
}

// recordState notes how the folder is before an attempt makes files. It waits for no disk.
func (h *workDir) recordState() { h.before = h.stamp() }

// unchanged says that nothing was made in the folder since begin. It is cheaper than to look for a folder
// that is not there, and a launcher may end a thousand attempts in a second. Nobody can set the time of a
// folder's last change (ctime) back. Changes within one tick have one time: what changed just before the
// attempt began may have changed again.
func (h *workDir) unchanged() bool {
	now := h.stamp()
	return !now.seen.IsZero() && now.changed.Equal(h.before.changed) && h.before.seen.Sub(now.changed) > stampTick
}

// open keeps the folder open, to look at it cheaply.
func (h *workDir) open() *workDir {
	h.opened, _ = os.Open(h.folder()) // without it, each attempt's folder is looked for
	return h
}

// The names of what a worker that has a folder of its own finds there.
const (
	workDirProgram = "program"
	workDirPlan    = "plan"
	workDirTickets = "tickets"
)

// folder is where it begins.
func (h *workDir) folder() string { return filepath.Join(h.base, h.own) }

// nameOf names the folder of an attempt's temporary files below base.
func (h *workDir) nameOf(attempt uint64) string {
	return filepath.Join(h.own, "a"+strconv.FormatUint(attempt, 10))
}

// scratchOf is that folder.
func (h *workDir) scratchOf(attempt uint64) string { return filepath.Join(h.base, h.nameOf(attempt)) }

// clear removes an attempt's temporary files. Most attempts make none.
func (h *workDir) clear(attempt uint64, l *leftovers) {
	if h.unchanged() {
		return
	}
	if _, err := os.Lstat(h.scratchOf(attempt)); !errors.Is(err, fs.ErrNotExist) {
		l.remove(h.base, h.nameOf(attempt))
	}
}

// keepTickets says where the worker with that number keeps Kerberos tickets: a file that it
// makes itself, and that goes with it.
func (h *workDir) keepTickets(number uint64) string {
	h.tickets = filepath.Join(h.folder(), workDirTickets+strconv.FormatUint(number, 10))
	return h.tickets
}

// ticketsPath is that file; "": it has none.
func (h *workDir) ticketsPath() string { return h.tickets }

// onClose has something done when it is left.
func (h *workDir) onClose(do func()) { h.closed = do }

// close removes what is the worker's own, once it has ended. It is called once.
func (h *workDir) close(l *leftovers) {
	if h.opened != nil {
		_ = h.opened.Close()
	}
	if h.closed != nil {
		h.closed()
	}
	if h.own == "" {
		if h.tickets != "" {
			_ = os.Remove(h.tickets) // the worker may not have made it
			_ = os.Remove(h.tickets + program.Unfinished)
		}
		return
	}
	l.remove(h.base, h.own)
}

// sharedWorkDir is that of a worker that runs as the launcher does.
func sharedWorkDir(base, plan string) *workDir {
	return (&workDir{base: base, plan: plan, owner: os.Geteuid()}).open()
}

// ownWorkDir makes one for a worker of a user, and adds to the order what he finds there. The
// store is the folder of its job's stored files; "" for one that stores nothing.
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

// planPath is where the worker finds its job's plan.
func (h *workDir) planPath() string { return h.plan }

// user is the id of whose the files are that are made here.
func (h *workDir) user() int { return h.owner }
