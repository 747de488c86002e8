package outbound

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// LoadReport records the load of a launcher's machine.
func (ev *PolicyEvents) LoadReport(l *state.Launcher, m *wire.MachineLoad) {
	if l.SetLoad(resources.NewLoad(m.Cpu, m.Memory)) && ev.policy.Has(scheduler.AbilityLoad) {
		ev.policy.Notify(l.LoadEvent(ev.step.Now))
	}
}

// NotifyLoads sends the known loads to a policy that begins to want them. A policy that wanted them
// before, and then did not, may have to learn that a load is no longer known.
func (ev *PolicyEvents) NotifyLoads(again bool) {
	if !ev.policy.Has(scheduler.AbilityLoad) {
		return
	}
	for _, id := range ev.state.Launchers.IDs() {
		if l := ev.state.Launchers.Get(id); l.Up && (again || l.Load() != (resources.Load{})) {
			ev.policy.Notify(l.LoadEvent(ev.step.Now))
		}
	}
}

// NotifiedLoad returns the load that the policy knows.
func (ev *PolicyEvents) NotifiedLoad(l *state.Launcher) resources.Load {
	if ev.policy.Has(scheduler.AbilityLoad) {
		return l.Load()
	}
	return resources.Load{}
}
