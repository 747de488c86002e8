package fair

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Policy is the fair policy. The zero value is ready for Check and Start.
type Policy struct {
	options options
	env     scheduler.Environment
	parts   parts
	limits  locality.Limits
	// timeouts says that some pool may take slots back.
	timeouts bool

	view  view.View
	world world
	busy  busy
	tree  *pooltree.Tree
	pools map[string]*pool // by path; all but the root
	jobs  map[scheduler.JobID]*job

	// What changed since the tree was last brought up to date.
	dirty   []*job
	limiter limiter
	alarms  alarms // weights that change by themselves

	// What a round leaves for the next.
	touched []*job // whose standing is tentative
	visited []*job // asked in vain
	before  []*job // visited in the round before
	waits   map[scheduler.JobID]*job
	changed []*job // brought up to date in this round
	expects expectations
	stale   bool // the memory may have changed since it was saved
	memory  memory

	opener OpenTrace // nil: no trace can be granted
	trace  *tracer
}

// parts are those that are chosen by name.
type parts struct {
	selector TaskSelector
	load     LoadManager
	weight   WeightAdjuster
}

var _ scheduler.TaskScheduler = (*Policy)(nil)

// New returns a fair policy that can be granted no trace.
func New() scheduler.TaskScheduler { return &Policy{} }

// Traced makes fair policies whose traces are opened by a plug-in's shell.
func Traced(open OpenTrace) func() scheduler.TaskScheduler {
	return func() scheduler.TaskScheduler { return &Policy{opener: open} }
}

// Check validates settings and the allocation file.
func (p *Policy) Check(c scheduler.Config) error {
	_, err := parse(c)
	return err
}

// Start takes over settings and world. A trace file that was granted and cannot be
// opened is an error.
func (p *Policy) Start(c scheduler.Config, s scheduler.Snapshot, e scheduler.Environment) (scheduler.Description, error) {
	o, err := parse(c)
	if err != nil {
		return scheduler.Description{}, err
	}
	*p = Policy{env: e, view: p.view, opener: p.opener, trace: p.trace}
	if err := p.view.Start(s); err != nil {
		return scheduler.Description{}, err
	}
	p.waits = map[scheduler.JobID]*job{}
	p.memory = newMemory(s.Now)
	p.memory.load(s.Checkpoint)
	if err := p.configure(o); err != nil {
		return scheduler.Description{}, err
	}
	return scheduler.Description{Name: "fair", Version: "1", Abilities: o.abilities()}, nil
}

// abilities is what the policy can do. It wants to be asked about submissions only
// where it may refuse some, because nobody gets in while a policy that is asked is down,
// and to be told of loads only where it looks at them, because they cost rounds.
func (o *options) abilities() scheduler.Ability {
	able := scheduler.AbilityCheckpoint
	if o.undeclared == undeclaredRefuse {
		able |= scheduler.AbilityAdmission
	}
	if o.loadManager == loadOfMachines {
		able |= scheduler.AbilityLoad
	}
	return able
}

// configure takes over settings and builds all that follows from them.
func (p *Policy) configure(o options) error {
	if err := p.openTrace(o); err != nil {
		return err
	}
	p.options, p.timeouts = o, o.alloc.anyTimeout()
	if o.undeclared != undeclaredRefuse {
		clear(p.memory.Undeclared) // and stay where they get now, should that change again
	}
	p.parts = parts{selectors[o.selector](&o), loadManagers[o.loadManager](&o), adjusters[o.adjuster](&o)}
	p.busy.start(p.parts.load, &p.view)
	p.limits = locality.Automatic(p.env.Heartbeat)
	if o.nodeDelay != automatic {
		p.limits.Node = o.nodeDelay
	}
	if o.rackDelay != automatic {
		p.limits.Rack = o.rackDelay
	}
	if o.locality != localityDelay {
		p.limits = locality.Limits{}
	}
	p.rebuild()
	return nil
}

// AssignTasks decides one round: it takes in what happened, computes shares when
// an update is due, fills slots and takes some back.
func (p *Policy) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	var d scheduler.Decisions
	before := p.view.Now()
	if err := p.take(r, &d); err != nil {
		return d, err
	}
	now := p.view.Now()
	if crossed(before, now, p.options.updateEvery) {
		p.update()
	}
	p.assign(&d)
	if crossed(before, now, p.options.preemptEvery) {
		p.preempt(&d)
	}
	p.explainWaits(&d)
	p.wake(&d)
	p.remember(&d, crossed(before, now, p.options.updateEvery))
	p.trace.round(p, r, &d)
	return d, nil
}

