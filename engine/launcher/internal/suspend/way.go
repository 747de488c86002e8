package suspend

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/hamadryad/hamadryad/engine/isolate/cgroup"
	"github.com/hamadryad/hamadryad/internal/process/proctree"
)

// The ways in which a launcher suspends processes, as configured. The empty string is Auto.
const (
	Auto    = "auto"    // by the freezer where the launcher may use it, else by signals
	Freezer = "freezer" // by cgroup2's freezer, or the launcher does not start
	Signals = "signals" // by stop signals to each process
)

// Check refuses an unknown way.
func Check(how string) error {
	switch how {
	case "", Auto, Freezer, Signals:
		return nil
	}
	return fmt.Errorf("launcher.suspend: %q: use %s, %s or %s", how, Auto, Freezer, Signals)
}

// Way is how a launcher suspends processes, and keeps those of one worker together. The zero Way
// uses signals and no groups, which needs no permission of the system. It is safe for concurrent
// use.
type Way struct {
	groups  *cgroup.Parent // nil: there are none
	freezes bool           // groups are frozen; else each process is sent signals
	log     *slog.Logger
}

// Choose finds out how this launcher can suspend, and logs in one line which way it takes and why.
// identity is that of its data folder. Processes that an earlier run left in groups are ended.
// Groups with limits belong to the Way from then on; nil: there are none.
func Choose(how, identity string, limited *cgroup.Parent, log *slog.Logger) (Way, error) {
	if err := Check(how); err != nil {
		return Way{}, err
	}
	w, why := Way{groups: limited, log: log}, "launcher.suspend says so"
	if how != Signals {
		var err error
		if limited == nil {
			w.groups, err = cgroup.Open(identity)
		}
		switch {
		case err == nil:
			w.freezes, why = true, "cgroup2 is writable at "+w.groups.Folder()
		case how == Freezer:
			return Way{}, fmt.Errorf("launcher.suspend: the freezer can't be used: %w; have the launcher run where it may make cgroup2 groups (systemd: Delegate=yes), or set %s or %s", err, Auto, Signals)
		default:
			w.groups, why = nil, "the freezer can't be used: "+err.Error()
		}
	}
	log.Info("how this launcher suspends", "way", w.Name(), "why", why)
	return w, nil
}

// Name is the way's name, as in the configuration.
func (w Way) Name() string {
	if w.freezes {
		return Freezer
	}
	return Signals
}

// Limits reports whether workers run under limits.
func (w Way) Limits() bool { return w.groups != nil && w.groups.Limited() }

// Processors is the list of processors to which trees can be pinned; "": they can't be.
func (w Way) Processors() (string, error) {
	if w.groups == nil {
		return "", nil
	}
	return w.groups.Processors()
}

// Folder is the launcher's group, "" where there is none.
func (w Way) Folder() string {
	if w.groups == nil {
		return ""
	}
	return w.groups.Folder()
}

// Close gives up the way, when no worker is left.
func (w Way) Close() {
	if w.groups != nil {
		w.groups.Close()
	}
}

// Tree returns the tree for the processes of a worker that is about to be started. All of them will
// carry the mark. If no group can be made, the tree is stopped by signals, unless groups also limit
// it.
func (w Way) Tree(mark proctree.Mark, l cgroup.Limits) (*Tree, error) {
	t := &Tree{mark: mark, freezes: w.freezes}
	if w.groups == nil {
		return t, nil
	}
	g, err := w.groups.New(l)
	switch {
	case err == nil:
		t.group = g
	case w.groups.Limited():
		return nil, fmt.Errorf("a group for a worker: %w", err)
	default:
		t.freezes = false
		w.log.Warn("no group for a worker: it is suspended by signals", "error", err)
	}
	return t, nil
}

// Sweep ends the processes that a dead launcher has left: all that carry the mark, and all in the
// launcher's group, if it had one.
func Sweep(mark proctree.Mark, folder string) error {
	err := proctree.KillMarked(mark)
	if folder == "" {
		return err
	}
	if _, gone := os.Stat(folder); gone == nil {
		cgroup.RemoveAll(folder)
	}
	return err
}
