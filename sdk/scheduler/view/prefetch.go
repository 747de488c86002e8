package view

import (
	"runtime"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/prefetch"
)

// ahead is what the next events of a round are about.
type ahead struct {
	attempts  [prefetch.Batch]*Attempt
	bundles   [prefetch.Batch]*Bundle
	launchers [prefetch.Batch]*Launcher
	jobs      [prefetch.Batch]*Job
}

// prefetch touches what a batch of events is about, and what a policy will look at of
// the jobs whose slots got free. See package prefetch; the events' own handlers decide
// what all this means.
func (v *View) prefetch(events []scheduler.Event) {
	if len(events) < prefetch.BatchMin {
		return
	}
	var a ahead
	sum := v.prefetchFirst(&a, events)
	for i := range events {
		if x := a.attempts[i]; x != nil {
			a.bundles[i], a.launchers[i] = x.Bundle, x.on
			sum += prefetch.All(x.Need)
		}
		sum += prefetch.All(a.bundles[i]) + prefetch.All(a.launchers[i])
	}
	for i, b := range a.bundles[:len(events)] {
		if b == nil {
			continue
		}
		a.jobs[i] = b.Job
		sum += prefetch.All(b.Job) + prefetch.At(b.Groups, 0)
		if l := a.launchers[i]; l != nil {
			sum += prefetch.At(l.attempts, 0) + prefetch.At(l.free, 0)
		}
	}
	var lists [prefetch.Batch]*list
	for i, j := range a.jobs[:len(events)] {
		if j == nil {
			continue
		}
		sum += prefetch.At(j.Counts, 0) + prefetch.At(j.held, 0) + prefetch.At(j.Info.Stages, 0)
		sum += prefetch.At(j.ready.entries, j.ready.head) + prefetch.At(j.live.attempts, len(j.live.attempts)-1)
		if x := a.attempts[i]; x != nil {
			sum += prefetch.At(j.live.attempts, x.place)
		}
		if len(j.kinds) > 0 {
			lists[i] = &j.kinds[0].list
			sum += prefetch.All(&j.kinds[0])
		}
	}
	runtime.KeepAlive(sum + prefetchFront(lists[:len(events)]))
}

// prefetchFirst finds what the events name.
func (v *View) prefetchFirst(a *ahead, events []scheduler.Event) (sum byte) {
	for i := range events {
		switch e := events[i].(type) {
		case scheduler.AttemptStarted:
			a.attempts[i] = v.attempts.Get(e.Attempt)
		case scheduler.AttemptEnded:
			a.attempts[i] = v.attempts.Get(e.Attempt)
		case scheduler.Outcome:
			if e.Accepted && e.Kind == scheduler.DecisionLaunch && len(e.Launch.Launchers) > 0 {
				a.bundles[i], a.launchers[i] = v.bundles.Get(e.Launch.Bundle), v.launchers.Get(e.Launch.Launchers[0])
			}
		}
	}
	for _, x := range a.attempts[:len(events)] {
		sum += prefetch.All(x)
	}
	return sum
}

// prefetchFront touches the first bundle of each list: a policy that gives a job a
// slot asks for it.
func prefetchFront(lists []*list) (sum byte) {
	var bundles [prefetch.Batch]*Bundle
	for i, l := range lists {
		if l != nil && l.head < len(l.entries) {
			bundles[i] = l.entries[l.head].bundle
		}
	}
	for _, b := range bundles[:len(lists)] {
		sum += prefetch.All(b)
	}
	for _, b := range bundles[:len(lists)] {
		if b != nil {
			sum += prefetch.At(b.Groups, 0)
		}
	}
	return sum
}
