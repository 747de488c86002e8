package loop

import (
	"container/heap"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Clock is virtual time: what is to happen, in order. The zero Clock is at time 0.
type Clock struct {
	now    scheduler.Time
	seq    uint64
	events eventHeap
}

type event struct {
	at  scheduler.Time
	seq uint64 // what was planned first comes first
	do  func()
}

// Now returns the time of what is happening.
func (c *Clock) Now() scheduler.Time { return c.now }

// At has something happen at a time, or now if that is past.
func (c *Clock) At(t scheduler.Time, do func()) {
	c.seq++
	heap.Push(&c.events, event{max(t, c.now), c.seq, do})
}

// After has something happen after a while.
func (c *Clock) After(d time.Duration, do func()) { c.At(c.now.Add(d), do) }

// Upcoming returns when the next thing happens; false when nothing will.
func (c *Clock) Upcoming() (scheduler.Time, bool) {
	if len(c.events) == 0 {
		return 0, false
	}
	return c.events[0].at, true
}

// Next does what is next; false when there is nothing.
func (c *Clock) Next() bool {
	if len(c.events) == 0 {
		return false
	}
	e := heap.Pop(&c.events).(event)
	c.now = e.at
	e.do()
	return true
}

// Pass does all that happens until a time, and is there then.
func (c *Clock) Pass(until scheduler.Time) {
	for at, ok := c.Upcoming(); ok && at <= until; at, ok = c.Upcoming() {
		c.Next()
	}
	c.now = max(c.now, until)
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(event)) }
func (h *eventHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
