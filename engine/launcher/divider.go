package launcher

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/isolate/cpuset"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/suspend"
)

// dividePause is the least time between two divisions. Each costs at most one write for each
// worker, so many short tasks cost no more than a few.
const dividePause = 100 * time.Millisecond

// divider keeps workers of several users apart on the machine's processors. The agent's lock guards
// the fields before grown.
type divider struct {
	all      string // list of the machine's processors
	division *cpuset.Division
	lists    map[string]string // each user's processors since the last division, filled in when asked for

	grown chan struct{} // holds one when a user may need more
}

// newDivider returns a divider if there are processors to divide; nil: there are none, or all
// workers run as one user.
func newDivider(cfg Config, way suspend.Way, users bool) *divider {
	list, err := way.Processors()
	if err == nil && (list == "" || !users) {
		return nil
	}
	usable, wrong := cpuset.Parse(list)
	if err := errors.Join(err, wrong); err != nil {
		cfg.Log.Warn("users share processors by cpu.weight alone: it is not known which there are", "error", err)
		return nil
	}
	var own unix.CPUSet // the affinity that taskset left the launcher, which its workers inherit
	if unix.SchedGetaffinity(os.Getpid(), &own) == nil {
		usable = slices.DeleteFunc(usable, func(n int) bool { return !own.IsSet(n) })
	}
	division := cpuset.Divide(cpuset.Cores(os.DirFS("/sys/devices/system/cpu"), usable), cfg.slotsTotal())
	if division == nil {
		cfg.Log.Info("users share processors by cpu.weight alone: there are more slots than processors", "slots", cfg.slotsTotal(), "processors", usable.String())
		return nil
	}
	return &divider{all: usable.String(), division: division, lists: map[string]string{}, grown: make(chan struct{}, 1)}
}

// grows signals that a user may need more processors than before.
func (d *divider) grows() {
	if d == nil {
		return
	}
	select {
	case d.grown <- struct{}{}:
	default: // already signalled, and not handled yet
	}
}

// redivide takes in for how many slots each user has work now. It returns the time until the next
// division at the latest; 0: none is due until a user may need more.
func (d *divider) redivide(now time.Time, work map[string]int) (again time.Duration) {
	d.division.Redivide(now, work)
	clear(d.lists)
	if d.division.Divided() {
		again = cpuset.Held
	}
	return again
}

// other returns the processors to which a user's worker with the list told has to move; "": it
// stays.
func (d *divider) other(user, told string) string {
	if d == nil {
		return ""
	}
	to, known := d.lists[user]
	if !known {
		to = d.division.Of(user).String()
		d.lists[user] = to
	}
	if cmp.Or(told, d.all) == to {
		return ""
	}
	return to
}

// run divides whenever a user may need more and whenever a division is due, until ctx ends.
func (d *divider) run(ctx context.Context, look func(time.Time) (again time.Duration)) {
	for again := time.Duration(0); ; {
		var late <-chan time.Time
		if again > 0 {
			late = time.After(again)
		}
		var pause <-chan time.Time
		select {
		case <-d.grown:
			pause = time.After(dividePause)
		case <-late:
		case <-ctx.Done():
			return
		}
		if again = look(time.Now()); pause == nil {
			continue
		}
		select {
		case <-pause:
		case <-ctx.Done():
			return
		}
	}
}
