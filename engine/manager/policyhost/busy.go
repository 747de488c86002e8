package policyhost

import (
	"cmp"
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A policy is reported as busy when busyMax of its rounds within busyWindow told it nothing but the
// time, or so many of its decisions were refused. core.wakeMin (the wake floor) may keep it far
// below that. So it is also busy when, of the busyWakes rounds that the wake floor allows within a
// window, it was woken for at least half, each time as soon as the floor let it. A policy decides in
// vain when decisions of vainRounds rounds within a window were refused and none was accepted.
const (
	busyWindow = 10 * time.Second
	busyMax    = 500
	busyWakes  = 20
	vainRounds = 5
)

// told ends the counting of a window whose problem was reported.
const told = -1 << 30

// busyWatch counts rounds without effect. Used by the core's goroutine only.
type busyWatch struct {
	policy  string    // that it is about
	since   time.Time // start of the window
	wakes   int       // rounds with only TimePassed
	refused int       // decisions
	last    scheduler.Outcome
	vain    vain

	hurriedSince time.Time // start of the window of hurried
	hurried      int       // wakes for which the wake floor made the policy wait
}

// vain counts the decisions of a window.
type vain struct {
	accepted, refused int
	rounds            int // that tell of refused decisions
}

// round takes the outcomes of a round in.
func (v *vain) round(r *scheduler.Round) {
	before := v.refused
	for _, e := range r.Events {
		switch o, is := e.(scheduler.Outcome); {
		case is && o.Accepted:
			v.accepted++
		case is:
			v.refused++
		}
	}
	if v.refused > before {
		v.rounds++
	}
}

// wakeFloor is what is known of a generation's wakes.
type wakeFloor struct {
	min     time.Duration // between two wakes
	hurried bool          // its last answer asked for a wake before that
}

// window is the time within which hurried wakes are counted.
func (f wakeFloor) window() time.Duration { return max(busyWindow, busyWakes*f.min) }

// round takes a round in. It returns a problem, at most one of a kind for each window; "": none.
func (w *busyWatch) round(now time.Time, policy string, floor wakeFloor, r *scheduler.Round) string {
	if policy != w.policy {
		*w = busyWatch{policy: policy, since: now, hurriedSince: now}
	}
	var all string
	if now.Sub(w.since) >= busyWindow {
		all = w.allRefused(now)
		w.since, w.wakes, w.refused, w.vain = now, 0, 0, vain{}
	}
	w.vain.round(r)
	if now.Sub(w.hurriedSince) >= floor.window() {
		w.hurriedSince, w.hurried = now, 0
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
		if floor.hurried {
			w.hurried++
		}
	}
	return cmp.Or(all, w.problem(now, floor))
}

// allRefused describes a window in which the policy decided in vain; "": it did not, or its
// refusals were told already.
func (w *busyWatch) allRefused(now time.Time) string {
	if w.vain.accepted > 0 || w.vain.rounds < vainRounds || w.refused < 0 {
		return ""
	}
	return fmt.Sprintf("the policy %s decides in vain: all %d decisions that were answered within %v were refused, the last a %v: %v, %s",
		w.policy, w.vain.refused, now.Sub(w.since).Round(time.Millisecond), w.last.Kind, w.last.Reason, w.last.Detail)
}

// problem describes the bound that the policy reached; "": it reached none.
func (w *busyWatch) problem(now time.Time, floor wakeFloor) string {
	within := now.Sub(w.since).Round(time.Millisecond)
	switch {
	case w.wakes >= busyMax:
		text := fmt.Sprintf("the policy %s asks for rounds without pause: %d within %v told it nothing but the time; its WakeAt should name the time when it has something to decide", w.policy, w.wakes, within)
		w.wakes, w.hurried = told, told
		return text
	case floor.min > 0 && w.hurried >= max(1, min(busyMax, int(floor.window()/floor.min)/2)):
		text := fmt.Sprintf("the policy %s asks for rounds without pause: %d within %v told it nothing but the time, and each came only when core.wakeMin (%v) had passed; its WakeAt should name the time when it has something to decide",
			w.policy, w.hurried, now.Sub(w.hurriedSince).Round(time.Millisecond), floor.min)
		w.wakes, w.hurried = told, told
		return text
	case w.refused >= busyMax:
		text := fmt.Sprintf("%d decisions of the policy %s were refused within %v, the last a %v: %v, %s", w.refused, w.policy, within, w.last.Kind, w.last.Reason, w.last.Detail)
		w.refused = told
		return text
	}
	return ""
}
