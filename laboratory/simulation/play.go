package simulation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/loop"
	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// beginning is the manager's time when the workload begins. Launchers join before it.
	beginning = scheduler.Time(1_000_000_000_000)
	joining   = time.Second
	// thinkMax bounds the real time to a policy's answer. The simulated time is Options.Think all
	// the same.
	thinkMax = time.Minute
	// cancelEvery is after how many events the context is looked at.
	cancelEvery = 1024
)

// Stalled is the error of a run in which jobs wait and nothing happens. Waiting explains some of
// them.
type Stalled struct {
	After   time.Duration
	Jobs    int
	Waiting []string
}

func (s *Stalled) Error() string {
	return fmt.Sprintf("after %v nothing happens any more, and %d jobs have not ended:\n%s", s.After, s.Jobs, strings.Join(s.Waiting, "\n"))
}

// player is one run.
type player struct {
	loop.Loop
	options   Options
	policy    loop.Policy
	cluster   simcluster.Cluster
	launchers []*simcluster.Launcher
	meters    map[*simcluster.Launcher]*meter
	asked     time.Duration // when the policy is asked for its status next
	clients   loop.Clients
	jobs      map[uint64]*running
	copies    func(job, stage, task int) []workload.Place // nil: input has no locations
	places    map[string]*wire.Place                      // last sent, by host
	outages   []cluster.Outage                            // pending
	next      int                                         // job to be submitted
	over      int
	held      int            // attempts with slots
	moved     scheduler.Time // when something happened last
	result    Result
	err       error
}

// running is a submitted job.
type running struct {
	simcluster.Job
	place     int        // in the workload
	tries     [][]uint32 // numbers of attempts begun, by stage and task
	done      [][]bool   // tasks with a finished attempt
	suspended map[uint64]bool
	since     map[uint64]scheduler.Time // attempts with slots
	busy      map[uint64]time.Duration
	near      map[uint64]nearness // of ended attempts whose end the manager does not know yet; nil: nobody asks
}

// key is the next attempt at a task. Tries are counted for the first task of each group.
func (r *running) key(n *wire.NodeRef) cluster.Key {
	return cluster.Key{Job: r.place, Stage: int(n.Stage), Task: int(n.Index), Try: int(r.tries[n.Stage][n.Index])}
}

// Play plays a workload under a policy, and closes the policy. The error is of invalid options, of
// a policy that broke the contract, *Stalled where work can never be done, or the context's.
func Play(ctx context.Context, o Options) (*Result, error) {
	defer o.Host.Close()
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	p := newPlayer(ctx, o)
	defer p.policy.Close()
	p.At(beginning.Add(-joining), p.begin)
	for n := 0; p.err == nil && p.over < len(o.Workload.Jobs); n++ {
		if n%cancelEvery == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !p.Next() || p.stands() {
			return nil, p.stalled()
		}
		if p.options.Status != nil && p.since(p.Now()) >= p.asked {
			p.askStatus(ctx)
		}
	}
	p.result.Core = p.Core.Stats()
	p.result.Rounds = p.result.Core.Rounds
	if p.err != nil {
		return nil, p.err
	}
	p.result.Uses = p.uses()
	result := p.result // a pointer into the player would keep the core and the whole run
	return &result, nil
}

func newPlayer(ctx context.Context, o Options) *player {
	set := core.DefaultSettings()
	set.AttemptsKept, set.NotesKept = 1, 1
	set.JobsMax, set.LaunchersMax = len(o.Workload.Jobs)+1, max(set.LaunchersMax, o.Cluster.Launchers())
	set.Graph.Nodes = max(set.Graph.Nodes, workload.TasksMax)
	set.Graph.GroupNodes, set.Graph.BundleGroups = max(set.Graph.GroupNodes, GangMax), max(set.Graph.BundleGroups, GangMax)
	set.PolicyLimits.RoundDeadline = thinkMax
	if beat := o.Cluster.Model.Heartbeat; beat > 0 {
		set.Heartbeat = beat
	}
	set.UserLimits = userLimits(o.Cluster.UserLimits)
	if o.Settings != nil {
		o.Settings(&set)
	}
	set.Simulated, set.Speculation, set.Seed = true, o.Cluster.Model.Speculation, o.Cluster.Seed
	p := &player{options: o, jobs: map[uint64]*running{}, places: map[string]*wire.Place{}, moved: beginning}
	p.Core = core.New(set)
	if o.Attempts != nil {
		p.Core.EnableChanges()
	}
	p.policy = loop.Policy{Loop: &p.Loop, Host: o.Host, Name: o.Name, Think: o.Think, Config: o.Config, Prompt: true}
	if o.ThinkAt != nil {
		p.policy.Thinks = func() time.Duration { return o.ThinkAt(p.since(p.Now())) }
	}
	p.clients = loop.Clients{Loop: &p.Loop, Ended: p.ended}
	p.cluster = simcluster.Cluster{Loop: &p.Loop, Job: p.job, Holds: p.holds, Ended: p.count, Wrong: p.fail}
	p.cluster.Links = simcluster.Links{Host: int64(o.Cluster.Model.Network.Host), Rack: int64(o.Cluster.Model.Network.Rack)}
	p.Gather = p.untilTick
	p.Act = func(a core.Action) {
		if err := p.act(ctx, a); err != nil {
			p.fail(err)
		}
	}
	p.Decide = func(b *wire.Batch) []core.Action {
		p.result.Steps++
		if o.Record != nil {
			if err := o.Record(p.Core, b); err != nil {
				p.fail(err)
			}
		}
		return p.Core.Step(b)
	}
	p.result.Jobs = make([]Job, len(o.Workload.Jobs))
	p.copies = o.Cluster.Copies()
	p.result.Slots = map[scheduler.SlotKind]int{}
	p.meters = map[*simcluster.Launcher]*meter{}
	return p
}

