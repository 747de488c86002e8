package state

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// StoreRoom is what a job waits for whose store of outputs was full when a group wrote there. What
// met it waits, and one after the other is tried, ever later, up to a bound of time. The
// zero value is that of a job that met no full store. Not safe for concurrent use.
type StoreRoom struct {
	waited  time.Duration // in all since the store took files last
	tries   int           // that met a full store since then
	till    scheduler.Time
	why     string // it was full
	waiting []int  // bundles by their index, the first first: only appended to, and taken from its front
}

// StoreRoomLimits are the settings that it obeys.
type StoreRoomLimits struct {
	After, AfterMax time.Duration // until the next try, doubling to AfterMax
	Max             time.Duration // in all
}

// Full notes that a bundle met a full store, and has it wait. A wait above 0 begins now; at 0
// one goes on. When it was waited as long as may be, more is false.
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

// Took notes that the store took files.
func (r *StoreRoom) Took() { r.waited, r.tries, r.till = 0, 0, 0 }

// Due says whether it waits for time no more.
func (r *StoreRoom) Due(now scheduler.Time) bool { return now >= r.till }

// Waiting is how many bundles wait.
func (r *StoreRoom) Waiting() int { return len(r.waiting) }

// Next takes out the one that waits longest. There has to be one.
func (r *StoreRoom) Next() (bundle int) {
	bundle, r.waiting = r.waiting[0], r.waiting[1:]
	return bundle
}

// Why is why bundles wait; "": none does.
func (r *StoreRoom) Why() string {
	if len(r.waiting) == 0 {
		return ""
	}
	return fmt.Sprintf("%d bundles wait: %s", len(r.waiting), r.why)
}

// Listed calls each for the bundles that wait.
func (r *StoreRoom) Listed(each func(bundle int)) {
	for _, b := range r.waiting {
		each(b)
	}
}

// Code codes it all, from the fifth format on.
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
