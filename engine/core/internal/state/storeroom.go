package state

import (
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// StoreRoom tracks a job's wait for room in a full output store. Bundles that met the full store
// wait. They are retried one at a time, with growing delays, up to a total time. The zero value
// means that the job met no full store. Not safe for concurrent use.
type StoreRoom struct {
	waited  time.Duration // total since the store last accepted files
	tries   int           // that met a full store since then
	till    scheduler.Time
	why     string // the store's message
	waiting []int  // bundles by index, the longest wait first: a FIFO queue
}

// StoreRoomLimits are the settings for retries at a full store.
type StoreRoomLimits struct {
	After, AfterMax time.Duration // until the next try, doubling to AfterMax
	Max             time.Duration // total
}

// Full records that a bundle met a full store, and makes it wait. A wait above 0 begins now; at
// 0 a wait is already running. When the total wait is used up, more is false.
func (r *StoreRoom) Full(now scheduler.Time, bundle int, why string, l StoreRoomLimits) (wait time.Duration, more bool) {
	begins := r.Due(now)
	if begins && r.waited >= l.Max {
		return 0, false
	}
	r.waiting = append(r.waiting, bundle)
	if !begins {
		return 0, true
	}
	wait = l.After << min(r.tries, 30)
	if wait <= 0 || wait > l.AfterMax {
		wait = l.AfterMax
	}
	wait = min(wait, l.Max-r.waited)
	r.tries++
	r.waited += wait
	r.till = now.Add(wait)
	r.why = fmt.Sprintf("the store of the outputs is full: %s; it is tried again within %v, for %v in all (core.storeFullMax)", why, wait, l.Max)
	return wait, true
}

// Took records that the store accepted files.
func (r *StoreRoom) Took() { r.waited, r.tries, r.till = 0, 0, 0 }

// Due says whether the delay before the next try is over.
func (r *StoreRoom) Due(now scheduler.Time) bool { return now >= r.till }

// Waiting returns how many bundles wait.
func (r *StoreRoom) Waiting() int { return len(r.waiting) }

// Next removes and returns the bundle that waits longest. At least one must wait.
func (r *StoreRoom) Next() (bundle int) {
	bundle, r.waiting = r.waiting[0], r.waiting[1:]
	return bundle
}

// Forget removes a bundle that no longer waits, if it does.
func (r *StoreRoom) Forget(bundle int) {
	if i := slices.Index(r.waiting, bundle); i >= 0 {
		r.waiting = slices.Delete(slices.Clone(r.waiting), i, i+1) // a frozen state shares the old list
	}
}

// Why returns why bundles wait; "": none waits.
func (r *StoreRoom) Why() string {
	if len(r.waiting) == 0 {
		return ""
	}
	return fmt.Sprintf("%d bundles wait: %s", len(r.waiting), r.why)
}

// Listed calls each for every waiting bundle.
func (r *StoreRoom) Listed(each func(bundle int)) {
	for _, b := range r.waiting {
		each(b)
	}
}

// Code codes the whole state, from the fifth format on.
func (r *StoreRoom) Code(w *checkpoint.Codec) {
	if w.Format < 5 {
		return
	}
	checkpoint.Num(w, &r.waited)
	checkpoint.Num(w, &r.tries)
	checkpoint.Num(w, &r.till)
	checkpoint.Str(w, &r.why)
	checkpoint.Nums(w, &r.waiting)
}
