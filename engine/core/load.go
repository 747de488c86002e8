package core

import (
	"github.com/hamadryad/hamadryad/engine/core/codec"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// machineLoad is how busy a launcher's machine is, as it was heard of last. The
// shell passes on only changes that are worth a place in the log, and only while
// the policy wants them; what was heard is kept for the next one that does.
type machineLoad struct{ cpu, memory loadPart }

// loadPart is a part of a whole in thousandths, and one more: 0 is unknown.
type loadPart uint16

func newLoadPart(p *float64) loadPart {
	if p == nil || !(*p >= 0 && *p <= 1) { // not-a-number is neither
		return 0
	}
	return loadPart(*p*1000+0.5) + 1
}

func (p loadPart) part() float64 {
	if p == 0 {
		return scheduler.LoadUnknown
	}
	return float64(p-1) / 1000
}

// loadReport takes in how busy a launcher's machine is now.
func (c *Core) loadReport(l *launcher, m *wire.MachineLoad) {
	load := machineLoad{newLoadPart(m.Cpu), newLoadPart(m.Memory)}
	if load == l.load {
		return
	}
	l.load = load
	if c.policy.Has(scheduler.AbilityLoad) {
		c.policy.Tell(l.loadEvent(c.now))
	}
}

// tellLoads tells a policy that begins to want loads what is known. One that was
// told before, and then did without, may have to hear that something no longer is.
func (c *Core) tellLoads(again bool) {
	if !c.policy.Has(scheduler.AbilityLoad) {
		return
	}
	for _, id := range c.launchers.ids {
		if l := c.launchers.get(id); l.up && (again || l.load != (machineLoad{})) {
			c.policy.Tell(l.loadEvent(c.now))
		}
	}
}

func (l *launcher) loadEvent(at scheduler.Time) scheduler.LauncherLoad {
	return scheduler.LauncherLoad{At: at, Launcher: l.id, CPU: l.load.cpu.part(), Memory: l.load.memory.part()}
}

// toldLoad is the load that the policy knows of.
func (c *Core) toldLoad(l *launcher) machineLoad {
	if c.policy.Has(scheduler.AbilityLoad) {
		return l.load
	}
	return machineLoad{}
}

// loads came later, and older checkpoints end before them.
func codeLoads(w *codec.Codec, c *Core) {
	if w.Reading && w.Left() == 0 {
		return
	}
	for _, id := range c.launchers.ids {
		l := c.launchers.get(id)
		codec.Num(w, &l.load.cpu)
		codec.Num(w, &l.load.memory)
	}
}
