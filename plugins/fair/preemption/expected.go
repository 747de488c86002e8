package preemption

import (
	"maps"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// expected are the jobs for which slots are taken back.
type expected struct {
	before  map[scheduler.JobID]bool // jobs that expected slots, on their way or reserved
	changed []scheduler.JobID        // jobs that do now and did not, or the other way
}

// Expects says whether slots are on their way to a job, or reserved for it.
func (p *State) Expects(job scheduler.JobID) bool {
	return len(p.Leaving[job]) > 0 || p.World.Reserved[job]
}

// UpdateExpected forgets attempts that are gone, and notes which jobs expect slots now.
func (p *State) UpdateExpected() {
	x := &p.expected
	if len(p.Leaving)+len(x.before)+len(p.World.Reserved) == 0 {
		return
	}
	now := map[scheduler.JobID]bool{}
	for id, attempts := range p.Leaving {
		attempts = slices.DeleteFunc(attempts, func(a scheduler.AttemptID) bool {
			live := p.View.Attempt(a)
			return live == nil || live.State == view.Suspended
		})
		if len(attempts) == 0 {
			delete(p.Leaving, id)
		} else {
			p.Leaving[id], now[id] = attempts, true
		}
	}
	maps.Copy(now, p.World.Reserved)
	for _, id := range sorted(now) {
		if !x.before[id] {
			x.changed = append(x.changed, id)
		}
	}
	for _, id := range sorted(x.before) {
		if !now[id] {
			x.changed = append(x.changed, id)
		}
	}
	x.before = now
}

// Done records that an attempt gave up its slots, or could not: it is not being stopped any more. A
// suspended one may resume before the next check.
func (p *State) Done(id scheduler.AttemptID) {
	for job, attempts := range p.Leaving {
		if i := slices.Index(attempts, id); i >= 0 {
			p.Leaving[job] = slices.Delete(slices.Clone(attempts), i, i+1)
		}
	}
}

// Expecting walks the jobs that began or ceased to expect slots since the last call.
func (p *State) Expecting(visit func(scheduler.JobID)) {
	for _, id := range p.expected.changed {
		visit(id)
	}
	p.expected.changed = p.expected.changed[:0]
}

func sorted[T any](m map[scheduler.JobID]T) []scheduler.JobID {
	return slices.Sorted(maps.Keys(m))
}
