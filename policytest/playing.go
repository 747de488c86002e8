package policytest

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Playing is a policy on the manager's core with simulated launchers, in virtual time, for tests of
// its decisions. The conformance kit checks the rules; the right order of jobs is known only to the
// policy's author.
//
//	p := policytest.Play(t, "preempt: true", func() *policy { return &policy{} })
//	p.Launchers(2, 4)
//	p.At(0, large)
//	p.At(10*time.Second, small)
//	p.Until(time.Hour)
//	if p.Sojourn[2] > 5*time.Second { ... }
//
// An attempt takes exactly its layer's Run, from its launch to its end. A job on free slots takes so long.
// An error of the policy and a decision that breaks the rules end the test. It belongs to the
// test's goroutine.
type Playing[P scheduler.TaskScheduler] struct {
	Cluster *cluster.Cluster
	// Policy is the policy that plays; Restart replaces it.
	Policy P
	// Environment is passed at the next start; at first it is the kit's.
	Environment scheduler.Environment
	Begin       scheduler.Time
	// Events and Decisions are the rounds' events and the answers, all since the beginning.
	Events    []scheduler.Event
	Decisions []scheduler.Decisions
	// Sojourn is the jobs' time from submission to end. Jobs are numbered from 1 in order of
	// arrival.
	Sojourn map[scheduler.JobID]time.Duration
	// Look, when not nil, is called after each answer, before it is applied.
	Look func(scheduler.Decisions)

	t     testing.TB
	fresh func() P
	came  map[scheduler.JobID]scheduler.Time
}

// Environment is the kit's environment for a policy that starts.
func Environment() scheduler.Environment { return Options{}.environment(1) }

// Play starts a policy with settings on a cluster of no launchers.
func Play[P scheduler.TaskScheduler](t testing.TB, settings string, fresh func() P) *Playing[P] {
	t.Helper()
	p := &Playing[P]{
		Cluster: cluster.New(1), Environment: Environment(), Sojourn: map[scheduler.JobID]time.Duration{},
		t: t, fresh: fresh, came: map[scheduler.JobID]scheduler.Time{},
	}
	p.Cluster.Exact = true
	p.Begin = p.Cluster.Now()
	about, err := p.start(settings, p.Cluster.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	p.Cluster.Started(about)
	return p
}

// Restart makes a new policy take over from a snapshot, with its predecessors' checkpoint.
func (p *Playing[P]) Restart(settings string) {
	p.t.Helper()
	p.takeOver(settings, true)
}

// Replace makes a new policy take over from a snapshot alone, as from another policy.
func (p *Playing[P]) Replace(settings string) {
	p.t.Helper()
	p.takeOver(settings, false)
}

func (p *Playing[P]) takeOver(settings string, checkpoint bool) {
	p.t.Helper()
	untold, err := p.Cluster.TakeOver(checkpoint, func(s scheduler.Snapshot) (scheduler.Description, error) { return p.start(settings, s) })
	if err != nil {
		p.t.Fatal(err)
	}
	p.note(untold)
}

func (p *Playing[P]) start(settings string, s scheduler.Snapshot) (scheduler.Description, error) {
	p.Policy = p.fresh()
	return p.Policy.Start(scheduler.Config{Text: []byte(settings)}, s, p.Environment)
}

// Checkpoint is the policy's checkpoint, with all appended parts; nil for none.
func (p *Playing[P]) Checkpoint() (all *scheduler.Checkpoint) {
	for _, d := range p.Decisions {
		if d.Checkpoint != nil {
			sum := d.Checkpoint.After(all)
			all = &sum
		}
	}
	return all
}

// Launchers joins launchers 1 to n, with the given slots of the default kind and plenty of memory.
func (p *Playing[P]) Launchers(n, slots int) {
	for id := scheduler.LauncherID(1); int(id) <= n; id++ {
		p.Cluster.Join(id, cluster.Rack(id), 1<<40, scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: slots})
	}
}

// At submits a job at a time from the beginning, which must not be past.
func (p *Playing[P]) At(d time.Duration, job cluster.Spec) {
	p.Cluster.After(p.Begin.Add(d).Sub(p.Cluster.Now()), func() { p.Cluster.Submit(job) })
}

// Until plays the rounds that are due up to a time from the beginning, which is the time afterwards.
func (p *Playing[P]) Until(d time.Duration) {
	p.t.Helper()
	for end := p.Begin.Add(d); p.Cluster.StepUntil(end); {
		p.Round()
	}
}

// Round plays the round that is due, after Cluster.Step.
func (p *Playing[P]) Round() scheduler.Decisions {
	p.t.Helper()
	r := p.Cluster.Round()
	d, err := p.Policy.AssignTasks(r)
	if err != nil {
		p.t.Fatal(err)
	}
	p.note(r.Events)
	p.Decisions = append(p.Decisions, d)
	if p.Look != nil {
		p.Look(d)
	}
	p.Cluster.Apply(r.Number, d)
	for _, f := range p.Cluster.Faults {
		p.t.Fatal(f)
	}
	return d
}

// note counts with events.
func (p *Playing[P]) note(events []scheduler.Event) {
	for _, e := range events {
		switch e := e.(type) {
		case scheduler.JobSubmitted:
			p.came[e.Job.ID] = e.At
		case scheduler.JobFinished:
			p.Sojourn[e.Job] = e.At.Sub(p.came[e.Job])
		}
	}
	p.Events = append(p.Events, events...)
}

// Outcomes counts how the attempts of a job ended.
func (p *Playing[P]) Outcomes(id scheduler.JobID) map[scheduler.AttemptOutcome]int {
	mine := map[scheduler.AttemptID]bool{}
	n := map[scheduler.AttemptOutcome]int{}
	for _, e := range p.Events {
		switch e := e.(type) {
		case scheduler.AttemptStarted:
			mine[e.Attempt] = e.Job == id
		case scheduler.AttemptEnded:
			if mine[e.Attempt] {
				n[e.Outcome]++
			}
		}
	}
	return n
}
