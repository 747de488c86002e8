package step

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/internal/timerqueue"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Timer is due at a time. It is never cancelled: whoever it is for looks, when it is due,
// whether there is still something to do.
type Timer struct {
	At   scheduler.Time
	Kind uint8  // what it is about
	ID   uint64 // of whom
}

// Timers are those that are not due yet, or were left. The zero value has none.
// Invariant: no two have one seq, and none has one above the last.
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

// Next returns when the first is due; false when there is none.
func (t *Timers) Next() (scheduler.Time, bool) {
	if t.queue.Len() == 0 {
		return 0, false
	}
	return scheduler.Time(t.queue.First().At), true
}

// Due says whether one is due at a time.
func (t *Timers) Due(now scheduler.Time) bool {
	at, some := t.Next()
	return some && at <= now
}

// Take takes the first out, of some that are there.
func (t *Timers) Take() Timer {
	x := t.queue.Take()
	return Timer{scheduler.Time(x.At), x.T.kind, x.T.id}
}

// Len is how many there are.
func (t *Timers) Len() int { return t.queue.Len() }

// Clone returns a copy that stays while these change.
func (t *Timers) Clone() Timers { return Timers{t.queue.Clone()} }

// CodeLast codes the number that was given last.
func (t *Timers) CodeLast(w *checkpoint.Codec) {
	last := t.queue.Last()
	checkpoint.Num(w, &last)
	if w.Reading {
		t.queue = timerqueue.Restore(t.queue.Sorted(), last)
	}
}

// Code codes all but that, in order.
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
