package launchers

import (
	"math"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// sentLoad is the last load of a launcher's machine that the core got in one session. Every
// heartbeat has a load, and inputs of the core are logged, so only relevant changes go there. The
// core remembers a load at least as long as a session. So a reported load need not be reported
// again, whatever policy runs.
type sentLoad struct {
	load *wire.MachineLoad // nil: nothing yet
	at   time.Time
}

// due reports whether a load is to be sent to the core now, and if so counts it as sent.
func (t *sentLoad) due(now time.Time, load *wire.MachineLoad) bool {
	if load == nil {
		load = &wire.MachineLoad{} // nothing is known
	}
	switch since := now.Sub(t.at); {
	case t.load == nil:
	case since < scheduler.LoadEvery:
		return false
	case changed(t.load, load, scheduler.LoadStep):
	case since >= scheduler.LoadSlow && changed(t.load, load, scheduler.LoadFine):
	default:
		return false
	}
	t.load, t.at = load, now
	return true
}

// changed reports whether a part changed by so much, or became known or unknown.
func changed(a, b *wire.MachineLoad, by float64) bool {
	part := func(x, y *float64) bool {
		if x == nil || y == nil {
			return x != y
		}
		return math.Abs(*x-*y) >= by
	}
	return part(a.Cpu, b.Cpu) || part(a.Memory, b.Memory)
}
