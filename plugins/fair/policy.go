package fair

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/plugins/fair/allocation"
	"github.com/hamadryad/hamadryad/plugins/fair/placement"
	"github.com/hamadryad/hamadryad/plugins/fair/preemption"
	"github.com/hamadryad/hamadryad/plugins/fair/shares"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Policy is the fair policy. The zero value is ready for Check and Start. It runs the order of a
// round. Three parts with a state of their own make the decisions.
type Policy struct {
	config *allocation.Config
	env    scheduler.Environment

	view       view.View
	shares     shares.State
	placement  placement.State
	preemption preemption.State

	saved []byte // the last saved memory
	text  []byte // buffer for details, reused

	opener OpenTrace // nil: no trace can be granted
	trace  *tracer
}

var _ scheduler.TaskScheduler = (*Policy)(nil)

// New returns a fair policy that can be granted no trace.
func New() scheduler.TaskScheduler { return &Policy{} }

// Traced makes fair policies whose traces the plug-in's shell opens.
func Traced(open OpenTrace) func() scheduler.TaskScheduler {
	return func() scheduler.TaskScheduler { return &Policy{opener: open} }
}

// parse reads settings, which may name what the registries have.
func parse(c scheduler.Config) (allocation.Config, error) {
	return allocation.Parse(c, allocation.Parts{
		Selectors: placement.Selectors.Names(), LoadManagers: placement.LoadManagers.Names(), Adjusters: shares.WeightAdjusters.Names(),
	})
}

// Check validates settings and the allocation file.
func (p *Policy) Check(c scheduler.Config) error {
	_, err := parse(c)
	return err
}

// Start takes over settings and world. A trace file that was granted and cannot be
// opened is an error.
func (p *Policy) Start(c scheduler.Config, s scheduler.Snapshot, e scheduler.Environment) (scheduler.Description, error) {
	config, err := parse(c)
	if err != nil {
		return scheduler.Description{}, err
	}
	*p = Policy{env: e, view: p.view, opener: p.opener, trace: p.trace}
	if err := p.view.Start(s); err != nil {
		return scheduler.Description{}, err
	}
	if err := p.openTrace(&config); err != nil {
		return scheduler.Description{}, err
	}
	p.shares.Trace = func(event string, j *shares.Job) { p.trace.job(p, event, j) }
	p.shares.Start(&p.view, e.Kinds)
	p.placement.Start(&p.shares, p.preemption.Urgent)
	p.preemption.Start(&p.shares, e.Limits)
	p.configure(&config, p.recall(s.Now, s.Checkpoint))
	for _, l := range p.view.Launchers() {
		p.preemption.Joined(l.NoSuspend)
	}
	for _, e := range s.Events[s.Since:] { // events after the checkpoint
		switch e := e.(type) {
		case scheduler.AttemptSuspended:
			p.preemption.Done(e.Attempt)
		case scheduler.SuspensionFailed:
			p.preemption.Done(e.Attempt)
		}
	}
	return scheduler.Description{Name: "fair", Version: "1", Abilities: abilities(&config)}, nil
}

// abilities returns what the policy can do. It judges submissions only if it may refuse some, or
// change their pool. It receives loads only if it uses them. Both cost rounds. A check for misspelt
// pools is advice: while the policy is down, jobs come in without it. A changed pool is not advice:
// the manager must know it, to check who may submit there.
func abilities(c *allocation.Config) scheduler.Ability {
	able := scheduler.AbilityCheckpoint | scheduler.AbilityAhead
	switch {
	case c.Elsewhere(), c.Undeclared == allocation.UndeclaredRefuse:
		able |= scheduler.AbilityAdmission
	case c.Undeclared == allocation.UndeclaredOwn:
		able |= scheduler.AbilityAdmission | scheduler.AbilityAdvisoryAdmission
	}
	if placement.LooksAtLoads(c) {
		able |= scheduler.AbilityLoad
	}
	return able
}

