package fair

import (
	"maps"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// expectations are the jobs that get slots which others are made to leave. The
// attempts that leave are in the memory: a snapshot does not tell them.
type expectations struct {
	before  map[scheduler.JobID]bool // who expected slots, on their way or reserved
	changed []scheduler.JobID        // who does now and did not, or the other way
}

// of says whether slots are on their way to a job, or reserved for it.
func (x *expectations) of(p *Policy, job scheduler.JobID) bool {
	return len(p.memory.Leaving[job]) > 0 || p.world.reserved[job]
}

// settle forgets attempts that are gone, and notes who expects slots now.
func (x *expectations) settle(p *Policy) {
	leaving := p.memory.Leaving
	if len(leaving)+len(x.before)+len(p.world.reserved) == 0 {
		return
	}
	now := map[scheduler.JobID]bool{}
	for id, attempts := range leaving {
		attempts = slices.DeleteFunc(attempts, func(a scheduler.AttemptID) bool {
			live := p.view.Attempt(a)
			return live == nil || live.State == view.Suspended
		})
		if len(attempts) == 0 {
			delete(leaving, id)
		} else {
			leaving[id], now[id] = attempts, true
		}
	}
	maps.Copy(now, p.world.reserved)
	for _, id := range sortedKeys(now) {
		if !x.before[id] {
			x.changed = append(x.changed, id)
		}
	}
	for _, id := range sortedKeys(x.before) {
		if !now[id] {
			x.changed = append(x.changed, id)
		}
	}
	x.before = now
}

func sortedKeys[T any](m map[scheduler.JobID]T) []scheduler.JobID {
	return slices.Sorted(maps.Keys(m))
}
