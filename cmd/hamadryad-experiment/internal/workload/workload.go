// Package workload plays random jobs of many pools on the manager's core and a
// policy in virtual time, with launchers on which nothing goes wrong, and counts
// how often work was preempted and how much of it.
//
//	result, err := workload.Play(ctx, workload.Random(7), policy.InProcess(fifo.New()), "")
//
// One seed is one history.
package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/loop"
	"github.com/hamadryad/hamadryad/engine/loop/machines"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Workload is a cluster and the jobs that come to it.
type Workload struct {
	Launchers, Slots int
	CanSuspend       bool // the launchers
	Jobs             []Job
	// Ended, when not nil, is told how long a job took, from its submission, by its place in Jobs.
	Ended func(job int, took time.Duration)
	// Holds, when not nil, is told how many slots each job holds, whenever that has changed, and the time since
	// the beginning. The list must not be kept.
	Holds func(at time.Duration, slots []int)
}

// Job is one submission: maps, and reduces that follow them, or reduces alone.
type Job struct {
	Pool    string
	At      time.Duration
	Maps    []time.Duration // how long each takes
	Reduces []time.Duration
}

// Pools is the number of pools of a random workload.
const Pools = 20

// Random draws a workload: a cluster of 40 slots, and in each of 20 pools one to
// four jobs within ten minutes, most of them small and some large, as in traces of
// production clusters. The cluster is oversubscribed most of the time.
func Random(seed uint64) Workload {
	r := rand.New(rand.NewPCG(seed, 20))
	w := Workload{Launchers: 10, Slots: 4}
	for p := range Pools {
		for range 1 + r.IntN(4) {
			j := Job{Pool: fmt.Sprintf("pool%02d", p), At: time.Duration(r.Int64N(int64(10 * time.Minute)))}
			maps, length := 1+r.IntN(10), time.Duration(2+r.IntN(20))*time.Second
			if r.IntN(4) == 0 { // large and long
				maps, length = 20+r.IntN(60), time.Duration(20+r.IntN(60))*time.Second
			}
			j.Maps = lengths(r, maps, length)
			j.Reduces = lengths(r, r.IntN(1+maps/4), length)
			w.Jobs = append(w.Jobs, j)
		}
	}
	return w
}

func lengths(r *rand.Rand, n int, mean time.Duration) []time.Duration {
	list := make([]time.Duration, n)
	for i := range list {
		list[i] = mean/2 + time.Duration(r.Int64N(int64(mean)))
	}
	return list
}

// Result is what became of a workload.
type Result struct {
	Jobs      int
	Attempts  int // that ended
	Preempted int // of them
	// MostOften is how often one group was preempted at most.
	MostOften int
	// Work is the slot time of all attempts, Lost that of those that were preempted.
	Work, Lost time.Duration
	Took       time.Duration // until the last job's end
}

// Bounds of a run, in virtual time: jobs must end within endWithin, and stopAfter is
// what a killed attempt takes to be gone, a launcher to be told, and the policy to
// think.
const (
	endWithin = 24 * time.Hour
	stopAfter = 50 * time.Millisecond
	tellAfter = 5 * time.Millisecond
	thinkFor  = 2 * time.Millisecond
	// progressEvery is how often attempts tell how far they are.
	progressEvery = time.Second
	first         = scheduler.Time(1_000_000_000_000)
)

// player is one run.
type player struct {
	loop.Loop
	policy    loop.Policy
	cluster   machines.Cluster
	clients   loop.Clients
	launchers []*machines.Launcher
	load      Workload
	running   map[uint64]*machines.Job
	place     map[uint64]int // in load.Jobs
	holds     []int          // as told last
	victims   map[group]int
	result    Result
	err       error
}

// group names a group over all its attempts.
type group struct {
	job          uint64
	stage, index uint32
}

// Play plays a workload under a policy with settings, and ends the policy. The error tells
// of a policy that broke the contract, a job that failed, or jobs that never end.
func Play(ctx context.Context, w Workload, host policy.Host, settings string) (Result, error) {
	defer host.Close()
	set := core.DefaultSettings()
	set.Simulated, set.Speculation, set.AttemptsKept = true, false, 1
	p := &player{load: w, running: map[uint64]*machines.Job{}, place: map[uint64]int{}, victims: map[group]int{}}
	p.Core = core.New(set)
	p.policy = loop.Policy{Loop: &p.Loop, Host: host, Think: thinkFor, Config: scheduler.Config{File: "settings", Line: 1, Text: []byte(settings)}}
	p.clients = loop.Clients{Loop: &p.Loop, Ended: p.over}
	p.cluster = machines.Cluster{Loop: &p.Loop, Job: func(id uint64) *machines.Job { return p.running[id] }, Ended: p.ended, Wrong: p.fail}
	p.Act = func(a core.Action) {
		if err := p.act(ctx, a); err != nil {
			p.fail(err)
		}
	}
	p.At(first, p.begin)
	for p.err == nil && p.result.Jobs < len(w.Jobs) {
		if p.Now() > first.Add(endWithin) {
			return p.result, fmt.Errorf("%d of %d jobs have not ended after %v", len(w.Jobs)-p.result.Jobs, len(w.Jobs), endWithin)
		}
		if !p.Next() {
			return p.result, fmt.Errorf("nothing happens any more, and %d jobs have not ended", len(w.Jobs)-p.result.Jobs)
		}
		p.look()
	}
	p.result.Took = p.Now().Sub(first)
	return p.result, p.err
}