// configure applies settings, and rebuilds everything that depends on them, the view and the
// memory.
func (p *Policy) configure(c *allocation.Config, m remembered) {
	p.config = c
	p.shares.Rebuild(c)
	p.preemption.Configure()
	p.placement.Configure(p.env.Heartbeat, m.waits)
	p.shares.Sync()
	p.shares.Tree.Restore(m.orders)
	p.preemption.Restore(m.starved)
}

// AssignTasks decides one round: it processes the events, computes shares when an update is due,
// fills slots and preempts.
func (p *Policy) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	var d scheduler.Decisions
	before := p.view.Now()
	if err := p.take(r, &d); err != nil {
		return d, err
	}
	now := p.view.Now()
	preempt := crossed(before, now, p.config.PreemptEvery)
	update := preempt || crossed(before, now, p.config.UpdateEvery) // a restarted policy has no shares of an earlier round
	if update {
		p.preemption.Update()
		p.trace.update(p)
	}
	var placed []placement.Placed
	d.Launch, placed = p.placement.Assign(p.trace.on())
	p.trace.placed(p, placed)
	if preempt {
		p.preempt(&d)
	}
	p.explainWaits(&d)
	if firm := len(d.Launch); len(d.Preempt) == 0 {
		d.Launch = p.view.LaunchAhead(d.Launch, nil, p.mayGoOn)
		p.trace.ahead(p, d.Launch[firm:])
	}
	p.wake(&d)
	p.remember(&d, update)
	p.trace.round(p, r, &d)
	return d, nil
}

// mayGoOn says whether a job may have as many slots as it holds. Maximum shares and other limits can be lowered below that.
func (p *Policy) mayGoOn(v *view.Job) bool {
	j := shares.Of(v)
	if !j.Runnable {
		return false
	}
	for _, k := range p.shares.World.Order {
		if j.Node.Has(k) && j.Node.Of(k).AtMax(0) {
			return false
		}
	}
	return true
}

// crossed says whether a multiple of an interval lies between two times. Periodic work is done
// in the first round after each multiple, so that a restarted policy does it in the same rounds.
func crossed(before, now scheduler.Time, every time.Duration) bool {
	return now/scheduler.Time(every) > before/scheduler.Time(every)
}

// take brings view, jobs and tree up to date with a round. A round that is older
// than the one before it counts as of the same time.
func (p *Policy) take(r scheduler.Round, d *scheduler.Decisions) error {
	r.Now = max(r.Now, p.view.Now())
	if err := p.view.Apply(r); err != nil {
		return err
	}
	if p.view.LaunchersChanged() {
		p.shares.World.CountLaunchers(&p.view)
	}
	p.placement.Begin()
	for i := range r.Events {
		p.event(r.Events[i], d)
	}
	for _, e := range p.view.Ended() {
		p.shares.Mark(shares.Of(e.Job()))
	}
	p.shares.World.Offers(&p.view, r.Offers)
	p.preemption.UpdateExpected()
	p.shares.Sync()
	return nil
}

func (p *Policy) event(e scheduler.Event, d *scheduler.Decisions) {
	switch e := e.(type) {
	case scheduler.LauncherJoined:
		p.placement.Launcher(e.Launcher)
		p.preemption.Joined(e.NoSuspend)
	case scheduler.LauncherLost:
		p.placement.Launcher(e.Launcher)
	case scheduler.LauncherLoad:
		p.placement.Launcher(e.Launcher)
	case scheduler.JobSubmitted:
		p.shares.Add(p.view.Job(e.Job.ID))
	case scheduler.JobUpdated:
		p.shares.Move(e.Job)
	case scheduler.JobFinished:
		p.shares.Remove(e.Job)
		p.placement.Forget(e.Job)
	case scheduler.StageGrown:
		p.shares.Grown(e.Job)
	case scheduler.BundleReady:
		p.shares.Mark(p.shares.Jobs[e.Job])
	case scheduler.BundleWithdrawn:
		p.shares.Mark(p.shares.Jobs[e.Job])
	case scheduler.SpeculationOffered:
		p.shares.Mark(p.shares.Jobs[e.Job])
	case scheduler.SpeculationWithdrawn:
		p.shares.Mark(p.shares.Jobs[e.Job])
	case scheduler.AttemptTookSlots:
		p.shares.MarkAttempt(e.Attempt)
	case scheduler.AttemptSuspended:
		p.shares.MarkAttempt(e.Attempt)
		p.preemption.Done(e.Attempt)
	case scheduler.SuspensionFailed:
		p.shares.MarkAttempt(e.Attempt)
		p.preemption.Done(e.Attempt)
	case scheduler.AttemptResumed:
		p.shares.MarkAttempt(e.Attempt)
	case scheduler.Outcome:
		p.outcome(e)
	case scheduler.SettingChanged:
		d.Settings = append(d.Settings, p.change(e))
	case scheduler.AdmissionAsked:
		p.admit(e.Job, d)
	}
}