// crossed says whether a multiple of an interval lies between two times. What is
// periodic is done in the first round after each multiple, so that a policy that
// was restarted does it in the same rounds.
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
	for _, j := range p.touched {
		p.mark(j)
	}
	p.touched = p.touched[:0]
	for i := range r.Events {
		p.event(r.Events[i], d)
	}
	for _, e := range p.view.Ended() {
		p.mark(ours(e.Job()))
	}
	p.world.offers(&p.view, r.Offers)
	p.expects.settle(p)
	p.sync()
	return nil
}

func (p *Policy) event(e scheduler.Event, d *scheduler.Decisions) {
	switch e := e.(type) {
	case scheduler.LauncherJoined:
		p.world.event(e)
		p.busy.changed(&p.view, e.Launcher)
	case scheduler.LauncherLost:
		p.world.event(e)
		p.busy.changed(&p.view, e.Launcher)
	case scheduler.LauncherDraining:
		p.world.event(e)
	case scheduler.LauncherLoad:
		p.busy.changed(&p.view, e.Launcher)
	case scheduler.JobSubmitted:
		p.addJob(p.view.Job(e.Job.ID))
	case scheduler.JobUpdated:
		p.moveJob(p.jobs[e.Job])
	case scheduler.JobFinished:
		p.removeJob(p.jobs[e.Job])
	case scheduler.BundleReady:
		p.mark(p.jobs[e.Job])
	case scheduler.BundleWithdrawn:
		p.mark(p.jobs[e.Job])
	case scheduler.BundleWantedTwice:
		p.mark(p.jobs[e.Job])
	case scheduler.AttemptSuspended:
		p.markAttempt(e.Attempt)
	case scheduler.AttemptResumed:
		p.markAttempt(e.Attempt)
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
			p.mark(ours(b.Job))
		}
	case scheduler.DecisionPreempt:
		p.preempted(e)
	}
}

// admit refuses jobs whose pool is not declared, when that is what the site wants.
func (p *Policy) admit(j scheduler.Job, d *scheduler.Decisions) {
	if to := p.options.place(&j, true); to.refused != "" {
		d.Refuse = append(d.Refuse, scheduler.Refuse{Job: j.ID, Reason: fmt.Sprintf(
			"pool %q is not declared: consider adding the pool to the allocation file, or ask for one of %v", to.refused, p.options.alloc.open())})
		return
	}
	d.Admit = append(d.Admit, scheduler.Admit{Job: j.ID})
}

// open lists the declared pools that take jobs.
func (a *allocations) open() []string {
	var all []string
	for _, p := range a.sorted() {
		if p.declared && !p.inner {
			all = append(all, p.path)
		}
	}
	return all
}

// change takes over a new version of the settings, or says what is wrong with it.
func (p *Policy) change(s scheduler.SettingChanged) scheduler.SettingsVerdict {
	o, err := parse(s.Config)
	if err == nil {
		err = p.configure(o)
	}
	v := settings.Verdict(s, err)
	if err == nil {
		v.Abilities = o.abilities()
	}
	return v
}

// wake asks for a round at the next time at which something is due by itself: a
// job may take slots further away, or a pool may have been starved for too long.
func (p *Policy) wake(d *scheduler.Decisions) {
	now := p.view.Now()
	sooner := func(t scheduler.Time) {
		if d.WakeAt == 0 || t < d.WakeAt {
			d.WakeAt = t
		}
	}
	for _, j := range p.visited {
		if t, more := j.wait.Next(now, p.limits); more {
			sooner(max(t, now+1))
		}
	}
	if p.options.preemption != preemptOff && p.timeouts {
		for _, k := range p.world.order {
			if p.tree.Next(k) != nil {
				every := scheduler.Time(p.options.updateEvery)
				sooner((now/every + 1) * every)
				return
			}
		}
	}
}

// Terminate ends the policy and closes its trace.
func (p *Policy) Terminate() {
	p.trace.close()
	p.trace = nil
}
