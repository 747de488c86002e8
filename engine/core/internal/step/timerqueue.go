package step

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/internal/timerqueue"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Timer is due at a time. It is never cancelled: its handler checks, when it is due, whether there
// is still something to do.
type Timer struct {
	At   scheduler.Time
	Kind uint8  // what to do
	ID   uint64 // of the job, launcher or other subject
}

// Timers are the pending timers. The zero value has none. Invariant: sequence numbers are unique,
// and at most the last one given.
type Timers struct{ queue timerqueue.Queue[what] }

// what is a timer without its time.
type what struct {
	kind uint8
	id   uint64
}

// Set adds a timer.
func (t *Timers) Set(at scheduler.Time, kind uint8, id uint64) {
	t.queue.Put(int64(at), what{kind, id})
}

// Next returns when the first timer is due; false if there is none.
func (t *Timers) Next() (scheduler.Time, bool) {
	if t.queue.Len() == 0 {
		return 0, false
	}
	return scheduler.Time(t.queue.First().At), true
}

// Due says whether a timer is due at a time.
func (t *Timers) Due(now scheduler.Time) bool {
	at, some := t.Next()
	return some && at <= now
}

// Take removes and returns the first timer; there must be one.
func (t *Timers) Take() Timer {
	x := t.queue.Take()
	return Timer{scheduler.Time(x.At), x.T.kind, x.T.id}
}

// Len is the number of timers.
func (t *Timers) Len() int { return t.queue.Len() }

// Clone returns an independent copy.
func (t *Timers) Clone() Timers { return Timers{t.queue.Clone()} }

// CodeLast codes the last sequence number given.
func (t *Timers) CodeLast(w *checkpoint.Codec) {
	last := t.queue.Last()
	checkpoint.Num(w, &last)
	if w.Reading {
		t.queue = timerqueue.Restore(t.queue.Sorted(), last)
	}
}

// Code codes the timers in order.
func (t *Timers) Code(w *checkpoint.Codec) {
	sorted := t.queue.Sorted()
	checkpoint.List(w, &sorted, func(w *checkpoint.Codec, x *timerqueue.Item[what]) {
		checkpoint.Num(w, &x.At)
		checkpoint.Num(w, &x.Seq)
		checkpoint.Num(w, &x.T.kind)
		checkpoint.Num(w, &x.T.id)
	})
	if w.Reading {
		t.queue = timerqueue.Restore(sorted, t.queue.Last())
	}
}
