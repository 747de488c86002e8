package core

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Check looks for what must never be: it recounts all that the core counts as it
// goes. It costs as much as there is state, and is for tests and simulations.
func (c *Core) Check() error {
	if err := c.rooms.Life.Check(); err != nil {
		return err
	}
	return c.rooms.Capacity.Check(c.rooms.Step.Now, c.rooms.Life.Holdings)
}

// World is the state as a policy should see it after it was told all: what is
// held against a view. Offers are those that were told last.
func (c *Core) World() view.World {
	var w view.World
	for _, id := range c.rooms.Life.Launchers.IDs() {
		if l := c.rooms.Life.Launchers.Get(id); l.Up {
			load := c.rooms.Events.ToldLoad(l)
			w.Launchers = append(w.Launchers, view.WorldLauncher{
				ID: id, Draining: l.Draining, Blamed: l.Blamed, Slots: l.Slots(), Memory: l.Memory(), Swap: l.Swap(), Offer: l.Told(), CPULoad: load.CPU(), MemoryLoad: load.Memory(),
			})
		}
	}
	for _, id := range c.rooms.Life.Jobs.IDs() {
		if j := c.rooms.Life.Jobs.Get(id); j.Phase() != state.JobAsked {
			w.Jobs = append(w.Jobs, j.World())
		}
	}
	return w
}
