package view

import (
	"runtime"
	"unsafe"

	"github.com/hamadryad/hamadryad/internal/prefetch"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// ahead holds what the next events of a round concern, at most a batch.
type ahead struct {
	started  [prefetch.Batch]*Attempt // attempts that start
	starting int
	// Attempts that are launched or end, which access much more memory.
	attempts  [prefetch.Batch]*Attempt // nil for a launch
	bundles   [prefetch.Batch]*Bundle
	launchers [prefetch.Batch]*Launcher
	n         int
}

// prefetch touches the memory that a batch of events concerns, and the memory of jobs with freed
// slots that a policy will access. See package prefetch. It changes nothing: the events' handlers
// do.
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

// needHot is the size of the part of a group that its bundle's launch and end access.
const needHot = unsafe.Offsetof(scheduler.Group{}.InputBytes)

// find looks up what the events name.
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

// prefetchJobs touches the memory that the jobs point to.
func (a *ahead) prefetchJobs() (sum byte) {
	var lists [prefetch.Batch]*list
	for i, b := range a.bundles[:a.n] {
		front, touched := b.Job.prefetchMore(a.attempts[i])
		lists[i] = front
		sum += touched
	}
	return sum + prefetchFront(lists[:a.n])
}

// prefetchFront touches the first bundle of each list, which a policy accesses to give the job a
// slot.
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
