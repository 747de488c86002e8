package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// World is the mirrored state as plain values. The core builds one from its own state; tests
// compare it with a view's after a round. Every list is in order of id.
type World struct {
	Launchers []WorldLauncher
	Jobs      []WorldJob
}

// WorldLauncher is a joined launcher.
type WorldLauncher struct {
	ID        scheduler.LauncherID
	Draining  bool
	Excluded  bool
	Slots     []scheduler.SlotCount // in order of kind
	Memory    int64
	Swap      int64
	Resources scheduler.Resources
	Offer     scheduler.Offer
	// As last received by the policy; LoadUnknown before.
	CPULoad, MemoryLoad float64
}

// WorldJob is a live job.
type WorldJob struct {
	ID                 scheduler.JobID
	Pool               string
	Priority           scheduler.Priority
	TimeLimit          time.Duration
	Deadline           scheduler.Time
	UserLimit          scheduler.UserLimit
	UserHolds          scheduler.Usage // of a user with a limit; without what resumptions take that are not finished
	Stages             []Counts
	Ready              []scheduler.BundleID // Ready
	SpeculationOffered []scheduler.BundleID // launched, and a second attempt is offered
	Avoid              []WorldAvoid         // of both, those that avoid launchers
	Attempts           []WorldAttempt
}

// WorldAvoid is a launchable bundle with the launchers that it avoids.
type WorldAvoid struct {
	Bundle    scheduler.BundleID
	Launchers []scheduler.LauncherID
}

// WorldAttempt is a live attempt.
type WorldAttempt struct {
	ID          scheduler.AttemptID
	Bundle      scheduler.BundleID
	Group       int
	Launcher    scheduler.LauncherID
	Speculative bool
	State       AttemptState
	Ahead       bool
	Stopping    bool
	Resuming    bool           // and not being stopped
	Suspending  bool           // a preemption will suspend it
	Protected   scheduler.Time // protected until then; 0 if it never was
}

// World returns a copy of the state, with offers as last received.
func (v *View) World() World {
	var w World
	for _, l := range v.Launchers() {
		w.Launchers = append(w.Launchers, WorldLauncher{l.ID, l.Draining, l.Excluded, slices.Clone(l.Slots), l.Memory, l.Swap, l.Resources, l.Offer, l.CPULoad, l.MemoryLoad})
	}
	resuming := map[*user]scheduler.Usage{}
	for _, j := range v.Jobs() {
		wj := WorldJob{ID: j.ID(), Pool: j.Info.Pool, Priority: j.Info.Priority, TimeLimit: j.Info.TimeLimit, Deadline: j.Info.Deadline, UserLimit: j.UserLimit(), UserHolds: j.UserHolds(), Stages: slices.Clone(j.Counts)}
		resuming[j.owner] = resuming[j.owner].Plus(j.resuming())
		for b := range j.launchables() {
			if b.SpeculationOffered {
				wj.SpeculationOffered = append(wj.SpeculationOffered, b.ID)
			} else {
				wj.Ready = append(wj.Ready, b.ID)
			}
			if len(b.Avoid) > 0 {
				wj.Avoid = append(wj.Avoid, WorldAvoid{b.ID, slices.Clone(b.Avoid)})
			}
		}
		all := slices.Concat(j.Attempts(), j.Ahead())
		slices.SortFunc(all, func(x, y *Attempt) int { return cmp.Compare(x.ID, y.ID) })
		for _, a := range all {
			wj.Attempts = append(wj.Attempts, WorldAttempt{a.ID, a.Bundle.ID, a.Group, a.Launcher, a.Speculative, a.State, a.Ahead, a.Stopping, a.Resuming && !a.Stopping, a.suspending, a.ProtectedUntil()})
		}
		w.Jobs = append(w.Jobs, wj)
	}
	for i, j := range v.Jobs() {
		w.Jobs[i].UserHolds = w.Jobs[i].UserHolds.Minus(resuming[j.owner])
	}
	return w
}

// String returns the world as text, one launcher, job or attempt a line. Equal worlds have equal
// text.
func (w World) String() string {
	var s strings.Builder
	for _, l := range w.Launchers {
		fmt.Fprintf(&s, "launcher %d slots %v memory %d swap %d resources %q draining %t excluded %t free %v memory %d suspended %d held %d swap %d for resume %v memory %d resources %q for resume %q reserved %v ahead %v load %v %v\n",
			l.ID, l.Slots, l.Memory, l.Swap, l.Resources, l.Draining, l.Excluded, l.Offer.Free, l.Offer.Memory, l.Offer.Suspended, l.Offer.Held, l.Offer.Swap, l.Offer.ForResume, l.Offer.ForResumeMemory, l.Offer.Resources, l.Offer.ForResumeResources, l.Offer.Reserved, l.Offer.Ahead, l.CPULoad, l.MemoryLoad)
	}
	for _, j := range w.Jobs {
		fmt.Fprintf(&s, "%s pool %q priority %s", j.ID, j.Pool, j.Priority)
		if j.TimeLimit != 0 || j.Deadline != 0 {
			fmt.Fprintf(&s, " time limit %v deadline %d", j.TimeLimit, j.Deadline)
		}
		if !j.UserLimit.IsZero() {
			fmt.Fprintf(&s, " user limit %q holds %q", j.UserLimit, j.UserHolds)
		}
		for _, c := range j.Stages {
			fmt.Fprintf(&s, " %d/%d/%d", c.Waiting, c.Running, c.Finished)
		}
		fmt.Fprintf(&s, " ready %v speculation offered %v", j.Ready, j.SpeculationOffered)
		for _, x := range j.Avoid {
			fmt.Fprintf(&s, " %v avoids %v", x.Bundle, x.Launchers)
		}
		s.WriteByte('\n')
		for _, a := range j.Attempts {
			speculative := ""
			if a.Speculative {
				speculative = " speculative"
			}
			fmt.Fprintf(&s, "  attempt-%d group %d of %v on %d %s%s", a.ID, a.Group, a.Bundle, a.Launcher, a.State, speculative)
			if a.Ahead {
				s.WriteString(" ahead")
			}
			if a.Stopping {
				s.WriteString(" stopping")
			}
			if a.Resuming {
				s.WriteString(" resuming")
			}
			if a.Suspending {
				s.WriteString(" suspending")
			}
			if a.Protected != 0 {
				fmt.Fprintf(&s, " protected until %d", a.Protected)
			}
			s.WriteByte('\n')
		}
	}
	return s.String()
}