func (p *Policy) outcome(e scheduler.Outcome) {
	switch e.Kind {
	case scheduler.DecisionLaunch:
		if b := p.view.Bundle(e.Launch.Bundle); b != nil {
			p.shares.Mark(shares.Of(b.Job))
		}
	case scheduler.DecisionPreempt:
		for _, id := range e.Preempt.Victims {
			p.shares.MarkAttempt(id) // a victim is not launched a second time any more
		}
		p.preemption.Outcome(e)
	}
}

// admit refuses jobs whose pool is not declared, if the site wants that. For other jobs it
// returns their pool.
func (p *Policy) admit(j scheduler.Job, d *scheduler.Decisions) {
	to := p.config.Place(&j, true)
	if to.Refused != "" {
		d.Refuse = append(d.Refuse, scheduler.Refuse{Job: j.ID, Reason: p.config.Refusal(to.Refused)})
		return
	}
	d.Admit = append(d.Admit, scheduler.Admit{Job: j.ID, Pool: to.Pool.Path})
}

// change applies a new version of the settings, or returns its problems.
func (p *Policy) change(s scheduler.SettingChanged) scheduler.SettingsVerdict {
	config, err := parse(s.Config)
	if err == nil {
		err = p.openTrace(&config)
	}
	v := settings.Verdict(s, err)
	if err == nil {
		if !abilities(&config).Has(scheduler.AbilityLoad) {
			p.view.ForgetLoads() // no event updates them any more
		}
		p.configure(&config, remembered{orders: p.shares.Tree.Memory(), starved: p.preemption.List()})
		v.Abilities = abilities(&config)
	}
	return v
}

// preempt takes slots back, or in a dry run only names the victims.
func (p *Policy) preempt(d *scheduler.Decisions) {
	for _, s := range p.preemption.Preempt() {
		p.trace.preempt(p, &s)
		if p.config.DryRun {
			d.Notes = append(d.Notes, scheduler.Note{
				Name: "fair/preemption-dry-run",
				Body: fmt.Appendf(nil, "pool %s: would %s attempts %v for %v of %s",
					s.Pool.Spec.Path, s.Preempt.Mode, s.Preempt.Victims, s.Preempt.Bundle, s.Job.ID()),
			})
			continue
		}
		p.placement.PassOver(s.Job, scheduler.WaitPreempting)
		d.Preempt = append(d.Preempt, s.Preempt)
	}
}

// wake requests a round for the time of the next event without a cause: a job may go further
// from its input, or a pool has been starved for too long.
func (p *Policy) wake(d *scheduler.Decisions) {
	d.WakeAt = p.placement.NextWake()
	if !p.preemption.May() {
		return
	}
	for _, k := range p.shares.World.Order {
		if !p.shares.Tree.Waits(k) {
			continue
		}
		every := scheduler.Time(p.config.UpdateEvery)
		if at := (p.view.Now()/every + 1) * every; d.WakeAt == 0 || at < d.WakeAt {
			d.WakeAt = at
		}
		return
	}
}

// Terminate ends the policy and closes its trace.
func (p *Policy) Terminate() {
	p.trace.close()
	p.trace = nil
}
