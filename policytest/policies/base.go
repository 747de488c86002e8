// Package policies holds one small real policy for each optional part of the contract, so that the
// whole contract runs. They are also templates for authors: each is a page long and passes the
// conformance kit.
//
// None keeps state that a restart would lose, unless it has checkpoints: decisions follow from the
// view and the round.
package policies

import (
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// base is shared by the policies: a view, settings, Explain and Status. A policy's own part is
// decide.
type base struct {
	limits scheduler.Limits
	view.View
	about  scheduler.Description
	wait   time.Duration // the only setting, for the policies that wait
	decide func(scheduler.Round, *scheduler.Decisions)
	loaded func(scheduler.Snapshot) error // after the view has started; may be nil
}

// options are the settings of all these policies.
type options struct {
	Wait time.Duration `yaml:"wait"`
}

// waitDefault is the default wait of the policies that wait.
const waitDefault = 2 * time.Second

func parse(c scheduler.Config) (options, error) {
	o := options{Wait: waitDefault}
	if err := settings.Decode(c, &o); err != nil {
		return o, err
	}
	if o.Wait < 0 {
		return o, scheduler.Problems{settings.At(c, "wait", "must not be negative")}
	}
	return o, nil
}

// Check validates settings.
func (p *base) Check(c scheduler.Config) error {
	_, err := parse(c)
	return err
}

// Start takes over settings and snapshot.
func (p *base) Start(c scheduler.Config, s scheduler.Snapshot, e scheduler.Environment) (scheduler.Description, error) {
	o, err := parse(c)
	if err != nil {
		return scheduler.Description{}, err
	}
	p.wait, p.limits = o.Wait, e.Limits
	if err := p.View.Start(s); err != nil {
		return scheduler.Description{}, err
	}
	if p.loaded != nil {
		if err := p.loaded(s); err != nil {
			return scheduler.Description{}, err
		}
	}
	return p.about, nil
}

// AssignTasks applies the round to the view, judges settings, and decides.
func (p *base) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	var d scheduler.Decisions
	if err := p.Apply(r); err != nil {
		return d, err
	}
	for _, e := range r.Events {
		if s, ok := e.(scheduler.SettingChanged); ok {
			d.Settings = append(d.Settings, p.change(s))
		}
	}
	p.decide(r, &d)
	return d, nil
}

func (p *base) change(s scheduler.SettingChanged) scheduler.SettingsVerdict {
	o, err := parse(s.Config)
	if err == nil {
		p.wait = o.Wait
	}
	return settings.Verdict(s, err)
}

// Explain counts a job's ready bundles and live attempts.
func (p *base) Explain(id scheduler.JobID) (scheduler.Explanation, error) {
	j := p.Job(id)
	if j == nil {
		return scheduler.Explanation{}, fmt.Errorf("%w: %s", scheduler.ErrUnknownJob, id)
	}
	x := scheduler.Explanation{Detail: fmt.Sprintf("%d bundles may start, %d attempts are live", j.LaunchableCount(), len(j.Attempts()))}
	if j.LaunchableCount() > 0 {
		x.Reason = scheduler.WaitNoCapacity
	}
	return x, nil
}

// Status shows one pool.
func (p *base) Status() (scheduler.Status, error) {
	return scheduler.Status{Pools: []scheduler.PoolStatus{{Name: p.about.Name, Weight: 1, Jobs: len(p.Jobs())}}}, nil
}

// Terminate ends the policy; it holds nothing.
func (p *base) Terminate() {}

// fill launches all that fits, job by job, and returns the first bundle that does not fit, or nil.
func (p *base) fill(jobs []*view.Job, d *scheduler.Decisions) (unfit *view.Bundle) {
	for _, j := range jobs {
		for b := range j.Launchable("", 0).All() {
			if where, ok := p.Fit(b); ok {
				d.Launch = append(d.Launch, p.Launch(b, where))
			} else if unfit == nil && !b.SpeculationOffered {
				unfit = b
			}
		}
	}
	return unfit
}

// byPriority returns the live jobs, the most urgent first, then in order of id.
func (p *base) byPriority() []*view.Job {
	jobs := slices.Clone(p.Jobs())
	slices.SortStableFunc(jobs, func(a, b *view.Job) int { return int(b.Info.Priority) - int(a.Info.Priority) })
	return jobs
}

// tick is the period in which a preempting policy looks for victims. It does so at wake-ups only,
// because each refusal is an event and makes another round.
const tick = time.Second

// nextTick is the first whole tick after now.
func (p *base) nextTick() scheduler.Time {
	return (p.Now()/scheduler.Time(tick) + 1) * scheduler.Time(tick)
}

func woken(r scheduler.Round) bool {
	return slices.ContainsFunc(r.Events, func(e scheduler.Event) bool { _, ok := e.(scheduler.TimePassed); return ok })
}

// expecting reports whether slots are being preempted for a job, or reserved for it.
func (p *base) expecting(job scheduler.JobID) bool {
	if p.Capacity.Reserved(job) {
		return true
	}
	for _, j := range p.Jobs() {
		for _, a := range j.Attempts() {
			if a.Leaving == job {
				return true
			}
		}
	}
	return false
}

// victimsFor adds victims, in their order, until the bundle fits, and returns them with its
// placement. It leaves the view unchanged.
func (p *base) victimsFor(b *view.Bundle, candidates []*view.Attempt, suspend bool) ([]scheduler.AttemptID, []scheduler.LauncherID) {
	mark := p.Capacity.Mark()
	defer p.Capacity.Undo(mark)
	var victims []scheduler.AttemptID
	for _, a := range candidates {
		l := p.Launcher(a.Launcher)
		if l == nil || l.Closed() || slices.Contains(b.Avoid, l.ID) {
			continue
		}
		if suspend && !p.Capacity.MaySuspend([]*view.Attempt{a}, p.limits) {
			continue
		}
		p.Capacity.Release(a, suspend)
		victims = append(victims, a.ID)
		if where, ok := p.Fit(b); ok {
			return victims, where
		}
	}
	return nil, nil
}

// takeable are the jobs' running single-group attempts that may be preempted now, youngest first.
func (p *base) takeable(jobs []*view.Job) []*view.Attempt {
	var all []*view.Attempt
	for _, j := range jobs {
		for _, a := range j.Attempts() {
			if a.State == view.Running && a.Leaving == 0 && !a.Stopping && a.ProtectedUntil() <= p.Now() && len(a.Bundle.Groups) == 1 {
				all = append(all, a)
			}
		}
	}
	slices.SortFunc(all, func(a, b *view.Attempt) int { return int(b.ID) - int(a.ID) })
	return all
}
