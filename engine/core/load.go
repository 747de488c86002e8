package core

import (
	"github.com/hamadryad/hamadryad/engine/core/capacity"
	"github.com/hamadryad/hamadryad/engine/core/codec"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// loadReport takes in how busy a launcher's machine is now.
func (c *Core) loadReport(l *launcher, m *wire.MachineLoad) {
	if l.SetLoad(capacity.NewLoad(m.Cpu, m.Memory)) && c.policy.Has(scheduler.AbilityLoad) {
		c.policy.Tell(l.LoadEvent(c.step.Now))
	}
}

// tellLoads tells a policy that begins to want loads what is known. One that was
// told before, and then did without, may have to hear that something no longer is.
func (c *Core) tellLoads(again bool) {
	if !c.policy.Has(scheduler.AbilityLoad) {
		return
	}
	for _, id := range c.launchers.IDs() {
		if l := c.launchers.Get(id); l.Up && (again || l.Load() != (capacity.Load{})) {
			c.policy.Tell(l.LoadEvent(c.step.Now))
		}
	}
}

// toldLoad is the load that the policy knows of.
func (c *Core) toldLoad(l *launcher) capacity.Load {
	if c.policy.Has(scheduler.AbilityLoad) {
		return l.Load()
	}
	return capacity.Load{}
}

// loads came later, and older checkpoints end before them.
func codeLoads(w *codec.Codec, c *Core) {
	if !w.Reading || w.Left() > 0 {
		c.capacity.CodeLoads(w)
	}
}
