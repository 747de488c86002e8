package core

import (
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// request has the policy asked for a page of its own.
func (c *Core) request(m *wire.PolicyRequest) {
	if id := c.policy.Request(&c.step, &c.ids.Request, m); id != 0 {
		c.step.After(c.step.Set.RequestTimeout, timerRequest, id)
	}
}

// settingsChange has the policy told of its new settings.
func (c *Core) settingsChange(m *wire.SettingsChange) {
	if c.policy.ChangeSettings(&c.step, m) {
		c.step.After(c.step.Set.SettingsTimeout, timerSettings, m.GetVersion())
	}
}

// settingsVerdict takes what the policy says of its new settings.
func (c *Core) settingsVerdict(v scheduler.SettingsVerdict) {
	heard := c.policy.Has(scheduler.AbilityLoad)
	if c.policy.Verdict(&c.step, v) {
		c.limitSuspensions()
		if !heard {
			c.tellLoads(true)
		}
	}
}
