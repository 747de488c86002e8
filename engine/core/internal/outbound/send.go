package outbound

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// SendFiles answers a worker that asks for further files. It keeps asking until an answer comes, so
// no request is remembered.
func (dp *Dispatcher) SendFiles(a *state.Attempt, from uint64) {
	if !a.BundleAttempt.Bundle.Last() || a.Stop() != nil {
		return
	}
	dp.Command(a.Launcher, &wire.Command{Do: &wire.Command_Files{Files: &wire.FilesUpdate{
		Attempt: uint64(a.ID), From: from, Files: dp.state.FilesFrom(a.BundleAttempt.Bundle.Job, from),
	}}})
}

// ResendCommand repeats an attempt's last unconfirmed command.
func (dp *Dispatcher) ResendCommand(a *state.Attempt) {
	switch {
	case a.Stop() != nil:
		dp.SendStop(a)
	case a.Phase() == phase.Assigned:
		dp.SendStart(a)
	case a.Suspending():
		dp.SendSuspend(a)
	case a.Resuming():
		dp.SendResume(a)
	case a.Phase() == phase.Suspended: // its launcher reports that it runs
		dp.SendSuspend(a)
	default: // its launcher reports that it is suspended
		dp.SendResume(a)
	}
}

// Command sends a command to a launcher that is up.
func (dp *Dispatcher) Command(l *state.Launcher, m *wire.Command) {
	if l.Up {
		state.SendCommand(dp.step, l.Destination(), m)
	}
}

// Forget allows a launcher to drop its record of an attempt's end.
func (dp *Dispatcher) Forget(l *state.Launcher, id scheduler.AttemptID) {
	var whole struct { // one allocation
		command wire.Command
		do      wire.Command_Forget
	}
	whole.do.Forget, whole.command.Do = uint64(id), &whole.do
	dp.Command(l, &whole.command)
}

// DropJob makes a launcher delete its data of a job that has ended, or is unknown.
func (dp *Dispatcher) DropJob(l *state.Launcher, id scheduler.JobID) {
	if l.Up {
		l.Outstanding.Drop(dp.step, l.Destination(), id)
	}
}

// unconfirmed tracks a command, which is sent again until its launcher confirms it.
func (dp *Dispatcher) unconfirmed(a *state.Attempt) {
	a.Launcher.Outstanding.Sent(dp.step, a.Launcher.ID, &a.Unacked)
}

// SendStop sends a launcher the command to stop an attempt.
func (dp *Dispatcher) SendStop(a *state.Attempt) {
	dp.unconfirmed(a)
	dp.Command(a.Launcher, &wire.Command{Do: &wire.Command_Stop{Stop: &wire.StopAttempt{
		Attempt: uint64(a.ID), GraceNs: int64(a.Stop().Grace), Reason: a.Stop().Reason,
	}}})
}

// SendSuspend sends the command to suspend an attempt.
func (dp *Dispatcher) SendSuspend(a *state.Attempt) {
	dp.unconfirmed(a)
	dp.Command(a.Launcher, &wire.Command{Do: &wire.Command_Suspend{Suspend: uint64(a.ID)}})
}

// SendResume sends the command to resume an attempt.
func (dp *Dispatcher) SendResume(a *state.Attempt) {
	dp.unconfirmed(a)
	dp.Command(a.Launcher, &wire.Command{Do: &wire.Command_Resume{Resume: uint64(a.ID)}})
}
