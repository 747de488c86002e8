package view

import (
	"runtime"
	"unsafe"

	"github.com/hamadryad/hamadryad/internal/prefetch"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// ahead is what the next events of a round are about: of a batch of them at most.
type ahead struct {
	started  [prefetch.Batch]*Attempt // that start
	starting int
	// Launches and ends, which touch much more.
	attempts  [prefetch.Batch]*Attempt // nil for a launch
	bundles   [prefetch.Batch]*Bundle
	launchers [prefetch.Batch]*Launcher
	n         int
}

// prefetch touches what a batch of events is about, and what a policy will look at of
// the jobs whose slots got free. See package prefetch; the events' own handlers decide
// what all this means.
func (v *View) prefetch(events []scheduler.Event) {
	var a ahead
	v.find(&a, events)
	var sum byte
	for _, x := range a.started[:a.starting] {
		sum += prefetch.All(x)
	}
	for i, x := range a.attempts[:a.n] {
		sum += prefetch.All(x) + prefetch.All(a.bundles[i]) + a.launchers[i].prefetch()
	}
	for _, x := range a.started[:a.starting] {
		sum += prefetch.First(x.Bundle, 1) + prefetch.First(x.Need, 1)
	}
	for i, x := range a.attempts[:a.n] {
		if x != nil {
			a.bundles[i], a.launchers[i] = x.prefetch()
			sum += prefetch.All(x.Bundle) + a.launchers[i].prefetch() + prefetch.First(x.Need, needHot)
		}
	}
	for _, x := range a.started[:a.starting] {
		sum += x.Bundle.Job.prefetch()
	}
	for i, b := range a.bundles[:a.n] {
		sum += b.Job.prefetch() + prefetch.At(b.Groups, 0) + a.launchers[i].prefetchMore()
	}
	for _, x := range a.started[:a.starting] {
		sum += prefetch.At(x.Job().Info.Stages, 0)
	}
	runtime.KeepAlive(sum + a.prefetchJobs())
}

// needHot is the part of a group that its bundle's launch and end look at.
const needHot = unsafe.Offsetof(scheduler.Group{}.InputBytes)

// find finds what the events name.
func (v *View) find(a *ahead, events []scheduler.Event) {
	for i := range events {
		switch e := events[i].(type) {
		case scheduler.AttemptStarted:
			if x := v.Attempt(e.Attempt); x != nil {
				a.started[a.starting] = x
				a.starting++
			}
		case scheduler.AttemptEnded:
			if x := v.Attempt(e.Attempt); x != nil {
				a.attempts[a.n] = x
				a.n++
			}
		case scheduler.Outcome:
			if e.Accepted && e.Kind == scheduler.DecisionLaunch && len(e.Launch.Launchers) > 0 {
				if b := v.Bundle(e.Launch.Bundle); b != nil {
					a.bundles[a.n], a.launchers[a.n] = b, v.Launcher(e.Launch.Launchers[0])
					a.n++
				}
			}
		}
	}
}

// prefetchJobs touches what the jobs point to.
func (a *ahead) prefetchJobs() (sum byte) {
	var lists [prefetch.Batch]*list
	for i, b := range a.bundles[:a.n] {
		front, touched := b.Job.prefetchMore(a.attempts[i])
		lists[i] = front
		sum += touched
	}
	return sum + prefetchFront(lists[:a.n])
}

// prefetchFront touches the first bundle of each list: a policy that gives a job a
// slot asks for it.
func prefetchFront(lists []*list) (sum byte) {
	var bundles [prefetch.Batch]*Bundle
	for i, l := range lists {
		bundles[i] = l.front()
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
