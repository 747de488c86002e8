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

// home is where a worker lives, and whose the files are that it makes.
type home struct {
	base  string // the launcher's folder of temporary files
	own   string // name of the worker's own folder below base; "": all workers share base
	plan  string // path of its job's plan, as it finds it
	owner int    // id of its user

	tickets string // path of its file of Kerberos tickets; "": it has none

	after func() // to be called when it is left; nil: nothing is to be done

	opened *os.File // its folder; nil: it could not be opened
	before stamp    // of its folder, as an attempt began
}

// stamp is when a folder changed last, and when that was looked at.
type stamp struct{ changed, seen time.Time }

// stampTick is more than the coarsest tick by which kernels date changes of a folder (10 ms).
const stampTick = 100 * time.Millisecond

// stamp looks at the folder. The zero stamp says that it could not.
func (h *home) stamp() stamp {
	var is unix.Stat_t
	if h.opened == nil || unix.Fstat(int(h.opened.Fd()), &is) != nil {
		return stamp{}
	}
	return stamp{changed: time.Unix(is.Ctim.Unix()), seen: time.Now().Round(0)} // both by the wall clock
}

// begin notes how the folder is before an attempt makes files. It waits for no disk.
func (h *home) begin() { h.before = h.stamp() }

// unchanged says that nothing was made in the folder since begin. It is cheaper than to look for a folder
// that is not there, and a launcher may end a thousand attempts in a second. Nobody can set the time of a
// folder's last change (ctime) back. Changes within one tick have one time: what changed just before the
// attempt began may have changed again.
func (h *home) unchanged() bool {
	now := h.stamp()
	return !now.seen.IsZero() && now.changed.Equal(h.before.changed) && h.before.seen.Sub(now.changed) > stampTick
}

// open keeps the folder open, to look at it cheaply.
func (h *home) open() *home {
	h.opened, _ = os.Open(h.folder()) // without it, each attempt's folder is looked for
	return h
}

// The names of what a worker that has a folder of its own finds there.
const (
	homeProgram = "program"
	homePlan    = "plan"
	homeTickets = "tickets"
)

// folder is where it begins.
func (h *home) folder() string { return filepath.Join(h.base, h.own) }

// nameOf names the folder of an attempt's temporary files below base.
func (h *home) nameOf(attempt uint64) string {
	return filepath.Join(h.own, "a"+strconv.FormatUint(attempt, 10))
}

// scratchOf is that folder.
func (h *home) scratchOf(attempt uint64) string { return filepath.Join(h.base, h.nameOf(attempt)) }

// clear removes an attempt's temporary files. Most attempts make none.
func (h *home) clear(attempt uint64, l *leftovers) {
	if h.unchanged() {
		return
	}
	if _, err := os.Lstat(h.scratchOf(attempt)); !errors.Is(err, fs.ErrNotExist) {
		l.remove(h.base, h.nameOf(attempt))
	}
}

// keepTickets says where the worker with that number keeps Kerberos tickets: a file that it
// makes itself, and that goes with it.
func (h *home) keepTickets(number uint64) string {
	h.tickets = filepath.Join(h.folder(), homeTickets+strconv.FormatUint(number, 10))
	return h.tickets
}

// ticketsPath is that file; "": it has none.
func (h *home) ticketsPath() string { return h.tickets }

// leaveWith has something done when it is left.
func (h *home) leaveWith(do func()) { h.after = do }

// leave removes what is the worker's own, once it has ended. It is called once.
func (h *home) leave(l *leftovers) {
	if h.opened != nil {
		_ = h.opened.Close()
	}
	if h.after != nil {
		h.after()
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

// sharedHome is that of a worker that runs as the launcher does.
func sharedHome(base, plan string) *home {
	return (&home{base: base, plan: plan, owner: os.Geteuid()}).open()
}

// ownHome makes one for a worker of a user, and adds to the order what he finds there. The
// store is the folder of its job's stored files; "" for one that stores nothing.
func ownHome(base string, number uint64, o *sandboxinit.Order, program, plan, store string) (*home, error) {
	h := &home{base: base, own: "w" + strconv.FormatUint(number, 10), owner: o.UID}
	if err := os.Mkdir(h.folder(), 0o700); err != nil {
		return nil, fmt.Errorf("a worker's folder: %w", err)
	}
	h.plan = filepath.Join(h.folder(), homePlan)
	o.Folder, o.Program = h.folder(), homeProgram
	o.Files = []sandboxinit.File{{Name: homeProgram, Path: program}, {Name: homePlan, Path: plan}}
	if store != "" {
		o.Seen = []string{store}
	}
	return h.open(), nil
}

// planPath is where the worker finds its job's plan.
func (h *home) planPath() string { return h.plan }

// user is the id of whose the files are that are made here.
func (h *home) user() int { return h.owner }