func (p *player) fail(err error) {
	if p.err == nil {
		p.err = fmt.Errorf("after %v: %w", p.Now().Sub(first), err)
	}
}

// begin starts manager and policy, joins the launchers and plans the jobs.
func (p *player) begin() {
	p.Push(wire.NewInput(&wire.ManagerStart{Term: 1}))
	p.policy.Begin()
	for i := range p.load.Launchers {
		p.launchers = append(p.launchers, p.cluster.Join(machines.Machine{
			Name: fmt.Sprint("launcher", i), Host: fmt.Sprint("host", i), Rack: fmt.Sprint("rack", i/5), Memory: 1 << 40,
			Slots: []*wire.Slots{{Kind: scheduler.DefaultKind, Count: uint32(p.load.Slots)}}, Latency: tellAfter, Stop: stopAfter,
			CanSuspend: p.load.CanSuspend, Suspend: machines.Cost{Fixed: stopAfter}, Resume: machines.Cost{Fixed: stopAfter}, ProgressEvery: progressEvery,
		}))
	}
	for i := range p.load.Jobs {
		p.After(p.load.Jobs[i].At+time.Second, func() { p.submit(i) })
	}
}

func (p *player) act(ctx context.Context, a core.Action) error {
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

func (p *player) submit(i int) {
	j := &p.load.Jobs[i]
	g := &wire.Graph{Stages: []*wire.Stage{{Name: "map", Nodes: uint32(len(j.Maps))}}}
	switch {
	case len(j.Maps) == 0:
		g.Stages = []*wire.Stage{{Name: "reduce", Nodes: uint32(len(j.Reduces)), Shuffles: true}}
	case len(j.Reduces) > 0:
		g.Stages = append(g.Stages, &wire.Stage{Name: "reduce", Nodes: uint32(len(j.Reduces)), Shuffles: true})
		g.Connections = []*wire.Connection{{
			ToStage: 1, FromPort: "out", ToPort: "in", Kind: wire.ChannelKind_CHANNEL_KIND_FILE, Pattern: wire.Pattern_PATTERN_ALL_TO_ALL,
		}}
	}
	expanded, err := graph.Expand(g, p.Core.Settings().MemoryDefault, graph.DefaultLimits())
	if err != nil {
		p.fail(err)
		return
	}
	p.clients.Submit(&wire.JobSpec{Name: "job", Pool: j.Pool, Principal: &wire.Principal{Name: j.Pool}, Graph: g}, func(id scheduler.JobID) {
		p.running[uint64(id)] = &machines.Job{Graph: expanded, Work: j.length}
		p.place[uint64(id)] = i
	})
}

func (j *Job) length(a *machines.Attempt) time.Duration {
	n := a.Start.Nodes[0]
	if n.Stage == 1 || len(j.Maps) == 0 {
		return j.Reduces[n.Index]
	}
	return j.Maps[n.Index]
}

// look tells what jobs hold, if that has changed and somebody wants to know.
func (p *player) look() {
	if p.load.Holds == nil {
		return
	}
	now := make([]int, len(p.load.Jobs))
	for _, l := range p.launchers {
		for _, a := range l.Attempts {
			if a.Ended() == nil && !a.Suspended() && a.Start.Finish == nil {
				now[p.place[a.Start.Job]]++
			}
		}
	}
	if !slices.Equal(now, p.holds) {
		p.holds = now
		p.load.Holds(p.Now().Sub(first), now)
	}
}

// ended counts an attempt, and what was lost with one that was stopped.
func (p *player) ended(a *machines.Attempt, e *wire.AttemptEnded) {
	n, ran := a.Start.Nodes[0], p.Now().Sub(a.Began)
	p.result.Attempts++
	p.result.Work += ran
	if e.End == wire.End_END_STOPPED {
		victim := group{a.Start.Job, n.Stage, n.Index}
		p.victims[victim]++
		p.result.Preempted++
		p.result.Lost += ran
		p.result.MostOften = max(p.result.MostOften, p.victims[victim])
	}
}

// over takes it that a job has ended, which it should have well.
func (p *player) over(id scheduler.JobID, s *wire.JobStatus) error {
	if s.Summary.State != wire.JobState_JOB_STATE_SUCCEEDED {
		return fmt.Errorf("%v did not succeed: %v", id, s.Failure)
	}
	delete(p.running, uint64(id))
	p.result.Jobs++
	if p.load.Ended != nil {
		p.load.Ended(p.place[uint64(id)], time.Duration(s.Summary.Ended-s.Summary.Submitted))
	}
	return nil
}
