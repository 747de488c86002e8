package launchers

import (
	"math"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// sentLoad is the load of a launcher's machine that the core got last in
// one session. Every heartbeat has a load, and what goes to the core is logged, so
// only what matters does. The core's memory of a load lasts at least as long as a
// session, so what was reported need not be reported again, whatever policy runs.
type sentLoad struct {
	load *wire.MachineLoad // nil: nothing yet
	at   time.Time
}

// due says whether a load is to be reported now, and if so counts it as reported.
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

// changed says whether a part changed by so much, or became known or unknown.
func changed(a, b *wire.MachineLoad, by float64) bool {
	part := func(x, y *float64) bool {
		if x == nil || y == nil {
			return x != y
		}
		return math.Abs(*x-*y) >= by
	}
	return part(a.Cpu, b.Cpu) || part(a.Memory, b.Memory)
}
