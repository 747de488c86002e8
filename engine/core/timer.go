package core

import (
	"container/heap"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// timerKind says what a timer is about.
type timerKind uint8

const (
	timerCommand timerKind = iota + 1 // a launcher's unconfirmed commands
	timerClaim
	timerSpeculate
	timerAdmission
	timerRequest
	timerSettings
	timerTakeBack
	timerSuspend
	timerUnplaceable
	timerBlame
	timerPublish
	timerClean
	timerPrepared
	timerStall
	timerFeed
)

// timer is due at a time. It is never cancelled: whoever it is for looks, when
// it is due, whether there is still something to do.
type timer struct {
	at   scheduler.Time
	seq  uint64 // first set, first due
	kind timerKind
	id   uint64
}

type timerHeap []timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h timerHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(x any)   { *h = append(*h, x.(timer)) }
func (h *timerHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

func (c *Core) after(d time.Duration, kind timerKind, id uint64) {
	c.ids.timer++
	heap.Push(&c.timers, timer{c.now.Add(d), c.ids.timer, kind, id})
}

// expire does what is due.
func (c *Core) expire() {
	for len(c.timers) > 0 && c.timers[0].at <= c.now && c.spend(workTimer) {
		t := heap.Pop(&c.timers).(timer)
		switch t.kind {
		case timerCommand:
			c.resend(scheduler.LauncherID(t.id))
		case timerClaim:
			c.claimExpired(t.id)
		case timerSpeculate:
			c.speculate()
		case timerAdmission:
			c.admissionExpired(scheduler.JobID(t.id))
		case timerRequest:
			c.requestExpired(t.id)
		case timerSettings:
			c.settingsExpired(t.id)
		case timerTakeBack:
			c.takeBack(scheduler.JobID(t.id))
		case timerSuspend:
			c.suspendedTooLong(t.id)
		case timerUnplaceable:
			c.unplaceableTooLong(scheduler.JobID(t.id))
		case timerBlame:
			c.forgive(scheduler.LauncherID(t.id))
		case timerPublish:
			c.publishAgain(scheduler.JobID(t.id))
		case timerClean:
			c.cleanTooLong(scheduler.JobID(t.id))
		case timerPrepared:
			c.expirePrepared()
		case timerStall:
			c.stallDue(t.id)
		case timerFeed:
			if a := c.attempts.Get(scheduler.AttemptID(t.id)); a != nil {
				c.feed(a)
			}
		}
	}
}

// overdue says whether a step left timers to the next that were due in it. NextWake is
// then at once.
func (c *Core) overdue() bool { return len(c.timers) > 0 && c.timers[0].at <= c.now }

// NextWake returns when Step is to be called with a tick if nothing happens
// before, which is at once when a step left work, and false when time alone changes nothing.
func (c *Core) NextWake() (scheduler.Time, bool) {
	if n := c.policy.next; len(c.busy) > 0 || c.policy.deciding != nil || n != nil && n.gathering != nil {
		return c.now, true
	}
	var at scheduler.Time
	found := false
	earlier := func(t scheduler.Time) {
		if !found || t < at {
			at, found = t, true
		}
	}
	if len(c.timers) > 0 {
		earlier(c.timers[0].at)
	}
	if p := c.policy; p.current != nil && !p.inFlight {
		gap := p.lastRound.Add(c.set.RoundGap)
		if c.roundWanted() {
			earlier(gap)
		}
		if w := p.current.wakeAt; w != 0 {
			earlier(max(gap, w))
		}
	}
	return at, found
}
