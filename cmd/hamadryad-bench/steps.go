package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// While the core steps, launchers, clients and the policy wait for it. So each step must be short,
// however large the cluster and its jobs are. These rows run two jobs of a million tasks on twenty
// thousand launchers through a core that emits change rows. They give the longest step of each kind
// and the 99th percentile, in processor time of the core's thread. Work that an input leaves to
// later steps counts for its kind. Log, policy and connections are left out. The last two rows are
// the cost of a checkpoint in another process, which spares the core.

const (
	stepsTasks     = 1_000_000
	stepsReaders   = 10 // of them, which read from all others
	stepsLaunchers = 20_000
	stepsSlots     = 4
	stepsGoal      = 10     // ms
	stepsReports   = 2048   // reports in one step: the most that the manager receives at once
	stepsLaunches  = 10_000 // launches in one answer of the policy
)

// stepKinds are the kinds of steps, and of other work that delays the core.
var stepKinds = []string{
	"join", "first-round", "submit", "launch", "started", "tick", "ended", "readers", "readers-launch", "over", "kill",
	"snapshot", "rotate",
}

func steps(ctx context.Context, b *bench) error {
	runtime.LockOSThread() // the measured thread
	defer runtime.UnlockOSThread()
	longest, late := map[string][]float64{}, map[string][]float64{}
	var logs []*stepLog
	for range b.runs {
		s := newStepper()
		s.log.program = filepath.Join(b.bin, "hamadryad")
		logs = append(logs, s.log)
		err := s.play(ctx)
		s.heap()
		if err != nil {
			return err
		}
		for kind, took := range s.took {
			longest[kind] = append(longest[kind], slices.Max(took))
			late[kind] = append(late[kind], percentile(took, 99))
		}
	}
	goal := []float64{stepsGoal}
	for _, kind := range stepKinds {
		if err := b.out.add("steps-"+kind, "ms", longest[kind], goal, "stated, at most; the longest step"); err != nil {
			return err
		}
		if err := b.out.add("steps-"+kind+"-p99", "ms", late[kind], goal, "stated, at most; 99 % of the steps"); err != nil {
			return err
		}
	}
	return addCheckpoints(b.out, logs)
}

// stepper is a core with timed steps.
type stepper struct {
	core   *core.Core
	heap   func() // restores the garbage collector from a manager's settings
	at     time.Duration
	took   map[string][]float64 // ms, by kind
	kind   string               // of the steps at hand
	launch string               // the kind of launching steps
	job    uint64               // the last prepared job
	round  *core.AskPolicy      // not answered yet
	ready  []scheduler.BundleID // of the last job
	slots  []uint64             // the launcher of each free slot
	fresh  []*wire.StartAttempt // launched, their start not reported yet
	live   []*wire.StartAttempt
	where  map[uint64]uint64 // launcher by attempt
	log    *stepLog
	err    error
}

func newStepper() *stepper {
	set := core.DefaultSettings()
	set.PolicyStallAfter = 0
	c := core.New(set)
	c.EnableChanges()
	return &stepper{core: c, took: map[string][]float64{}, where: map[uint64]uint64{}, launch: "launch", heap: manager.CollectSeldom(), log: &stepLog{}}
}

// play is the measured work.
func (s *stepper) play(ctx context.Context) error {
	s.kind = "join"
	s.step(wire.NewInput(&wire.ManagerStart{Term: 1}))
	s.join()
	s.policy(1)
	s.submit(&wire.Graph{
		Stages:      []*wire.Stage{{Name: "map", Nodes: stepsTasks - stepsReaders, Inputs: stepInputs(stepsTasks - stepsReaders)}, {Name: "reduce", Nodes: stepsReaders}},
		Connections: []*wire.Connection{{FromStage: 0, ToStage: 1, FromPort: "out", ToPort: "in", Kind: wire.ChannelKind_CHANNEL_KIND_FILE, Pattern: wire.Pattern_PATTERN_ALL_TO_ALL}},
	})
	if err := s.log.begin(s.core); err != nil {
		return err
	}
	s.run(stepsTasks / 2)
	if err := s.log.end(ctx, s.core); err != nil {
		return err
	}
	s.looks()
	s.policy(2)
	s.run(stepsTasks - stepsReaders - stepsTasks/2 - stepsLaunchers*stepsSlots)
	s.fill()
	s.kind = "readers"
	s.end(len(s.live))
	s.launch = "readers-launch"
	s.fill()
	s.launch = "launch"
	s.kind = "over"
	s.end(len(s.live))
	s.submit(&wire.Graph{Stages: []*wire.Stage{{Name: "work", Nodes: stepsTasks, Inputs: stepInputs(stepsTasks)}}})
	s.fill()
	s.kind = "kill"
	s.step(wire.NewInput(&wire.KillJob{Job: s.job}))
	return s.err
}

