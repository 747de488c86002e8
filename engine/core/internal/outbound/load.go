package outbound

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// LoadReport takes in how busy a launcher's machine is now.
func (ev *PolicyEvents) LoadReport(l *state.Launcher, m *wire.MachineLoad) {
	if l.SetLoad(resources.NewLoad(m.Cpu, m.Memory)) && ev.policy.Has(scheduler.AbilityLoad) {
		ev.policy.Notify(l.LoadEvent(ev.step.Now))
	}
}

// NotifyLoads tells a policy that begins to want loads what is known. One that was
// told before, and then did without, may have to hear that something no longer is.
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

// NotifiedLoad is the load that the policy knows of.
func (ev *PolicyEvents) NotifiedLoad(l *state.Launcher) resources.Load {
	if ev.policy.Has(scheduler.AbilityLoad) {
		return l.Load()
	}
	return resources.Load{}
}
