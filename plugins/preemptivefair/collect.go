package preemptivefair

import (
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// overdue starts, or begins to collect slots for, what needs several slots at
// once and was passed over for long: free slots come one by one, and would always
// go to smaller work. The job must be below its share.
func (d *assignment) overdue(kind scheduler.SlotKind) {
	if d.options.CollectAfter == 0 {
		return
	}
	for _, c := range d.claims[kind] {
		if float64(c.held) >= d.share(kind) {
			continue
		}
		b := d.large(c.job, kind)
		if b == nil || d.view.Now().Sub(passedSince(b)) < d.options.CollectAfter {
			continue
		}
		if where, ok := d.take(c, b, func() ([]scheduler.LauncherID, bool) { return d.view.Fit(b) }); ok {
			d.launch(c.job, b, where)
			continue
		}
		c.unfit = b
		if !d.view.FitEver(b) {
			continue
		}
		for i := range b.Groups {
			if d.collect[b.Groups[i].Kind] == nil {
				d.collect[b.Groups[i].Kind] = b
			}
		}
	}
}

// large is a job's first ready bundle that needs several slots at once.
func (d *assignment) large(j *standing, kind scheduler.SlotKind) *view.Bundle {
	if j.small {
		return nil
	}
	n := 0
	for b := range d.view.ReadyOfKind(j.Job, kind, 0) {
		if !b.Twice && (len(b.Groups) > 1 || b.Groups[0].Slots > 1) {
			return b
		}
		if n++; n == scanMax {
			break
		}
	}
	return nil
}

// passedSince is when a bundle began to be passed over: since it is ready or, if
// that is later, since its job last got a slot. It is read off live attempts, so
// that a policy that was restarted finds the same.
func passedSince(b *view.Bundle) scheduler.Time {
	live := b.Job.Attempts()
	if len(live) == 0 {
		return b.Since
	}
	return max(b.Since, live[len(live)-1].AssignedAt)
}
