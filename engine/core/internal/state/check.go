package state

import (
	"bytes"
	"fmt"
	"iter"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/dataflow"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/internal/sortedset"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Check checks the invariants: it recounts all counts.
func (st *Cluster) Check() error {
	for _, id := range st.Launchers.IDs() {
		if err := st.checkLauncher(st.Launchers.Get(id)); err != nil {
			return fmt.Errorf("launcher %d: %w", id, err)
		}
	}
	live := 0
	for _, id := range st.Jobs.IDs() {
		j := st.Jobs.Get(id)
		live += len(j.attempts)
		if err := st.checkJob(j); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
	}
	if err := st.checkUsers(); err != nil {
		return err
	}
	if live != st.Attempts.Len() {
		return fmt.Errorf("%d attempts live and the jobs have %d", st.Attempts.Len(), live)
	}
	if err := st.checkDependents(); err != nil {
		return err
	}
	for id := range st.resources.Reservations.Jobs() {
		if st.Jobs.Get(id) == nil {
			return fmt.Errorf("something is reserved for %s, which is not there", id)
		}
	}
	for r := range st.Suspended.All() {
		if r.live == 0 || r.suspended == 0 {
			return fmt.Errorf("bundle attempt %d is listed as suspended and is not", r.ID)
		}
	}
	return nil
}

// Holdings returns the allocations of the live attempts on a launcher.
func (st *Cluster) Holdings(id scheduler.LauncherID) iter.Seq[*resources.Allocation] {
	return func(yield func(*resources.Allocation) bool) {
		for _, a := range st.Launchers.Get(id).attempts {
			if !yield(&a.Allocation) {
				return
			}
		}
	}
}

// checkAhead reports room to launch ahead that the policy was offered and that is gone.
func (st *Cluster) checkAhead(l *Launcher) error {
	if !l.Up || l.OfferMarked() {
		return nil // the next round tells it
	}
	room := st.AheadRoom(l.ID, st.step.Set.AheadMax)
	for _, x := range l.LastOffer().Ahead {
		if j := st.Jobs.Get(x.Job); j != nil && j.Phase() != JobRunning {
			continue // it has nothing to launch
		}
		if !slices.ContainsFunc(room, func(y scheduler.AheadRoom) bool {
			return y.Job == x.Job && y.Stage == x.Stage && y.Count >= x.Count && y.PerLaunch >= x.PerLaunch
		}) {
			return fmt.Errorf("the policy was offered room ahead for %+v, and there is %+v", x, room)
		}
	}
	return nil
}

// checkLauncher compares a launcher's attempts with its counts.
func (st *Cluster) checkLauncher(l *Launcher) error {
	if !l.Up && len(l.attempts)+l.Outputs.Len() > 0 {
		return fmt.Errorf("it is lost and has %d attempts and %d outputs", len(l.attempts), l.Outputs.Len())
	}
	suspended, finishers, heldAhead, waits := 0, 0, 0, false
	for i, a := range l.attempts {
		waits = waits || a.Unacked.Waits()
		if int(a.places[inLauncher]) != i || st.Attempts.Get(a.ID) != a {
			return fmt.Errorf("attempt-%d is not where it should be", a.ID)
		}
		if a.Phase() == phase.Suspended {
			suspended++
		}
		if a.BundleAttempt.Bundle.Last() {
			finishers++
		}
		if a.HeldAhead() {
			heldAhead++
			if a.Stop() == nil && l.aheadDue == 0 {
				return fmt.Errorf("attempt-%d is held ahead there, and no timer is set", a.ID)
			}
		}
		if err := a.Check(); err != nil {
			return fmt.Errorf("attempt-%d: %w", a.ID, err)
		}
		if a.Stop() == nil && a.HasSlots != (a.Phase() != phase.Suspended && !a.Empty || a.Resuming()) {
			return fmt.Errorf("attempt-%d holds its slots: %t, resumes: %t", a.ID, a.HasSlots, a.Resuming())
		}
	}
	if err := l.Outstanding.Check(waits); l.Up && err != nil {
		return err
	}
	for id := range l.Outputs.IDs() {
		o := l.Outputs.Get(id)
		if st.Bundles.Get(o.Bundle.id) != o.Bundle {
			return fmt.Errorf("it keeps the output of attempt-%d for a bundle that is not there", id)
		}
	}
	if err := st.checkAhead(l); err != nil {
		return err
	}
	if heldAhead != l.heldAhead {
		return fmt.Errorf("%d attempts are held ahead there, counted as %d", heldAhead, l.heldAhead)
	}
	if finishers != l.finishers {
		return fmt.Errorf("%d groups publish or clean there, counted as %d", finishers, l.finishers)
	}
	if suspended != l.suspended {
		return fmt.Errorf("%d attempts are suspended, counted as %d", suspended, l.suspended)
	}
	return nil
}

// checkJob compares a job's counts with its objects.
func (st *Cluster) checkJob(j *Job) error {
	over := j.Ends() || j.Phase() == JobPublishing // limits end it no more
	if j.Limits().GetFailAtDeadline() && !over && st.step.Now >= j.Deadline() && !st.step.TimerDue() {
		return fmt.Errorf("it goes on after its deadline")
	}
	if err := st.checkDependencies(j); err != nil || j.BeforeAdmission() {
		return err
	}
	if j.Submission.started != 0 && !over && j.TimeLimit() > 0 && st.step.Now >= j.Submission.started.Add(j.TimeLimit()) && !st.step.TimerDue() {
		return fmt.Errorf("it goes on after its time limit of %v", j.TimeLimit())
	}
	ready, unfinished := 0, 0
	for i := range j.Bundles {
		b := &j.Bundles[i]
		if err := st.checkBundle(b); err != nil {
			return fmt.Errorf("%v: %w", b.id, err)
		}
		if b.Phase() == BundleReady {
			ready++
		}
		if b.Last() {
			continue
		}
		if !b.Phase().Over() {
			unfinished++
		}
	}
	if unfinished != j.unfinished || ready != j.Ready.count {
		return fmt.Errorf("%d unfinished and %d ready, counted as %d and %d", unfinished, ready, j.unfinished, j.Ready.count)
	}
	if len(j.attempts) == 0 && ready == 0 && j.OutputCommit.Due(st.step.Now) && j.StoreRoom.Due(st.step.Now) && !st.step.TimerDue() && !j.hasPendingWork() && j.Phase() != JobEnding {
		return fmt.Errorf("nothing of it runs, nothing is ready, and it goes on (phase %d)", j.Phase())
	}
	if last := j.LastBundle(); (last != nil && last.Phase() == BundleReady) != sortedset.Has(st.finishing, j.ID) {
		return fmt.Errorf("its last bundle is in phase %v, and listed as one to be started: %t", last.Phase(), sortedset.Has(st.finishing, j.ID))
	}
	if err := j.checkElements(); err != nil {
		return err
	}
	if err := j.checkCounts(); err != nil {
		return err
	}
	if err := j.Exclusions.Check(); err != nil {
		return err
	}
	if j.hasPendingWork() != sortedset.Has(st.pendingWork, j.ID) {
		return fmt.Errorf("a later step has to go on with it: %t, listed as that: %t", j.hasPendingWork(), !j.hasPendingWork())
	}
	if j.Phase() == JobRemoving {
		return nil
	}
	return st.checkInputs(j)
}

func (st *Cluster) checkBundle(b *Bundle) error {
	if b.Phase() == BundleUnused {
		return b.checkUnused()
	}
	if err := b.Job.Inputs.CheckGate(&b.Gate, b.AllNodes()); err != nil {
		return err
	}
	grants := 0
	for _, r := range b.Attempts() {
		if r.Granted() {
			grants++
		}
		if r.Live() == 0 {
			return fmt.Errorf("bundle attempt %d has no live member and is there", r.ID)
		}
		if r.WaitsForResume() && r.Suspended() == 0 {
			return fmt.Errorf("bundle attempt %d waits to be resumed and is not listed as that", r.ID)
		}
	}
	if x := b.oneAttempt[0]; x != nil && !slices.Contains(b.Attempts(), x) {
		return fmt.Errorf("it holds bundle attempt %d, which ended", x.ID)
	}
	if err := b.Job.checkElement(b); err != nil {
		return err
	}
	switch {
	case grants > 1:
		return fmt.Errorf("%d attempts have the commit grant", grants)
	case b.Phase() == BundleReady && (!b.Gate.Open() || len(b.Attempts()) > 0):
		return fmt.Errorf("it is ready with %d inputs unmet and %d attempts", b.Gate.Unmet(), len(b.Attempts()))
	case b.Phase() == BundleRunning && len(b.Attempts()) == 0:
		return fmt.Errorf("it runs without an attempt")
	case b.waitsForStoreRoom && b.Job.Phase() == JobRunning && (b.Phase() != BundleWaiting || len(b.Attempts()) > 0):
		return fmt.Errorf("it waits for room while %s with %d attempts", b.Phase(), len(b.Attempts()))
	case b.Phase() == BundleWaiting && b.Gate.Open() && !b.waitsForStoreRoom && len(b.Attempts()) == 0 && b.Job.Phase() == JobRunning && b.Job.Slices.IsOpen(b) && !b.Job.waitsForTurn(b):
		return fmt.Errorf("it waits for nothing")
	case b.SpeculationOffered() != 0 && (b.Phase() != BundleRunning || len(b.Attempts()) != 1):
		return fmt.Errorf("a speculative launch of it is offered while %s with %d attempts", b.Phase(), len(b.Attempts()))
	}
	return nil
}

// checkInputs compares the stored outputs with the commits that made them.
func (st *Cluster) checkInputs(j *Job) error {
	return j.Inputs.Check(func(out dataflow.Key) error {
		k := j.commitOf(j.Inputs.Files.Writer(out))
		if k == nil {
			return fmt.Errorf("connection %d: the output of %d is there and nobody made it", out.Conn, out.From)
		}
		if l := st.Launchers.Get(k.Launcher); j.Plan.Connection(int(out.Conn)).Store == "" && k.Stored && (l == nil || !l.Up || l.Outputs.Get(k.Attempt) == nil) {
			return fmt.Errorf("connection %d: the output of %d counts as there, and launcher %d has none", out.Conn, out.From, k.Launcher)
		}
		if s := j.Inputs.SourceMessage(out); s != nil && (s.Attempt != uint64(k.Attempt) || s.Launcher != uint64(k.Launcher) || s.Host != k.Host || s.Rack != k.Rack || !bytes.Equal(s.Token, st.Tokens.OfNumber(k.BundleAttempt, k.Token))) {
			return fmt.Errorf("connection %d: readers are told that attempt-%d has the output of %d, which attempt-%d made", out.Conn, s.Attempt, out.From, k.Attempt)
		}
		return nil
	})
}
