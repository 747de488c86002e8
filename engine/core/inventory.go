package core

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/sorted"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// inventory is what a launcher has.
type inventory struct {
	attempts []*wire.AttemptInventory
	stored   []*wire.Stored
	jobs     []uint64            // of which it has anything
	seen     scheduler.AttemptID // the last that it was told to start before; 0: that is not known
}

// takeInventory compares what a launcher has with what it should have: it adopts
// what runs, ends what is not known, and sends again what may have been lost.
func (c *Core) takeInventory(l *launcher, m inventory) {
	has := map[scheduler.AttemptID]wire.AttemptInventory_State{}
	for _, x := range m.attempts {
		id := scheduler.AttemptID(x.GetAttempt())
		has[id] = x.GetState()
		if c.attempt(l, x.GetAttempt()) == nil {
			c.endUnknown(l, id, x.GetState())
		}
	}
	for _, a := range l.attempts.sorted() {
		if a.phase == attemptEnded || !l.Up { // it may have gone with one before it
			continue
		}
		state, there := has[a.id]
		if !there && a.stop == nil && a.id <= m.seen {
			// Its start came there, and perhaps its end: that is in a record that was lost.
			// No attempt is started twice.
			c.lose(a, "its launcher does not have it any more")
			continue
		}
		c.reconcile(a, state, there)
	}
	c.reconcileStored(l, m.stored)
	c.reconcileJobs(l, m.jobs)
}

// endUnknown ends an attempt that is not the launcher's to run.
func (c *Core) endUnknown(l *launcher, id scheduler.AttemptID, state wire.AttemptInventory_State) {
	if state == wire.AttemptInventory_STATE_ENDED {
		c.forget(l, id)
		return
	}
	c.step.Stats.UnknownEnded++
	c.command(l, &wire.Command{Do: &wire.Command_Stop{Stop: &wire.StopAttempt{Attempt: uint64(id), Reason: "the manager does not know it"}}})
}

// reconcile brings an attempt and what its launcher has of it together.
func (c *Core) reconcile(a *attempt, state wire.AttemptInventory_State, there bool) {
	switch {
	case state == wire.AttemptInventory_STATE_ENDED:
		return // its report comes
	case !there && a.stop != nil:
		c.endAttempt(a, a.stop.outcome, a.work, a.stop.reason)
		c.runOver(a.run)
		return
	case !there && a.phase != attemptAssigned:
		c.lose(a, "its launcher does not have it any more")
		return
	case !there || a.phase == attemptAssigned:
		c.sendStart(a) // a launcher that runs it already says so again
	}
	switch {
	case a.stop != nil:
		c.sendStop(a)
	case state == wire.AttemptInventory_STATE_SUSPENDED && a.suspending:
		c.suspendedNow(a)
	case state == wire.AttemptInventory_STATE_RUNNING && a.resuming:
		c.resumedNow(a)
	case a.suspending:
		c.sendSuspend(a)
	case a.resuming || state == wire.AttemptInventory_STATE_SUSPENDED && a.phase == attemptRunning:
		c.sendResume(a)
	case state == wire.AttemptInventory_STATE_RUNNING && a.phase == attemptSuspended:
		c.sendSuspend(a)
	}
	if there && a.run.peersSent {
		c.sendPeersTo(a)
	}
	c.giveAgain(a)
}

// reconcileStored deletes what is not needed and finds what is gone.
func (c *Core) reconcileStored(l *launcher, stored []*wire.Stored) {
	has := map[scheduler.AttemptID]bool{}
	for _, s := range stored {
		id := scheduler.AttemptID(s.GetAttempt())
		has[id] = true
		j := c.jobs.Get(scheduler.JobID(s.GetJob()))
		switch {
		case j == nil:
			c.dropJob(l, scheduler.JobID(s.GetJob()))
		case l.outputs[id] == nil && c.attempts.Get(id) == nil:
			c.command(l, &wire.Command{Do: &wire.Command_DropOutput{DropOutput: &wire.Stored{Job: s.GetJob(), Attempt: s.GetAttempt()}}})
		}
	}
	gone := map[scheduler.AttemptID]*output{}
	for _, id := range slices.Sorted(maps.Keys(l.outputs)) {
		if !has[id] {
			gone[id] = l.outputs[id]
			delete(l.outputs, id)
		}
	}
	c.loseOutputs(l, gone)
}

// reconcileJobs has a launcher drop the jobs that it has something of and that are
// not there, and those again that it was told to drop on a stream that broke. Of those
// that are there it is told when they end, though the log may have lost that they ran
// on it.
func (c *Core) reconcileJobs(l *launcher, has []uint64) {
	if !l.Up {
		return
	}
	l.line.DropAgain(&c.step, l.to())
	for _, id := range has {
		if j := c.jobs.Get(scheduler.JobID(id)); j != nil {
			j.ranOn = sorted.Add(j.ranOn, l.ID)
		} else {
			c.dropJob(l, scheduler.JobID(id))
		}
	}
}

// resend sends again what a launcher has not confirmed for too long, and gives
// up a launcher that never does.
func (c *Core) resend(id scheduler.LauncherID) {
	l := c.launchers.Get(id)
	if l == nil || !l.line.Due(&c.step) || !l.Up {
		return
	}
	waits := l.line.Drops()
	l.line.DropLate(&c.step, l.to())
	for _, a := range l.attempts.sorted() {
		if a.phase == attemptEnded || !a.pending.Waits() {
			continue
		}
		waits = true
		grace := time.Duration(0)
		if a.stop != nil {
			grace = a.stop.grace // of a soft kill
		}
		late, hopeless := a.pending.Late(&c.step, grace)
		switch {
		case hopeless:
			c.giveUp(l, fmt.Sprintf("it did not confirm what was asked of attempt %d after %d times", a.id, c.step.Set.CommandTries))
			return
		case late:
			c.step.Stats.Resent++
			c.sendAgain(a)
		}
	}
	if waits {
		l.line.Watch(&c.step, l.ID)
	}
}

func (c *Core) sendAgain(a *attempt) {
	switch {
	case a.stop != nil:
		c.sendStop(a)
	case a.phase == attemptAssigned:
		c.sendStart(a)
	case a.suspending:
		c.sendSuspend(a)
	case a.resuming:
		c.sendResume(a)
	default:
		a.pending.Confirmed()
	}
}

// giveUp counts a launcher as lost that is connected and does not work.
func (c *Core) giveUp(l *launcher, reason string) {
	c.step.Act(CutLauncher{Launcher: l.ID, Incarnation: l.incarnation, Reason: reason})
	c.loseLauncher(l, reason)
}
