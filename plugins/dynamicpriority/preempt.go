package dynamicpriority

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/preemption"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

const (
	// victimsMax bounds the victims of one bundle, and how many are tried for it.
	victimsMax = 64
	// fruitlessMax bounds the bundles of a pass for which no victims are found.
	fruitlessMax = 4
)

// loser is a queue over its quota of a kind.
type loser struct {
	*queue
	newest scheduler.Time // when the newest of its jobs with slots was submitted
	excess int            // slots over the quota, less what is taken
	units  []*unit        // the one that ran shortest first
}

// unit is a launch that may be preempted.
type unit struct {
	*preemption.Unit
	from  *loser
	taken bool
}

// preemptForQuotas reclaims slots of a kind from queues over their quotas, for ready work of queues
// below.
func (d *assignment) preemptForQuotas(kind scheduler.SlotKind) {
	var needy []*claim
	for _, s := range d.below(kind) {
		s.held += d.coming[s.queue][kind] + d.reserved(s.queue, kind)
		if s.held < s.quota {
			needy = append(needy, s)
		}
	}
	if len(needy) == 0 {
		return
	}
	losers := d.losers(kind)
	if len(losers) == 0 {
		return
	}
	d.lacking = append(d.lacking, kind)
	if d.memory.due(kind, d.options.KillInterval) > d.view.Now() {
		return
	}
	taken, fruitless := len(d.preempts), 0
	for _, s := range needy {
		fruitless += d.takeFor(s, kind, losers, fruitlessMax-fruitless)
	}
	if len(d.preempts) > taken {
		d.memory.took(kind, d.view.Now())
	}
}

// losers lists the queues over their quotas of a kind, the one with the newest job first.
func (d *assignment) losers(kind scheduler.SlotKind) []*loser {
	var all []*loser
	for _, q := range d.world.queues {
		l := &loser{queue: q, excess: d.holds(q, kind) - d.quota(q, kind)}
		if l.excess <= 0 {
			continue
		}
		for _, j := range q.jobs {
			if j.Held(kind) > 0 {
				l.newest = max(l.newest, j.Info.Submitted)
				for _, u := range preemption.Units(j.Job, kind, d.memory.Leaving) {
					if !d.protected(u.Bundle) {
						l.units = append(l.units, &unit{Unit: u, from: l})
					}
				}
			}
		}
		now := d.view.Now()
		slices.SortFunc(l.units, func(a, b *unit) int {
			x, y := a.Attempts[0], b.Attempts[0]
			return cmp.Or(cmp.Compare(x.Ran(now), y.Ran(now)), cmp.Compare(y.AssignedAt, x.AssignedAt), cmp.Compare(y.ID, x.ID))
		})
		if len(l.units) > 0 {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, losesFirst)
	return all
}

// losesFirst orders queues by the time of their newest job, latest first.
func losesFirst(a, b *loser) int {
	return cmp.Or(cmp.Compare(b.newest, a.newest), cmp.Compare(b.name, a.name))
}

// protected reports whether the manager would refuse to preempt a bundle, and records until when.
func (d *assignment) protected(b *view.Bundle) bool {
	d.protectedTill = d.view.Sooner(d.protectedTill, b.ProtectedUntil)
	return b.ProtectedUntil > d.view.Now()
}

// takeFor chooses victims for a queue's ready bundles, up to its quota. It returns for how many
// bundles it found none, at most fruitlessMost.
func (d *assignment) takeFor(s *claim, kind scheduler.SlotKind, losers []*loser, fruitlessMost int) (fruitless int) {
	for _, j := range s.waiting {
		for b := range j.Launchable(kind, 0).All() {
			if s.held >= s.quota || fruitless >= fruitlessMost {
				return fruitless
			}
			need := gangs.Slots(b, kind)
			if b.SpeculationOffered || need > s.quota-s.held && s.held > 0 {
				continue
			}
			victims, where := d.victims(b, losers)
			if victims == nil {
				fruitless++
				break // after one failure the rest of the job is not tried
			}
			p := preemption.Stop(scheduler.Preempt{Mode: scheduler.PreemptKill, For: j.ID()}, victims)
			freed := 0 // more than needed, if whole launches lose
			for _, u := range victims {
				freed += u.Slots
			}
			if gangs.Large(b) {
				p.Bundle, p.Placement = b.ID, where
			}
			d.preempts = append(d.preempts, p)
			d.world.mark(j).taking = true
			s.held += max(need, freed)
		}
	}
	return fruitless
}

// victims picks units in turn until a bundle fits, and takes its room. If it does not fit, victims
// returns none and takes nothing.
func (d *assignment) victims(b *view.Bundle, losers []*loser) ([]*unit, []scheduler.LauncherID) {
	search := preemption.Search{View: &d.view, Bundle: b, Most: victimsMax}
	return preemption.FindAmong(search, func() (*unit, bool) {
		u := pick(losers)
		if u != nil {
			u.take(1)
		}
		return u, u != nil
	}, func(u *unit) { u.take(-1) })
}

// take counts a unit as taken from its queue, or undoes that.
func (u *unit) take(sign int) {
	u.taken = sign > 0
	u.from.excess -= sign * u.Slots
}

// pick chooses the next unit to take, or nil. No queue falls below its quota. A queue loses only
// when the queues before it have nothing over theirs.
func pick(losers []*loser) *unit {
	for _, l := range losers {
		for _, u := range l.units {
			if !u.taken && u.Slots <= l.excess {
				return u
			}
		}
	}
	return nil
}