func (p *player) since(t scheduler.Time) time.Duration { return t.Sub(beginning) }

func (p *player) fail(err error) {
	if p.err == nil {
		p.err = fmt.Errorf("after %v: %w", p.since(p.Now()), err)
	}
}

// untilTick is the time to the next tick.
func (p *player) untilTick() time.Duration {
	if p.options.Tick == 0 {
		return 0
	}
	return (p.options.Tick - p.Now().Sub(beginning)%p.options.Tick) % p.options.Tick
}

// begin starts manager and policy and lets the launchers join.
func (p *player) begin() {
	p.Push(wire.NewInput(&wire.ManagerStart{Term: 1}))
	p.policy.Begin()
	hook := p.takes
	if p.options.Submissions == nil && !p.options.Workload.Fails() {
		hook = nil
	}
	joins := p.options.Cluster.Joins()
	for i, m := range p.options.Cluster.Machines() {
		for _, s := range m.Slots {
			p.result.Slots[s.Kind] += int(s.Count)
		}
		if joins[i] == 0 {
			l := p.cluster.Join(m)
			l.Takes = hook
			p.add(l, true)
			continue
		}
		l := p.cluster.Add(m, simcluster.Hooks{Takes: hook})
		l.Incarnation = 1
		p.add(l, false)
		p.At(beginning.Add(joins[i]), func() { p.comesBack(l) })
	}
	p.planOutages()
	p.planChanges()
	p.At(beginning, p.come)
}

// come submits the jobs that are due, and waits for the next.
func (p *player) come() {
	jobs := p.options.Workload.Jobs
	for p.next < len(jobs) && beginning.Add(jobs[p.next].Submit) <= p.Now() {
		p.submit(p.next)
		p.next++
	}
	if p.next < len(jobs) {
		p.At(beginning.Add(jobs[p.next].Submit), p.come)
	}
}

func (p *player) act(ctx context.Context, a core.Action) error {
	if c, ok := a.(core.Changes); ok {
		p.attemptsEnded(&c)
		return nil
	}
	if mine, err := p.policy.Act(ctx, a); mine {
		return err
	}
	if mine, err := p.clients.Act(a); mine {
		return err
	}
	if gone, ok := a.(core.PolicyGone); ok {
		return errors.New("the core gave the policy up: " + gone.Breach)
	}
	p.cluster.Act(a)
	return nil
}

// submit submits a job.
func (p *player) submit(i int) {
	j := &p.options.Workload.Jobs[i]
	spec, finish := p.submission(i, j)
	set := p.Core.Settings()
	expanded, err := graph.Expand(spec.Graph, set.MemoryDefault, set.Graph)
	if err != nil {
		p.fail(fmt.Errorf("job %s: %w", j.ID, err))
		return
	}
	r := &running{place: i, suspended: map[uint64]bool{}, since: map[uint64]scheduler.Time{}, busy: map[uint64]time.Duration{}}
	r.Graph = expanded
	if p.options.Attempts != nil {
		r.near = map[uint64]nearness{}
	}
	for s := range j.Stages {
		r.tries = append(r.tries, make([]uint32, len(j.Stages[s].Tasks)))
		r.done = append(r.done, make([]bool, len(j.Stages[s].Tasks)))
	}
	r.Work = func(a *simcluster.Attempt) time.Duration {
		if a.Start.Finish != nil {
			return finish
		}
		return p.work(r, j, a)
	}
	r.Shuffled = func(a *simcluster.Attempt) (bytes int64) {
		for _, n := range a.Start.Nodes {
			bytes += j.Stages[n.Stage].Tasks[n.Index].Shuffle
		}
		return bytes
	}
	out := &p.result.Jobs[i]
	out.Submitted = p.since(p.Now())
	out.Least = leastTime(expanded, p.options.Cluster, func(g *graph.Group) time.Duration { return p.usual(expanded, j, g) })
	for s := range j.Stages {
		out.Stages = append(out.Stages, Stage{Kind: j.Stages[s].Kind})
	}
	p.moved = p.Now()
	p.clients.Submit(spec, func(id scheduler.JobID) { p.jobs[uint64(id)] = r })
	if w := p.options.Watch; w != nil {
		w.Came(out.Submitted, i)
	}
}

