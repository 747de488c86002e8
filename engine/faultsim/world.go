package faultsim

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// sameWorld reports whether a policy's view equals the manager's state. It ignores whether an
// attempt that has not started is the second of two: when the first ended alone, a snapshot reports
// the other as a first attempt.
func sameWorld(a, b view.World) bool {
	return slices.EqualFunc(a.Launchers, b.Launchers, sameLauncher) && slices.EqualFunc(a.Jobs, b.Jobs, sameJob)
}

func sameLauncher(a, b view.WorldLauncher) bool {
	x, y := a.Offer, b.Offer
	return a.ID == b.ID && a.Draining == b.Draining && a.Memory == b.Memory && a.Swap == b.Swap && a.Resources == b.Resources && slices.Equal(a.Slots, b.Slots) &&
		a.CPULoad == b.CPULoad && a.MemoryLoad == b.MemoryLoad &&
		x.Launcher == y.Launcher && x.Memory == y.Memory && x.Suspended == y.Suspended && x.Held == y.Held && x.Swap == y.Swap &&
		x.ForResumeMemory == y.ForResumeMemory && x.Resources == y.Resources && x.ForResumeResources == y.ForResumeResources && slices.Equal(x.Free, y.Free) && slices.Equal(x.ForResume, y.ForResume) && slices.Equal(x.Reserved, y.Reserved)
}

func sameJob(a, b view.WorldJob) bool {
	return a.ID == b.ID && a.Pool == b.Pool && a.Priority == b.Priority && a.TimeLimit == b.TimeLimit && a.Deadline == b.Deadline && slices.Equal(a.Stages, b.Stages) &&
		slices.Equal(a.Ready, b.Ready) && slices.Equal(a.SpeculationOffered, b.SpeculationOffered) &&
		slices.EqualFunc(a.Avoid, b.Avoid, func(x, y view.WorldAvoid) bool {
			return x.Bundle == y.Bundle && slices.Equal(x.Launchers, y.Launchers)
		}) &&
		slices.EqualFunc(a.Attempts, b.Attempts, func(x, y view.WorldAttempt) bool {
			if x.State == view.Assigned {
				x.Speculative = y.Speculative
			}
			return x == y
		})
}

// idle returns why a world is not idle, with all slots free.
func idle(w view.World) error {
	if len(w.Jobs) > 0 {
		return fmt.Errorf("%d jobs are there", len(w.Jobs))
	}
	for _, l := range w.Launchers {
		if !slices.Equal(l.Offer.Free, l.Slots) || l.Offer.Memory != l.Memory || l.Offer.Resources != l.Resources || len(l.Offer.Reserved) > 0 || l.Offer.Suspended > 0 {
			return fmt.Errorf("launcher %d with %v offers %+v", l.ID, l.Slots, l.Offer)
		}
	}
	return nil
}
