package simulation

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/loop"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
)

// Change is what happens at a time of the workload beside submissions and failures of launchers, as
// in a recording. One of the pointers is set.
type Change struct {
	At time.Duration
	// Kill, Retry and Update are for the job of the workload with the index Job. Their job and client
	// are set when it happens; nothing happens to a job that has ended.
	Job    int
	Kill   *wire.KillJob
	Retry  *wire.RetryElements
	Update *wire.UpdateJob
	Drain  *wire.DrainLauncher
	// Switch is a change of the policy, and Settings one of the settings of the policy in force.
	Switch   *Switch
	Settings *wire.SettingsChange
	// UserLimits are the limits of users from then on.
	UserLimits *core.UserLimits
	// Failed is why the policy in force failed. No policy decides until the next switch.
	Failed string
}

// changesClient is the number of the caller of all changes, above those of clients.
const changesClient = 1 << 62

// planChanges schedules the changes of the options.
func (p *player) planChanges() {
	for i := range p.options.Changes {
		c := &p.options.Changes[i]
		p.At(beginning.Add(c.At), func() { p.change(c) })
	}
}

func (p *player) change(c *Change) {
	p.moved = p.Now()
	switch {
	case c.Kill != nil:
		if id := p.idOf(c.Job); id != 0 {
			p.Push(wire.NewInput(&wire.KillJob{Client: changesClient, Job: id, Principal: c.Kill.Principal, Reason: c.Kill.Reason, Elements: c.Kill.Elements}))
		}
	case c.Retry != nil:
		if id := p.idOf(c.Job); id != 0 {
			p.Push(wire.NewInput(&wire.RetryElements{Client: changesClient, Job: id, Principal: c.Retry.Principal, Elements: c.Retry.Elements}))
		}
	case c.Update != nil:
		if id := p.idOf(c.Job); id != 0 {
			p.Push(wire.NewInput(&wire.UpdateJob{Client: changesClient, Job: id, Principal: c.Update.Principal, Pool: c.Update.Pool, Priority: c.Update.Priority}))
		}
	case c.Drain != nil:
		p.Push(wire.NewInput(&wire.DrainLauncher{Client: changesClient, Name: c.Drain.Name, Principal: c.Drain.Principal, Drain: c.Drain.Drain}))
	case c.Switch != nil:
		p.policy.Switch(*c.Switch)
	case c.Settings != nil:
		p.Push(wire.NewInput(&wire.SettingsChange{Version: c.Settings.Version, Config: c.Settings.Config}))
	case c.UserLimits != nil:
		set := p.Core.Settings()
		set.UserLimits = *c.UserLimits
		p.Push(wire.NewInput(&wire.SiteSettings{Json: set.JSON()}))
	case c.Failed != "":
		p.policy.Fail(c.Failed)
	}
}

// idOf is the id of a job by its index in the workload; 0: it has not come, or has ended.
func (p *player) idOf(job int) uint64 {
	for id, r := range p.jobs {
		if r.place == job {
			return id
		}
	}
	return 0
}

// Switch is a change to another policy, or to other settings, while jobs run.
type Switch = loop.Switch

// userLimits are the limits of a cluster's description as settings of the core.
func userLimits(l cluster.UserLimits) core.UserLimits {
	limits := core.UserLimits{Each: userLimit(l.Each)}
	if len(l.Users) > 0 {
		limits.Users = map[string]core.UserLimit{}
	}
	for name, own := range l.Users {
		limits.Users[name] = userLimit(own)
	}
	return limits
}

func userLimit(l cluster.UserLimit) core.UserLimit {
	return core.UserLimit{Slots: l.Slots, Memory: int64(l.Memory), Resources: l.Resources}
}
