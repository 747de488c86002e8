package suspend

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/hamadryad/hamadryad/engine/launcher/freezer"
	"github.com/hamadryad/hamadryad/sdk/job/process/proctree"
)

// How a launcher has processes stand still, as it is configured. The empty string is Auto.
const (
	Auto    = "auto"    // by the freezer where the launcher may use it, else by signals
	Freezer = "freezer" // by cgroup2's freezer, or the launcher does not start
	Signals = "signals" // by stop signals to each process
)

// Check reports a way that there is not.
func Check(how string) error {
	switch how {
	case "", Auto, Freezer, Signals:
		return nil
	}
	return fmt.Errorf("launcher.suspend: %q: use %s, %s or %s", how, Auto, Freezer, Signals)
}

// Way is how a launcher has processes stand still. The zero Way are signals, which need
// no permission of the system. It is safe for concurrent use.
type Way struct {
	freezer *freezer.Freezer // nil: by signals
	log     *slog.Logger
}

// Choose looks how this launcher can suspend, and says in one line which way it takes and
// why. The identity is its data folder's. What an earlier life left in the freezer ends.
func Choose(how, identity string, log *slog.Logger) (Way, error) {
	if err := Check(how); err != nil {
		return Way{}, err
	}
	w, way, why := Way{log: log}, Signals, "launcher.suspend says so"
	if how != Signals {
		f, err := freezer.Open(identity)
		switch {
		case err == nil:
			w.freezer, way, why = f, Freezer, "cgroup2 is writable at "+f.Folder()
		case how == Freezer:
			return Way{}, fmt.Errorf("launcher.suspend: the freezer can't be used: %w; have the launcher run where it may make cgroup2 groups (systemd: Delegate=yes), or set %s or %s", err, Auto, Signals)
		default:
			why = "the freezer can't be used: " + err.Error()
		}
	}
	log.Info("how this launcher suspends", "way", way, "why", why)
	return w, nil
}

// Name is the way's, as in the configuration.
func (w Way) Name() string {
	if w.freezer != nil {
		return Freezer
	}
	return Signals
}

// Folder is the launcher's group in the freezer, "" where there is none.
func (w Way) Folder() string {
	if w.freezer == nil {
		return ""
	}
	return w.freezer.Folder()
}

// Close gives up the way. No worker is left.
func (w Way) Close() {
	if w.freezer != nil {
		w.freezer.Close()
	}
}

// Tree is for the processes of a worker that is about to be started. All of them will
// carry the mark. One that the system gives no group is stopped by signals.
func (w Way) Tree(mark proctree.Mark) *Tree {
	t := &Tree{mark: mark}
	if w.freezer == nil {
		return t
	}
	g, err := w.freezer.NewGroup()
	if err != nil {
		w.log.Warn("no group for a worker: it is suspended by signals", "error", err)
		return t
	}
	t.group = g
	return t
}

// Sweep ends what a dead launcher has left: all processes that carry the mark, and all in
// its group of the freezer, if it had one.
func Sweep(mark proctree.Mark, folder string) error {
	err := proctree.KillMarked(mark)
	if folder == "" {
		return err
	}
	if _, gone := os.Stat(folder); gone == nil {
		freezer.RemoveAll(folder)
	}
	return err
}
