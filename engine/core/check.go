package core

import (
	"github.com/hamadryad/hamadryad/engine/core/life"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Check looks for what must never be: it recounts all that the core counts as it
// goes. It costs as much as there is state, and is for tests and simulations.
func (c *Core) Check() error {
	if err := c.life.Check(); err != nil {
		return err
	}
	return c.capacity.Check(c.step.Now, c.life.Holdings)
}

// World is the state as a policy should see it after it was told all: what is
// held against a view. Offers are those that were told last.
func (c *Core) World() view.World {
	var w view.World
	for _, id := range c.life.Launchers.IDs() {
		if l := c.life.Launchers.Get(id); l.Up {
			load := c.events.ToldLoad(l)
			w.Launchers = append(w.Launchers, view.WorldLauncher{
				ID: id, Draining: l.Draining, Slots: l.Slots(), Memory: l.Memory(), Offer: l.Told(), CPULoad: load.CPU(), MemoryLoad: load.Memory(),
			})
		}
	}
	for _, id := range c.life.Jobs.IDs() {
		if j := c.life.Jobs.Get(id); j.Phase() != life.JobAsked {
			w.Jobs = append(w.Jobs, j.World())
		}
	}
	return w
}
