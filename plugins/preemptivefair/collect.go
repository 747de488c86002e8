package preemptivefair

import (
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// overdue starts large bundles that were passed over for long, or collects slots for them. Free
// slots come one by one, and smaller work would always take them. The job must be below its
// share.
func (d *assignment) overdue(kind scheduler.SlotKind) {
	if d.options.CollectAfter == 0 {
		return
	}
	for _, j := range d.uneven {
		c := d.requestOf(j, kind)
		if c == nil || float64(c.held) >= d.share(kind) {
			continue
		}
		b := d.large(c.job, kind)
		if b == nil || !gangs.Overdue(d.view, b, d.options.CollectAfter) {
			continue
		}
		d.change(j)
		if where, ok := d.take(c, b, scheduler.Remote); ok {
			d.launch(c.job, b, where)
			continue
		}
		c.unfit = b
		if _, fits := d.view.FitIfEmpty(b); !fits {
			continue
		}
		d.kept.HoldFor(d.view, b, d.options.CollectAfter)
		for i := range b.Groups {
			d.besideHeld[b.Groups[i].Kind] = d.besideHeld[b.Groups[i].Kind] || c.kept != ""
			if d.collect[b.Groups[i].Kind] == nil {
				d.collect[b.Groups[i].Kind] = b
			}
		}
	}
}

// large returns a job's first ready bundle that needs several slots at once.
func (d *assignment) large(j *job, kind scheduler.SlotKind) *view.Bundle {
	if j.small {
		return nil
	}
	n := 0
	for b := range j.Launchable(kind, 0).All() {
		if !b.SpeculationOffered && gangs.Large(b) {
			return b
		}
		if n++; n == locality.MissesMax {
			break
		}
	}
	return nil
}
