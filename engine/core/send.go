package core

import (
	"github.com/hamadryad/hamadryad/engine/core/commands"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// command sends a command to a launcher that is up.
func (c *Core) command(l *launcher, m *wire.Command) {
	if l.Up {
		commands.Send(&c.step, l.to(), m)
	}
}

// forget lets a launcher drop what it remembers of an attempt's end.
func (c *Core) forget(l *launcher, id scheduler.AttemptID) {
	var whole struct { // one piece of memory
		command wire.Command
		do      wire.Command_Forget
	}
	whole.do.Forget, whole.command.Do = uint64(id), &whole.do
	c.command(l, &whole.command)
}

// dropJob has a launcher get rid of what it has of a job that is over, or not known.
func (c *Core) dropJob(l *launcher, id scheduler.JobID) {
	if l.Up {
		l.line.Drop(&c.step, l.to(), id)
	}
}

// unconfirmed has a launcher looked after until it confirms a command.
func (c *Core) unconfirmed(a *attempt) { a.launcher.line.Sent(&c.step, a.launcher.ID, &a.pending) }

func (c *Core) sendStop(a *attempt) {
	c.unconfirmed(a)
	c.command(a.launcher, &wire.Command{Do: &wire.Command_Stop{Stop: &wire.StopAttempt{
		Attempt: uint64(a.id), GraceNs: int64(a.stop.grace), Reason: a.stop.reason,
	}}})
}

func (c *Core) sendSuspend(a *attempt) {
	c.unconfirmed(a)
	c.command(a.launcher, &wire.Command{Do: &wire.Command_Suspend{Suspend: uint64(a.id)}})
}

func (c *Core) sendResume(a *attempt) {
	c.unconfirmed(a)
	c.command(a.launcher, &wire.Command{Do: &wire.Command_Resume{Resume: uint64(a.id)}})
}