// stepInputs are the inputs of tasks, each in three places.
func stepInputs(n int) []*wire.NodeInput {
	places := make([]*wire.Place, stepsLaunchers)
	for i := range places {
		places[i] = &wire.Place{Host: stepHost(i), Rack: stepRack(i), Bytes: 1 << 20}
	}
	inputs := make([]*wire.NodeInput, n)
	for i := range inputs {
		at := i % (stepsLaunchers - 3)
		inputs[i] = &wire.NodeInput{Bytes: 1 << 20, Places: places[at : at+3]}
	}
	return inputs
}

func stepHost(i int) string { return fmt.Sprintf("host-%05d", i) }
func stepRack(i int) string { return fmt.Sprintf("rack-%03d", i/40) }

// time measures how long f delays the core: the processor time of its thread, which other programs
// do not affect.
func (s *stepper) time(kind string, f func()) time.Duration {
	start := threadTime()
	f()
	took := threadTime() - start
	s.took[kind] = append(s.took[kind], float64(took.Microseconds())/1000)
	return took
}

func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic("the processor time of a thread is not to be had: " + err.Error())
	}
	return time.Duration(t.Nano())
}

// step feeds inputs to the core, and continues while it has left work to later steps.
func (s *stepper) step(inputs ...*wire.Input) {
	for {
		s.at += 2 * time.Millisecond
		batch := &wire.Batch{At: int64(s.at), Inputs: inputs}
		var actions []core.Action
		took := s.time(s.kind, func() { actions = s.core.Step(batch) })
		if s.log.log != nil {
			s.log.steps += took
			s.err = cmp.Or(s.err, s.log.append(batch))
		}
		for _, a := range actions {
			s.act(a)
		}
		if wake, ok := s.core.NextWake(); !ok || wake > s.core.Now() {
			return
		}
		inputs = []*wire.Input{wire.Tick()}
	}
}

func (s *stepper) act(a core.Action) {
	switch a := a.(type) {
	case core.AskPolicy:
		s.round = &a
		for _, e := range a.Round.Events {
			if e, ok := e.(scheduler.BundleReady); ok && uint64(e.Job) == s.job {
				s.ready = append(s.ready, e.Bundle)
			}
		}
	case core.PolicyGone:
		if a.Breach != "" {
			s.err = fmt.Errorf("the core gave the policy up: %s", a.Breach)
		}
	case core.Reply:
		if a.Failure != nil {
			s.err = fmt.Errorf("the core refused: %s", a.Failure.Message)
		}
		if a.Client == 1 {
			s.job = uint64(a.Job)
		}
	case core.ToLauncher:
		if m := a.Command.GetStart(); m != nil {
			s.fresh = append(s.fresh, m)
			s.where[m.Attempt] = uint64(a.Launcher)
		}
	}
}

func (s *stepper) join() {
	for i := range stepsLaunchers {
		s.step(wire.NewInput(&wire.LauncherJoin{Join: &wire.Join{
			Name: fmt.Sprintf("launcher-%05d", i), Incarnation: 1, Host: stepHost(i), Rack: stepRack(i), Memory: 1 << 40,
			Slots: []*wire.Slots{{Kind: scheduler.DefaultKind, Count: stepsSlots}},
		}}))
	}
	for i := range stepsLaunchers * stepsSlots {
		s.slots = append(s.slots, uint64(i%stepsLaunchers)+1)
	}
}

// policy makes a generation of a policy take over.
func (s *stepper) policy(generation uint64) {
	s.kind = "snapshot"
	s.step(wire.NewInput(&wire.PolicyStart{Generation: generation}))
	s.kind = "first-round"
	s.decide(nil) // nothing, if a round is under way
	s.step(wire.NewInput(&wire.PolicyStarted{Generation: generation}))
	s.decide(nil)
}

