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
	// vainMax bounds how many bundles a pass looks for victims for in vain.
	vainMax = 4
)

// loser is a queue over its quota of a kind.
type loser struct {
	*queue
	newest scheduler.Time // when the newest of its jobs that hold slots was submitted
	excess int            // slots over the quota, less what is taken
	units  []*unit        // the one that ran shortest first
}

// unit is what is preempted at once: one launch of a bundle, with all its groups.
type unit struct {
	bundle   *view.Bundle
	attempts []*view.Attempt
	slots    int // of the kind in question
	spent    bool
}

// preemptForQuotas takes slots of a kind from queues over their quotas, for ready work of those below.
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
	taken, vain := len(d.preempts), 0
	for _, s := range needy {
		vain += d.takeFor(s, kind, losers, vainMax-vain)
	}
	if len(d.preempts) > taken {
		d.memory.took(kind, d.view.Now())
	}
}

// losers lists the queues over their quotas of a kind, the one whose newest job came last first.
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
				l.units = append(l.units, d.units(j, kind)...)
			}
		}
		now := d.view.Now()
		slices.SortFunc(l.units, func(a, b *unit) int {
			x, y := a.attempts[0], b.attempts[0]
			return cmp.Or(cmp.Compare(x.Ran(now), y.Ran(now)), cmp.Compare(y.AssignedAt, x.AssignedAt), cmp.Compare(y.ID, x.ID))
		})
		if len(l.units) > 0 {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, losesFirst)
	return all
}

// losesFirst orders queues by whose newest job came last.
func losesFirst(a, b *loser) int {
	return cmp.Or(cmp.Compare(b.newest, a.newest), cmp.Compare(b.name, a.name))
}

// units groups a job's attempts by launch, those that may be taken.
func (d *assignment) units(j *job, kind scheduler.SlotKind) []*unit {
	type launch struct {
		bundle      *view.Bundle
		speculative bool
	}
	at := map[launch]*unit{}
	var all []*unit
	for _, a := range j.Attempts() {
		k := launch{a.Bundle, a.Speculative}
		u := at[k]
		if u == nil {
			u = &unit{bundle: a.Bundle}
			at[k] = u
			all = append(all, u)
		}
		u.attempts = append(u.attempts, a)
		if a.Need.Kind == kind {
			u.slots += a.Need.Slots
		}
		if a.State != view.Running || d.gone[a.ID] || a.Bundle.State != view.Launched {
			u.spent = true
		}
	}
	return slices.DeleteFunc(all, func(u *unit) bool { return u.spent || u.slots == 0 || d.protected(u.bundle) })
}

// protected says whether the manager would refuse to preempt a bundle, and notes until when.
func (d *assignment) protected(b *view.Bundle) bool {
	until := b.ProtectedUntil
	if until <= d.view.Now() {
		return false
	}
	if d.protectedTill == 0 || until < d.protectedTill {
		d.protectedTill = until
	}
	return true
}

// takeFor names victims for a queue's ready bundles, up to its quota. It returns for how many
// it found none, of so many at most.
func (d *assignment) takeFor(s *claim, kind scheduler.SlotKind, losers []*loser, vainMost int) (vain int) {
	for _, j := range s.waiting {
		for b := range d.view.ReadyOfKind(j.Job, kind, 0) {
			if s.held >= s.quota || vain >= vainMost {
				return vain
			}
			need := gangs.Slots(b, kind)
			if b.SpeculationOffered || need > s.quota-s.held && s.held > 0 {
				continue
			}
			victims, where := d.victims(b, losers)
			if victims == nil {
				vain++
				break // what does not fit a first time is not tried on the rest of the job
			}
			p := scheduler.Preempt{Mode: scheduler.PreemptKill, For: j.ID()}
			freed := 0 // more than needed, when whole bundles lose
			for _, u := range victims {
				freed += u.slots
				for _, a := range u.attempts {
					p.Victims = append(p.Victims, a.ID)
				}
			}
			if large(b) {
				p.Bundle, p.Placement = b.ID, where
			}
			d.preempts = append(d.preempts, p)
			d.world.mark(j).taking = true
			s.held += max(need, freed)
		}
	}
	return vain
}

// victims picks units in turn until a bundle fits, and takes its room. It returns none, and
// takes nothing, when it does not fit.
func (d *assignment) victims(b *view.Bundle, losers []*loser) ([]*unit, []scheduler.LauncherID) {
	var picked []*unit
	var from []*loser
	search := preemption.Search{View: &d.view, Bundle: b, Most: victimsMax}
	places, where := search.Find(func() []*view.Attempt {
		u, l := pick(losers)
		if u == nil {
			return nil
		}
		u.spent = true
		l.excess -= u.slots
		picked, from = append(picked, u), append(from, l)
		return u.attempts
	}, func(place int) {
		picked[place].spent = false
		from[place].excess += picked[place].slots
	})
	var victims []*unit
	for _, place := range places {
		victims = append(victims, picked[place])
	}
	return victims, where
}

// pick chooses what is taken next: never so much that a queue is left below its quota, and of
// a queue only when those before it have nothing over theirs.
func pick(losers []*loser) (*unit, *loser) {
	for _, l := range losers {
		for _, u := range l.units {
			if !u.spent && u.slots <= l.excess {
				return u, l
			}
		}
	}
	return nil, nil
}
