package membership

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// inventory is a launcher's inventory.
type inventory struct {
	attempts []*wire.AttemptInventory
	stored   []*wire.Stored
	jobs     []uint64            // jobs of which it holds anything
	seen     scheduler.AttemptID // the last attempt whose start it received; 0: unknown
}

// takeInventory compares a launcher's inventory with the state: it adopts running attempts, ends
// unknown ones, and resends commands that may have been lost.
func (ms *Membership) takeInventory(l *state.Launcher, m inventory) {
	has := map[scheduler.AttemptID]wire.AttemptInventory_State{}
	for _, x := range m.attempts {
		id := scheduler.AttemptID(x.GetAttempt())
		has[id] = x.GetState()
		if ms.state.Attempt(l, x.GetAttempt()) == nil {
			ms.endUnknown(l, id, x.GetState())
		}
	}
	for _, a := range l.Attempts().Sorted() {
		if a.Phase() == phase.Ended || !l.Up { // it may have ended with an earlier one
			continue
		}
		state, there := has[a.ID]
		if !there && a.Stop() == nil && a.ID <= m.seen {
			// Its start arrived there, and perhaps its end did too, in a record that was lost. No
			// attempt is started twice.
			ms.attempts.Lose(a, "its launcher does not have it any more")
			continue
		}
		ms.reconcile(a, state, there)
	}
	ms.reconcileStored(l, m.stored)
	ms.reconcileJobs(l, m.jobs)
}

// endUnknown ends an attempt that the launcher should not run.
func (ms *Membership) endUnknown(l *state.Launcher, id scheduler.AttemptID, state wire.AttemptInventory_State) {
	if state == wire.AttemptInventory_STATE_ENDED {
		ms.dispatch.Forget(l, id)
		return
	}
	ms.step.Stats.UnknownEnded++
	ms.dispatch.Command(l, &wire.Command{Do: &wire.Command_Stop{Stop: &wire.StopAttempt{Attempt: uint64(id), Reason: "the manager does not know it"}}})
}

// reconcile reconciles an attempt with its launcher's inventory.
func (ms *Membership) reconcile(a *state.Attempt, state wire.AttemptInventory_State, there bool) {
	switch {
	case state == wire.AttemptInventory_STATE_ENDED:
		return // its report follows
	case !there && a.Stop() != nil:
		ms.attempts.EndAttempt(a, a.Stop().Outcome, a.Work(), a.Stop().Reason)
		ms.jobs.BundleAttemptEnded(a.BundleAttempt)
		return
	case !there && a.Phase() != phase.Assigned:
		ms.attempts.Lose(a, "its launcher does not have it any more")
		return
	case !there || a.Phase() == phase.Assigned:
		ms.dispatch.SendStart(a) // a launcher that already runs it reports that again
	}
	switch {
	case a.Stop() != nil:
		ms.dispatch.SendStop(a)
	case state == wire.AttemptInventory_STATE_SUSPENDED && a.Suspending():
		ms.attempts.SuspendedNow(a)
	case state == wire.AttemptInventory_STATE_RUNNING && a.Resuming():
		ms.attempts.ResumedNow(a)
	case a.Suspending():
		ms.dispatch.SendSuspend(a)
	case a.Resuming() || state == wire.AttemptInventory_STATE_SUSPENDED && a.Phase() == phase.Running:
		ms.dispatch.SendResume(a)
	case state == wire.AttemptInventory_STATE_RUNNING && a.Phase() == phase.Suspended:
		ms.dispatch.SendSuspend(a)
	}
	if there && a.BundleAttempt.PeersSent() {
		ms.dispatch.SendPeersTo(a)
	}
	ms.dispatch.RedeliverSources(a)
}

// reconcileStored deletes outputs that are not needed and finds those that are gone.
func (ms *Membership) reconcileStored(l *state.Launcher, stored []*wire.Stored) {
	has := map[scheduler.AttemptID]bool{}
	for _, s := range stored {
		id := scheduler.AttemptID(s.GetAttempt())
		has[id] = true
		j := ms.state.Jobs.Get(scheduler.JobID(s.GetJob()))
		switch {
		case j == nil:
			ms.dispatch.DropJob(l, scheduler.JobID(s.GetJob()))
		case l.Outputs.Get(id) == nil && ms.state.Attempts.Get(id) == nil:
			ms.dispatch.Command(l, &wire.Command{Do: &wire.Command_DropOutput{DropOutput: &wire.Stored{Job: s.GetJob(), Attempt: s.GetAttempt()}}})
		}
	}
	ms.loseOutputs(l, l.Outputs.TakeMissing(has))
}

// reconcileJobs makes a launcher drop the unknown jobs that it holds anything of. Drops that were
// sent on a broken stream are sent again. Live jobs in its inventory count as having run there, so
// it receives their end: the log may have lost their attempts there.
func (ms *Membership) reconcileJobs(l *state.Launcher, has []uint64) {
	if !l.Up {
		return
	}
	l.Outstanding.ResendDrops(ms.step, l.Destination())
	for _, id := range has {
		if j := ms.state.Jobs.Get(scheduler.JobID(id)); j != nil {
			j.RanOn.Add(l.ID)
		} else {
			ms.dispatch.DropJob(l, scheduler.JobID(id))
		}
	}
}

// Resend resends commands that a launcher has not confirmed for too long, and gives up attempts of
// which it never confirms any.
func (ms *Membership) Resend(id scheduler.LauncherID) {
	l := ms.state.Launchers.Get(id)
	if l == nil || !l.Outstanding.Due(ms.step) || !l.Up {
		return
	}
	waits := l.Outstanding.Drops()
	l.Outstanding.ResendLateDrops(ms.step, l.Destination())
	for _, a := range l.Attempts().Sorted() {
		if a.Phase() == phase.Ended || !a.Unacked.Waits() {
			continue
		}
		waits = true
		grace := time.Duration(0)
		if a.Stop() != nil {
			grace = a.Stop().Grace // of a kill with grace
		}
		late, hopeless := a.Unacked.Late(ms.step, grace)
		switch {
		case hopeless:
			ms.giveUp(a)
		case late:
			ms.step.Stats.Resent++
			ms.dispatch.ResendCommand(a)
		}
	}
	if waits {
		l.Outstanding.Watch(ms.step, l.ID)
	}
}

// ReasonGivenUp is the reason in the last command about an attempt that was given up.
const ReasonGivenUp = "it was given up: its launcher had not confirmed what was asked of it"

// giveUp counts an attempt as lost if its launcher confirms no command. A process that can't be
// ended costs only its attempt: the launcher keeps all others. The launcher gets one more stop for
// this one, and later reports of it are stale.
func (ms *Membership) giveUp(a *state.Attempt) {
	l := a.Launcher
	reason := fmt.Sprintf("launcher %s did not confirm what was asked of it after %d times", l.Name, ms.step.Set.CommandTries)
	ms.step.Log(step.Warn, "an attempt is given up: its launcher did not confirm what was asked of it", "launcher", l.Name,
		"job", a.BundleAttempt.Bundle.Job.ID.String(), "attempt", fmt.Sprint(a.ID), "times", fmt.Sprint(ms.step.Set.CommandTries))
	ms.dispatch.Command(l, &wire.Command{Do: &wire.Command_Stop{Stop: &wire.StopAttempt{Attempt: uint64(a.ID), Reason: ReasonGivenUp}}})
	ms.attempts.GiveUp(a, reason)
}
