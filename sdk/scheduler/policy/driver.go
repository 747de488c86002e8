package policy

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/preemption"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// driver is a Policy that runs.
type driver[O, S any] struct {
	policy  Policy[O, S]
	env     scheduler.Environment
	view    view.View
	options O
	state   S
	current Pass[O, S]

	delays   map[scheduler.JobID]locality.Wait // of LaunchNear; jobs without an entry have not waited
	leaving  preemption.Leaving
	stopping preemption.Leaving // by this pass, in its order
	saved    []byte             // the last checkpoint
	encoded  []byte             // the state in it
	own      bool               // delays or leaving changed since then

	passes  uint64 // how many there were
	jobs    map[scheduler.JobID]*record
	records []*record // those of jobs, in order of job
	told    int       // records that are told
	order   []*record // of jobs that wait, as the last pass asked for them
	another []*record // the memory of the order before
}

var _ scheduler.TaskScheduler = (*driver[None, None])(nil)

// pageDriver is the driver of a policy with pages.
type pageDriver[O, S any] struct{ *driver[O, S] }

// Page implements scheduler.PageHandler.
func (d *pageDriver[O, S]) Page(asked scheduler.PageAsked) (scheduler.Answer, error) {
	return d.policy.Page(d.newLook(), asked)
}

// Check implements scheduler.TaskScheduler.
func (d *driver[O, S]) Check(c scheduler.Config) error {
	_, err := d.policy.read(c)
	return err
}

// Start implements scheduler.TaskScheduler.
func (d *driver[O, S]) Start(c scheduler.Config, s scheduler.Snapshot, env scheduler.Environment) (scheduler.Description, error) {
	var err error
	if d.options, err = d.policy.read(c); err != nil {
		return scheduler.Description{}, err
	}
	if err := d.view.Start(s); err != nil {
		return scheduler.Description{}, err
	}
	var none S
	d.env, d.state, d.jobs, d.records, d.told, d.order = env, none, map[scheduler.JobID]*record{}, nil, 0, nil
	since := 0
	if d.recall(s.Checkpoint) {
		since = min(s.Since, len(s.Events))
	}
	d.own, d.leaving = true, d.leaving.Start(&d.view)
	if d.policy.Start != nil {
		p := d.pass(s.Events[since:])
		p.endedBefore = endedIn(s.Events[:since])
		if err := d.policy.Start(p); err != nil {
			return scheduler.Description{}, err
		}
	}
	about := scheduler.Description{Name: d.policy.Name, Version: d.policy.Version}
	about.Abilities, about.ProgressEvery = d.policy.abilities(&d.options)
	return about, nil
}

// endedIn counts the ends of attempts.
func endedIn(events []scheduler.Event) (n int) {
	for _, e := range events {
		if _, is := e.(scheduler.AttemptEnded); is {
			n++
		}
	}
	return n
}

// AssignTasks implements scheduler.TaskScheduler.
func (d *driver[O, S]) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	if err := d.view.Apply(r); err != nil {
		return scheduler.Decisions{}, err
	}
	d.forget(r.Events)
	p := d.pass(r.Events)
	for _, e := range r.Events {
		p.handleEvent(e)
	}
	if err := d.policy.Assign(p); err != nil {
		return scheduler.Decisions{}, err
	}
	if x := &p.decisions; d.policy.Ahead && len(x.Preempt)+len(x.Resume)+len(x.Reserve) == 0 {
		x.Launch = d.view.LaunchAhead(x.Launch, p.next, nil)
	}
	p.dropReservations()
	p.stopDelays()
	p.decisions.WakeAt = p.wake
	if !d.policy.Reports {
		p.giveReasons()
	}
	if err := d.remember(&p.decisions); err != nil {
		return scheduler.Decisions{}, err
	}
	return p.decisions, nil
}

// forget drops what is kept of jobs and attempts that ended.
func (d *driver[O, S]) forget(events []scheduler.Event) {
	for _, e := range events {
		if x, is := e.(scheduler.JobFinished); is {
			d.drop(x.Job)
			d.setDelay(x.Job, locality.Wait{})
		}
	}
	before := d.leaving
	d.stopping = nil
	d.leaving = d.leaving.After(&d.view, events)
	d.own = d.own || !slices.Equal(before, d.leaving)
}

// setDelay notes a job's delay for locality.
func (d *driver[O, S]) setDelay(job scheduler.JobID, w locality.Wait) {
	if d.delays[job] == w {
		return
	}
	d.own = true
	if w == (locality.Wait{}) {
		delete(d.delays, job)
	} else {
		d.delays[job] = w
	}
}

// handleEvent handles an event that is for the policy itself.
func (p *Pass[O, S]) handleEvent(e scheduler.Event) {
	f := &p.driver.policy
	switch e := e.(type) {
	case scheduler.SettingChanged:
		o, err := f.read(e.Config)
		v := settings.Verdict(e, err)
		if err == nil {
			p.driver.options, p.changed = o, true
			if f.Abilities != nil {
				v.Abilities, v.ProgressEvery = f.abilities(&o)
			}
		}
		p.decisions.Settings = append(p.decisions.Settings, v)
	case scheduler.AdmissionAsked:
		p.judge(e.Job)
	case scheduler.Requested:
		a := scheduler.Answer{Status: 404, ContentType: "text/plain", Body: []byte("the policy takes no requests\n")}
		if f.Request != nil {
			a = f.Request(p, e)
		}
		a.Request = e.Request
		p.decisions.Answers = append(p.decisions.Answers, a)
	case scheduler.Noted:
		if f.Note != nil {
			f.Note(p, e.Note)
		}
	}
}

// judge admits or refuses a submission.
func (p *Pass[O, S]) judge(job scheduler.Job) {
	pool, refusal := "", ""
	if f := p.driver.policy.Admit; f != nil {
		pool, refusal = f(p, job)
	}
	if refusal != "" {
		p.decisions.Refuse = append(p.decisions.Refuse, scheduler.Refuse{Job: job.ID, Reason: refusal})
		return
	}
	p.decisions.Admit = append(p.decisions.Admit, scheduler.Admit{Job: job.ID, Pool: pool})
}

// Explain implements scheduler.TaskScheduler.
func (d *driver[O, S]) Explain(id scheduler.JobID) (scheduler.Explanation, error) {
	j := d.view.Job(id)
	if j == nil {
		return scheduler.Explanation{}, fmt.Errorf("%w: %s", scheduler.ErrUnknownJob, id)
	}
	if d.policy.Explain != nil {
		return d.policy.Explain(d.newLook(), j), nil
	}
	return d.newLook().Explain(j), nil
}

// Status implements scheduler.TaskScheduler.
func (d *driver[O, S]) Status() (scheduler.Status, error) {
	if d.policy.Status != nil {
		return d.policy.Status(d.newLook()), nil
	}
	return d.newLook().Status(), nil
}

// Terminate implements scheduler.TaskScheduler.
func (d *driver[O, S]) Terminate() {}

func (d *driver[O, S]) newLook() Look[O, S] { return Look[O, S]{d} }

// pass begins a pass, in the memory of the one before.
func (d *driver[O, S]) pass(events []scheduler.Event) *Pass[O, S] {
	p := &d.current
	if p.delayed == nil {
		p.delayed = map[scheduler.JobID]bool{}
	}
	clear(p.delayed)
	d.passes++
	order := d.another[:0] // the last pass's is shown until this one ends
	*p = Pass[O, S]{Look: d.newLook(), events: events, delayed: p.delayed, order: order}
	return p
}
