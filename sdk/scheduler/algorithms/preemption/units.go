package preemption

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Unit is what is preempted at once: one launch of a bundle, with all its groups.
type Unit struct {
	Bundle   *view.Bundle
	Attempts []*view.Attempt // live, in order of id
	Slots    int             // of the kind that Units was asked for
}

// Live returns the attempts that are stopped.
func (u *Unit) Live() []*view.Attempt { return u.Attempts }

// Units lists the launches of a job that hold slots of a kind and may be stopped, in order of their
// first attempts. All attempts of such a launch run, and none is leaving or being stopped. Nor was its second attempt taken in this round (view.View.Launch): stopping the first one
// ends the offer.
func Units(j *view.Job, kind scheduler.SlotKind, leaving Leaving) []*Unit {
	type launch struct {
		bundle      *view.Bundle
		speculative bool
	}
	at, busy := map[launch]*Unit{}, map[*Unit]bool{}
	var all []*Unit
	for _, a := range j.Attempts() {
		k := launch{a.Bundle, a.Speculative}
		u := at[k]
		if u == nil {
			u = &Unit{Bundle: a.Bundle}
			at[k] = u
			all = append(all, u)
		}
		u.Attempts = append(u.Attempts, a)
		if a.Need.Kind == kind {
			u.Slots += a.Need.Slots
		}
		second := a.Bundle.SpeculationOffered && a.Bundle.LeftOut()
		if second || a.State != view.Running || a.Stopping || leaving.Has(a.ID) {
			busy[u] = true
		}
	}
	return slices.DeleteFunc(all, func(u *Unit) bool { return busy[u] || u.Slots == 0 })
}

// Victim is a launch that may be stopped, as a policy keeps it.
type Victim interface {
	// Live returns its live attempts.
	Live() []*view.Attempt
}

// FindAmong is Search.Find for victims as a policy keeps them: it returns the victims and not their
// places. next returns false when there is nobody left. spare is called for each victim that is given back.
func FindAmong[V Victim](s Search, next func() (V, bool), spare func(V)) ([]V, []scheduler.LauncherID) {
	var taken []V
	places, where := s.Find(func() []*view.Attempt {
		v, more := next()
		if !more {
			return nil
		}
		taken = append(taken, v)
		return v.Live()
	}, func(place int) { spare(taken[place]) })
	var victims []V
	for _, place := range places {
		victims = append(victims, taken[place])
	}
	return victims, where
}

// Stop returns a preemption with the attempts of the victims.
func Stop[V Victim](p scheduler.Preempt, victims []V) scheduler.Preempt {
	for _, v := range victims {
		for _, a := range v.Live() {
			p.Victims = append(p.Victims, a.ID)
		}
	}
	return p
}

// Slots counts slots of each kind by owner: the jobs, or queues of jobs, that lose or get them. The zero value is
// empty.
type Slots[K comparable] map[K]map[scheduler.SlotKind]int

// Add counts slots.
func (s *Slots[K]) Add(of K, kind scheduler.SlotKind, n int) {
	if *s == nil {
		*s = Slots[K]{}
	}
	if (*s)[of] == nil {
		(*s)[of] = map[scheduler.SlotKind]int{}
	}
	(*s)[of][kind] += n
}