func (s *stepper) submit(g *wire.Graph) {
	s.kind, s.ready = "submit", nil
	s.step(wire.NewInput(&wire.Prepare{Client: 1}))
	spec := &wire.JobSpec{Name: "steps", Graph: g}
	set := s.core.Settings()
	s.core.Expect(core.NewDraft(set, spec, nil))
	s.step(wire.NewInput(&wire.Submit{Client: 2, Job: s.job, Spec: spec}))
}

// run ends so many attempts of the job, and fills their slots.
func (s *stepper) run(todo int) {
	for todo > 0 && s.err == nil {
		s.fill()
		n := min(len(s.live), stepsLaunches, todo)
		if n == 0 {
			s.err = fmt.Errorf("%d attempts are to end, and none runs", todo)
		}
		s.kind = "ended"
		s.end(n)
		todo -= n
	}
}

// fill launches ready work in the free slots, and reports its start.
func (s *stepper) fill() {
	for len(s.slots) > 0 && s.err == nil {
		if len(s.ready) == 0 {
			s.kind = "tick"
			s.decide(nil)
			if len(s.ready) == 0 {
				return
			}
		}
		var d []scheduler.Launch
		for n := min(len(s.slots), len(s.ready), stepsLaunches); len(d) < n; {
			d = append(d, scheduler.Launch{Bundle: s.ready[0], Launchers: []scheduler.LauncherID{scheduler.LauncherID(s.slots[0])}})
			s.ready, s.slots = s.ready[1:], s.slots[1:]
		}
		s.kind = s.launch
		s.decide(d)
		s.kind = "started"
		for part := range slices.Chunk(s.fresh, stepsReports) {
			var inputs []*wire.Input
			for _, m := range part {
				inputs = append(inputs, s.report(m, &wire.Report{What: &wire.Report_Started{Started: &wire.AttemptStarted{Attempt: m.Attempt}}}))
			}
			s.step(inputs...)
		}
		s.live, s.fresh = append(s.live, s.fresh...), nil
	}
	s.kind = "tick"
	s.at += time.Second
	s.step()
}

// decide answers the round, once there is one.
func (s *stepper) decide(d []scheduler.Launch) {
	for tries := 0; s.round == nil && tries < 3; tries++ {
		s.step()
	}
	r := s.round
	if r == nil {
		if len(d) > 0 {
			s.err = fmt.Errorf("no round came for %d launches", len(d))
		}
		return
	}
	data, err := schedwire.EncodeDecisions(&scheduler.Decisions{Launch: d})
	if err != nil {
		s.err = err
		return
	}
	s.round = nil
	s.step(wire.NewInput(&wire.PolicyAnswer{Generation: r.Generation, Round: r.Round.Number, Decisions: data}))
}

// end reports the end of the longest running attempts.
func (s *stepper) end(n int) {
	for part := range slices.Chunk(s.live[:n], stepsReports) {
		var inputs []*wire.Input
		for _, m := range part {
			e := &wire.AttemptEnded{Attempt: m.Attempt, End: wire.End_END_FINISHED}
			if x := m.Nodes[0]; x.Stage == 0 && s.stored() {
				e.Stored = []*wire.StoredOutput{{From: x.Index, Bytes: stepsReaders, PartitionBytes: stepPartitions}}
			}
			inputs = append(inputs, s.report(m, &wire.Report{What: &wire.Report_Ended{Ended: e}}))
			s.slots = append(s.slots, s.where[m.Attempt])
			delete(s.where, m.Attempt)
		}
		s.step(inputs...)
	}
	s.live = s.live[n:]
}

// stored reports whether the last job's attempts store output: the first job's do.
func (s *stepper) stored() bool { return s.job == 1 }

var stepPartitions = slices.Repeat([]int64{1}, stepsReaders)

func (s *stepper) report(m *wire.StartAttempt, r *wire.Report) *wire.Input {
	r.Incarnation = 1
	return wire.NewReport(s.where[m.Attempt], r)
}

// looks are the queries to the core between two steps.
func (s *stepper) looks() {
	for range 5 {
		s.time("rotate", func() {
			s.core.GraphBlobs()
			if s.core.FreezeTime() <= manager.FreezeMaxDefault {
				s.core.Freeze()
			}
		})
	}
}
