package lifecycle

import (
	"iter"

	"github.com/hamadryad/hamadryad/engine/core/internal/dataflow"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// StoredOutput records a writer's stored output, in the place of an earlier one if old is not nil,
// and opens the inputs that it completes.
func (bs *Bundles) StoredOutput(j *state.Job, k dataflow.Key, size int64, perReader []int64, where scheduler.LauncherID, old *state.Commit) {
	before := scheduler.LauncherID(0)
	if old != nil {
		before = old.Launcher
	}
	opened := j.Inputs.PutOutput(k, size, perReader, where, before, j)
	bs.growStage(j, k.Conn)
	bs.ApplyGateChanges(j, k.Conn, opened)
}

// growStage makes the nodes wait that a connection chooses, if they were just chosen.
func (bs *Bundles) growStage(j *state.Job, conn int32) {
	if !j.Inputs.NodesChosen(conn) {
		return
	}
	if j.Grow(conn) > 0 {
		bs.events.NotifyStage(j, int(j.Plan.Connection(int(conn)).ToStage))
	}
	bs.state.Changes.MarkJob(j)
}

// ApplyGateChanges opens and closes inputs. Readers of an all-to-all connection are updated in
// slices.
func (bs *Bundles) ApplyGateChanges(j *state.Job, conn int32, list iter.Seq[dataflow.GateChange]) {
	for x := range list {
		bs.applyGateChange(j, x)
	}
	if j.Inputs.NoReaderUpdated(conn) {
		bs.updateReaders(j, conn)
	}
}

func (bs *Bundles) applyGateChange(j *state.Job, x dataflow.GateChange) {
	if b := &j.Bundles[j.Inputs.Files.Bundle(x)]; j.Inputs.ApplyGateChange(&b.Gate, x) {
		bs.Recheck(b)
	}
}

// updateReaders opens or closes the inputs of an all-to-all connection's readers, within the
// step's budget.
func (bs *Bundles) updateReaders(j *state.Job, conn int32) {
	for j.Inputs.AllReadersUpdated(conn) || bs.step.ConsumeBudget(step.WorkOpen) {
		x, yes := j.Inputs.UpdateNextReader(conn)
		if !yes {
			break
		}
		bs.applyGateChange(j, x)
	}
	if j.Phase() == state.JobRunning {
		bs.state.RequeueJob(j)
	}
}

// ContinueReaders continues all connections whose readers are being updated.
func (bs *Bundles) ContinueReaders(j *state.Job) {
	for conn := 0; j.Inputs.Updating() && conn < j.Inputs.Connections() && !bs.step.BudgetSpent(); conn++ {
		if j.Inputs.UpdatingReadersOf(int32(conn)) {
			bs.updateReaders(j, int32(conn))
		}
	}
}

// Recheck moves a bundle between waiting and ready.
func (bs *Bundles) Recheck(b *state.Bundle) {
	switch {
	case b.Job.Phase() != state.JobRunning || !b.Job.Slices.IsOpen(b): // open reaches it later
	case b.WaitsForStoreRoom(): // it is retried when the output store may have room
	case b.Phase() == state.BundleWaiting && b.Gate.Open() && len(b.Attempts()) == 0: // an attempt of an earlier life is waited for
		if !b.Job.HoldForTurn(b) {
			bs.MakeReady(b)
		}
	case b.Phase() == state.BundleReady && !b.Gate.Open():
		bs.Withdraw(b)
	}
}

// MakeReady offers a bundle to the policy. The core starts a job's last bundle without the policy.
func (bs *Bundles) MakeReady(b *state.Bundle) {
	if !b.Last() {
		bs.chooseKinds(b.Job)
	}
	b.EnterAt(state.BundleReady, bs.step.Now)
	bs.state.RequeueFinishing(b.Job)
	if state.AnyExcluded(&b.Job.Exclusions, &b.Exclusions) {
		bs.relax(b)
	}
	bs.events.AnnounceReady(b)
	bs.state.Changes.MarkJob(b.Job)
}

// Withdraw withdraws a bundle from the policy.
func (bs *Bundles) Withdraw(b *state.Bundle) {
	b.Enter(state.BundleWaiting)
	bs.state.RequeueFinishing(b.Job)
	bs.events.Notify(b, scheduler.BundleWithdrawn{At: bs.step.Now, Job: b.Job.ID, Bundle: b.ID()})
	bs.resources.Reservations.ReleaseFor(b, b.Job.Ready.Len(), scheduler.ReservationNotReady)
	bs.state.Changes.MarkJob(b.Job)
}
