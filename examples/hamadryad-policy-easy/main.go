// Command hamadryad-policy-easy is EASY backfilling (Lifka, JSSPP 1995) as a scheduling policy. Jobs run in the order
// of their submission. The first bundle that fits nowhere, the head, gets a reservation where it can start first.
// Bundles behind it start before it only if they end by then, as Stage.Expected says, or run on other launchers.
// The head starts as planned unless work takes longer than expected. Then it waits for that work to end.
//
//	hamadryad policy check build/bin/hamadryad-policy-easy
package main

import (
	"cmp"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/policy"
	"github.com/hamadryad/hamadryad/sdk/scheduler/serve"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

func main() { serve.Main(easy.New) }

type pass = policy.Pass[policy.None, policy.None]

var easy = policy.Policy[policy.None, policy.None]{Name: "easy", Version: "1", Assign: assign}

// unknown is how long work without an estimate is expected to run. A reservation lasts that much longer than planned.
const unknown = 24 * time.Hour

func assign(p *pass) error {
	var head *view.Bundle
	launched := false
	var start scheduler.Time // of the head, as planned
	var where []scheduler.LauncherID
	for _, j := range p.Jobs() {
		for b := range p.Ready(policy.Filter{Job: j}) {
			switch {
			case head != nil:
				if !backfill(p, b, head, start, where) {
					return nil
				}
			case p.Launch(b):
				launched = true
			default:
				if where, start = plan(p, b); where != nil {
					head = b
				} else if launched { // what this pass launched has no expected end yet
					p.WakeAt(p.Now() + 1)
					return nil
				} // else it never fits, and holds nobody up
			}
		}
	}
	if head != nil && (head.ReservedUntil == 0 || !slices.Equal(head.ReservedOn, where)) {
		p.Reserve(head, start.Add(unknown), where...)
	}
	return nil
}

// plan returns on which launchers a bundle fits first, and when, if all that runs ends as expected.
func plan(p *pass, b *view.Bundle) ([]scheduler.LauncherID, scheduler.Time) {
	v := p.View()
	mark := v.Capacity.Mark()
	defer v.Capacity.Undo(mark)
	var running []*view.Attempt
	for _, j := range p.Jobs() {
		running = append(running, j.Attempts()...)
	}
	slices.SortFunc(running, func(x, y *view.Attempt) int {
		return cmp.Or(cmp.Compare(end(p, x), end(p, y)), cmp.Compare(x.ID, y.ID))
	})
	for _, a := range running {
		if on := v.Launcher(a.Launcher); on != nil && !on.Closed() {
			v.Capacity.AddRoom(on, a.Need)
		}
		if where, fits := v.Fit(b); fits {
			return where, end(p, a)
		}
	}
	return nil, 0
}

// end is when an attempt is expected to end, not before now.
func end(p *pass, a *view.Attempt) scheduler.Time {
	return max(a.AssignedAt.Add(cmp.Or(a.Bundle.Job.Info.Stages[a.Need.Stage].Expected, unknown)), p.Now())
}

// backfill launches a bundle if that does not delay the head. It returns false if the next pass has to go on.
func backfill(p *pass, b, head *view.Bundle, start scheduler.Time, where []scheduler.LauncherID) bool {
	v := p.View()
	short := p.Now().Add(cmp.Or(b.Expected(), unknown)) <= start
	mark := v.Capacity.Mark()
	on, fits := v.Fit(b)
	v.Capacity.Undo(mark)
	apart := !slices.ContainsFunc(on, func(id scheduler.LauncherID) bool { return slices.Contains(where, id) })
	switch {
	case fits && (short || apart):
		p.Launch(b, on...)
	case short && !fits && fitsInReserved(p, b, head):
		p.Unreserve(head) // the next pass launches it, and reserves anew
		p.WakeAt(p.Now() + 1)
		return false
	}
	return true
}

// fitsInReserved reports whether a bundle fits now with what is free and kept for the head.
func fitsInReserved(p *pass, b, head *view.Bundle) bool {
	v := p.View()
	mark := v.Capacity.Mark()
	defer v.Capacity.Undo(mark)
	for _, id := range slices.Compact(slices.Sorted(slices.Values(head.ReservedOn))) {
		on := v.Launcher(id)
		if on == nil {
			continue
		}
		for _, r := range on.Offer.Reserved {
			if r.Bundle == head.ID {
				v.Capacity.AddRoom(on, &scheduler.Group{Kind: r.Kind, Slots: r.Slots, Memory: r.Memory, Resources: r.Resources})
			}
		}
	}
	_, fits := v.Fit(b)
	return fits
}