func (p *player) job(id uint64) *simcluster.Job {
	if r := p.jobs[id]; r != nil {
		return &r.Job
	}
	return nil
}

// usual is a group's work where it is no straggler: that of its longest task. A recorded group has
// the work of its first task.
func (p *player) usual(e *graph.Expanded, j *workload.Job, g *graph.Group) (longest time.Duration) {
	nodes := g.Nodes
	if p.options.Submissions != nil {
		nodes = nodes[:1]
	}
	for _, number := range nodes {
		n := e.Node(number)
		longest = max(longest, j.Stages[n.Stage].Tasks[n.Index].Work)
	}
	return longest
}

// work is an attempt's work: that of its longest task. A recorded group has the work of its first
// task.
func (p *player) work(r *running, j *workload.Job, a *simcluster.Attempt) (longest time.Duration) {
	nodes := a.Start.Nodes
	if p.options.Submissions != nil {
		nodes = nodes[:1]
	}
	for _, n := range nodes {
		longest = max(longest, p.options.Cluster.Work(&j.Stages[n.Stage].Tasks[n.Index], r.key(n)))
	}
	r.tries[nodes[0].Stage][nodes[0].Index]++
	return longest
}

// takes is the time of a step of an attempt, with what is known of its task's start. An attempt
// that is to fail in the middle of its work is told so when it begins to work.
func (p *player) takes(a *simcluster.Attempt, s simcluster.Step, usual time.Duration) time.Duration {
	if s != simcluster.Starting && s != simcluster.Working || a.Start.Finish != nil {
		return usual
	}
	r := p.jobs[a.Start.Job]
	if r == nil {
		return usual
	}
	n := a.Start.Nodes[0]
	switch {
	case s == simcluster.Starting && p.options.Submissions != nil:
		if starts := p.options.Submissions[r.place].Starts; starts != nil {
			usual += starts[n.Stage][n.Index]
		}
	case s == simcluster.Working:
		k := r.key(n)
		k.Try-- // its work was asked for before
		if p.options.Submissions != nil {
			return p.failAsRecorded(a, p.options.Submissions[r.place].Fails, k, usual)
		}
		if part, fails := p.options.Cluster.Fails(&p.options.Workload.Jobs[r.place].Stages[n.Stage], k); fails {
			a.Later(time.Duration(float64(usual)*part), func() {
				a.Fail(wire.ErrorKind_ERROR_KIND_PROGRAM, "the workload has it fail (failure_rate)")
			})
		}
	}
	return usual
}

// failAsRecorded has an attempt fail where the recorded one with its number failed. It returns how
// long the attempt works, which is longer than that.
func (p *player) failAsRecorded(a *simcluster.Attempt, fails [][][]time.Duration, k cluster.Key, usual time.Duration) time.Duration {
	if fails == nil || k.Try >= len(fails[k.Stage][k.Task]) {
		return usual
	}
	after := fails[k.Stage][k.Task][k.Try]
	a.Later(after, func() {
		a.Fail(wire.ErrorKind_ERROR_KIND_PROGRAM, "it failed in the recording")
	})
	return max(usual, after+time.Second)
}

// ended records a job's end.
func (p *player) ended(id scheduler.JobID, s *wire.JobStatus) error {
	r := p.jobs[uint64(id)]
	delete(p.jobs, uint64(id))
	out := &p.result.Jobs[r.place]
	out.Ended, out.State = p.since(p.Now()), s.Summary.State
	if s.Failure != nil {
		out.Failure = s.Failure.Message
	}
	p.over++
	p.moved = p.Now()
	p.result.Ended = out.Ended
	if w := p.options.Watch; w != nil {
		w.Ended(out.Ended, r.place)
	}
	return nil
}

// stands reports whether jobs wait, nothing runs, and nothing has changed for too long.
func (p *player) stands() bool {
	return p.held == 0 && len(p.jobs) > 0 && p.Now().Sub(p.moved) > p.options.Stall
}

// stalled explains what the waiting jobs lack.
func (p *player) stalled() error {
	s := &Stalled{After: p.since(p.Now()), Jobs: len(p.options.Workload.Jobs) - p.over}
	const shown = 5
	for _, id := range simcluster.Sorted(p.jobs) {
		if len(s.Waiting) == shown {
			break
		}
		if status, ok := p.Core.JobStatus(scheduler.JobID(id), false); ok {
			j := &p.options.Workload.Jobs[p.jobs[id].place]
			s.Waiting = append(s.Waiting, fmt.Sprintf("job %s: %s", j.ID, strings.Join(status.Waiting, "; ")))
		}
	}
	return s
}
