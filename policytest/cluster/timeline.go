package cluster

import (
	"container/heap"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// timeline is virtual time: what is to happen, in order, and what happened that no round
// has told yet. Time moves in advance alone, and never back.
type timeline struct {
	now     scheduler.Time
	seq     uint64 // of the last timer or telling: each has its own
	timers  timers
	wakeAt  scheduler.Time // when the policy wants a round; 0: whenever there is something
	woken   bool           // that time has come
	pending []scheduler.Event
	told    *func(scheduler.Event) // see Cluster.OnEvent
}

// timer is something to do at a time; seq keeps equal times in order.
type timer struct {
	at  scheduler.Time
	seq uint64
	do  func()
}

type timers []timer

func (t timers) Len() int { return len(t) }
func (t timers) Less(i, j int) bool {
	return t[i].at < t[j].at || t[i].at == t[j].at && t[i].seq < t[j].seq
}
func (t timers) Swap(i, j int) { t[i], t[j] = t[j], t[i] }

// Push is heap.Interface's.
func (t *timers) Push(x any) { *t = append(*t, x.(timer)) }

// Pop is heap.Interface's.
func (t *timers) Pop() any {
	old := *t
	x := old[len(old)-1]
	*t = old[:len(old)-1]
	return x
}

func newTimeline(told *func(scheduler.Event)) timeline { return timeline{now: epoch, told: told} }

// Now returns the virtual time.
func (x *timeline) Now() scheduler.Time { return x.now }

// After does something at a time from now.
func (x *timeline) After(d time.Duration, do func()) {
	x.seq++
	heap.Push(&x.timers, timer{x.now.Add(d), x.seq, do})
}

// Sequence returns the place in history of the last thing told: what a
// checkpoint that is taken now has seen.
func (x *timeline) Sequence() uint64 { return x.seq }

// emission is an event with its place in history.
type emission struct {
	seq   uint64
	event scheduler.Event
}

// as is the telling of another event in the place of this one.
func (t emission) as(e scheduler.Event) emission { return emission{t.seq, e} }

// emit puts an event into the next round, and returns it for the history of its subject, from
// which snapshots are made.
func (x *timeline) emit(e scheduler.Event) emission {
	x.seq++
	x.pending = append(x.pending, e)
	if *x.told != nil {
		(*x.told)(e)
	}
	return emission{x.seq, e}
}

// untold is tell for what the policy that decides now need not know, and one that takes
// over does.
func (x *timeline) untold(e scheduler.Event) emission {
	x.seq++
	return emission{x.seq, e}
}

// news says whether there is something that a round is to tell.
func (x *timeline) news() bool { return len(x.pending) > 0 || x.woken }

// take takes what the next round tells.
func (x *timeline) take() []scheduler.Event {
	if x.woken {
		x.emit(scheduler.TimePassed{At: x.now})
		x.woken = false
	}
	events := x.pending
	x.pending = nil
	return events
}

// TakenOver has a round made at once for a policy that starts from a snapshot of this moment. It returns
// what no round has told yet, and none will: the snapshot tells of it.
func (x *timeline) TakenOver() []scheduler.Event {
	untold := x.pending
	x.pending, x.woken = nil, true
	return untold
}

// wake has a round made at a time at the latest, but not at once; 0: not for the time.
func (x *timeline) wake(at scheduler.Time) {
	x.wakeAt = at
	if at != 0 && at <= x.now {
		x.wakeAt = x.now + 1
	}
}

// due says whether anything is to be done up to a time.
func (x *timeline) due(until scheduler.Time) bool {
	return len(x.timers) > 0 && x.timers[0].at <= until
}

// advance does what is next in time, and all else of that moment: what ends at one time,
// such as two reservations that were made together, ends together.
func (x *timeline) advance() bool {
	wake := x.wakeAt != 0 && (len(x.timers) == 0 || x.wakeAt < x.timers[0].at)
	switch {
	case wake:
		x.now = max(x.now, x.wakeAt)
		x.wakeAt, x.woken = 0, true
	case len(x.timers) > 0:
		x.now = max(x.now, x.timers[0].at)
		for x.due(x.now) {
			heap.Pop(&x.timers).(timer).do()
		}
	default:
		return false
	}
	return true
}
