package state

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/dataflow"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Attempt is one try at running a group.
type Attempt struct {
	ID            scheduler.AttemptID
	BundleAttempt *BundleAttempt
	Group         int
	Launcher      *Launcher
	Stage         int32 // the stage that its group counts for
	Index         int32 // of its group's first node
	resources.Allocation
	places [attemptSets]int32 // its indexes in its job's and its launcher's set
	phase.Machine
	address string // of its data; "" before it runs
	Unacked Unacked

	Reads            dataflow.Reader
	progress         float64
	work             *wire.Work
	progressNotified scheduler.Time // when the policy last got its progress
	dirty            bool           // in ChangeFeed.attempts
	countedSuspended bool           // its nodes count as suspended
	heldAhead        bool           // see HeldAhead
	outlasted        bool           // it ran while others were held too long for its slots
}

// attemptSet is the live attempts of a job or of a launcher, in no order. Each attempt knows its
// index in both sets, so it is removed without a search.
type attemptSet []*Attempt

// The set of an index.
const (
	inJob = iota
	inLauncher
	attemptSets
)

func (s *attemptSet) add(a *Attempt, which int) {
	a.places[which] = int32(len(*s))
	*s = append(*s, a)
}

// remove removes an attempt that is in the set.
func (s *attemptSet) remove(a *Attempt, which int) {
	last := len(*s) - 1
	moved := (*s)[last]
	(*s)[a.places[which]] = moved
	moved.places[which] = a.places[which]
	(*s)[last] = nil
	*s = (*s)[:last]
}

// Sorted lists the attempts in order of id. The list does not change with the set.
func (s attemptSet) Sorted() []*Attempt {
	list := slices.Clone(s)
	slices.SortFunc(list, func(x, y *Attempt) int { return cmp.Compare(x.ID, y.ID) })
	return list
}

// CountSuspended counts a newly suspended attempt (+1), or one that no longer is (-1).
func (a *Attempt) CountSuspended(by int) {
	a.Launcher.suspended += by
	a.BundleAttempt.Bundle.Job.suspended += by
	if by > 0 {
		a.countSuspended()
		return
	}
	a.uncountSuspended()
	for _, r := range a.BundleAttempt.Bundle.Attempts() {
		if other := r.Attempts[a.Group]; other != a && other.Phase() == phase.Suspended {
			other.countSuspended()
		}
	}
}

// countSuspended counts the nodes of a suspended attempt as suspended. It counts nothing if the
// bundle does not run, or another attempt at the same group is already counted.
func (a *Attempt) countSuspended() {
	b := a.BundleAttempt.Bundle
	for _, r := range b.Attempts() {
		if r.Attempts[a.Group].countedSuspended {
			return
		}
	}
	if b.Phase() == BundleRunning && !a.countedSuspended {
		a.countedSuspended = true
		b.addSuspended(a.Group, 1)
	}
}

// uncountSuspended undoes countSuspended.
func (a *Attempt) uncountSuspended() {
	if a.countedSuspended {
		a.countedSuspended = false
		a.BundleAttempt.Bundle.addSuspended(a.Group, ^uint32(0))
	}
}

// MayFinish reports whether an attempt's successful end counts. It does for a preempted attempt
// that finished before it was stopped. It does not for an attempt stopped for another reason.
func (a *Attempt) MayFinish() bool {
	b := a.BundleAttempt.Bundle
	if b.Phase() != BundleRunning || b.Job.Ends() && !b.Last() {
		return false
	}
	return a.BundleAttempt.Stopped() == 0 && a.Stop() == nil || a.BundleAttempt.Stopped() == scheduler.Preempted && len(a.BundleAttempt.Attempts) == 1
}

// Locate sets an attempt's place in the plan: its stage and the index of its first node.
func (a *Attempt) Locate() {
	b := a.BundleAttempt.Bundle
	a.Stage = int32(b.StageOf(a.Group))
	switch {
	case b.singleNode:
		a.Index = b.First
	case !b.Last():
		a.Index = int32(b.Job.Plan.Node(b.Nodes(a.Group)[0]).Index)
	}
}

// HasNode reports whether a node belongs to the attempt's group. The publishing group has no nodes.
func (a *Attempt) HasNode(stage, index uint32) bool {
	b := a.BundleAttempt.Bundle
	stages := b.Job.Plan.Graph.Stages
	if b.Last() || int64(stage) >= int64(len(stages)) || int64(index) >= int64(stages[stage].Nodes) {
		return false
	}
	of, group := b.Job.GroupOf(graph.Node{Stage: int(stage), Index: int(index)})
	return of == b && group == a.Group
}

// MaySpeculate reports whether a second attempt beside this one would help: it is the only one,
// does not end, and waits for nothing.
func (a *Attempt) MaySpeculate() bool {
	r, b := a.BundleAttempt, a.BundleAttempt.Bundle
	return len(b.Attempts()) == 1 && len(r.Attempts) == 1 && !r.speculative && b.SpeculationOffered() == 0 &&
		!r.Granted() && r.Stopped() == 0 && !a.Suspending() && a.Reads.Misses() == 0
}

// StartAt records its start. address serves its data; "" where it serves none.
func (a *Attempt) StartAt(address string, now scheduler.Time) {
	a.Start(now)
	a.address = address
}

// ReportProgress records its progress, from 0 to 1, in thousandths. Other values count as 0.
func (a *Attempt) ReportProgress(progress float64, w *wire.Work) {
	a.progress, a.work = 0, w
	if progress >= 0 && progress <= 1 { // false for NaN
		a.progress = float64(int64(progress*1000)) / 1000
	}
}

// NotifyProgress records that the policy is notified of its progress now.
func (a *Attempt) NotifyProgress(now scheduler.Time) { a.progressNotified = now }

// Address returns the address of its data; "" before it runs.
func (a *Attempt) Address() string { return a.address }

// Progress returns its progress, from 0 to 1, in thousandths.
func (a *Attempt) Progress() float64 { return a.progress }

// ProgressNotified returns when the policy was last notified of its progress; 0: never.
func (a *Attempt) ProgressNotified() scheduler.Time { return a.progressNotified }

// Work returns its last reported work; nil: none.
func (a *Attempt) Work() *wire.Work { return a.work }
