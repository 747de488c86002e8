package policyhost

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A policy is reported as busy when busyMax of its rounds within busyWindow told it nothing but the
// time, or so many of its decisions were refused.
const (
	busyWindow = 10 * time.Second
	busyMax    = 500
)

// busyWatch counts rounds without effect. Used by the core's goroutine only.
type busyWatch struct {
	since   time.Time // start of the window
	policy  string    // that it is about
	wakes   int       // rounds with only TimePassed
	refused int       // decisions
	last    scheduler.Outcome
}

// round takes a round in. It returns a problem, at most one for each window; "": none.
func (w *busyWatch) round(now time.Time, policy string, r *scheduler.Round) string {
	if policy != w.policy || now.Sub(w.since) >= busyWindow {
		*w = busyWatch{since: now, policy: policy}
	}
	woken := len(r.Offers) == 0 && len(r.Events) > 0
	for _, e := range r.Events {
		_, time := e.(scheduler.TimePassed)
		woken = woken && time
		if o, is := e.(scheduler.Outcome); is && !o.Accepted {
			w.refused++
			w.last = o
		}
	}
	if woken {
		w.wakes++
	}
	within := now.Sub(w.since).Round(time.Millisecond)
	switch {
	case w.wakes >= busyMax:
		text := fmt.Sprintf("the policy %s asks for rounds without pause: %d within %v told it nothing but the time; its WakeAt should name the time when it has something to decide", policy, w.wakes, within)
		w.wakes = -1 << 30
		return text
	case w.refused >= busyMax:
		text := fmt.Sprintf("%d decisions of the policy %s were refused within %v, the last a %v: %v, %s", w.refused, policy, within, w.last.Kind, w.last.Reason, w.last.Detail)
		w.refused = -1 << 30
		return text
	}
	return ""
}
