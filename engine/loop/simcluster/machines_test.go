package simcluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/loop"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/policytest/policies"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// desk is one launcher without a manager: commands go in by hand, and its reports are recorded with
// their times.
type desk struct {
	*Launcher
	loop loop.Loop
	said []string
}

func newDesk(m Machine, j *Job) *desk {
	b := &desk{}
	c := &Cluster{Loop: &b.loop, Job: func(uint64) *Job { return j }}
	m.Name = "l1"
	b.Launcher = c.Add(m, Hooks{Send: func(r *wire.Report) {
		b.said = append(b.said, fmt.Sprint(time.Duration(b.loop.Now()), " ", told(r)))
	}})
	return b
}

func told(r *wire.Report) string {
	switch w := r.What.(type) {
	case *wire.Report_Started:
		return "started"
	case *wire.Report_Phase:
		return "executing"
	case *wire.Report_Progress:
		return fmt.Sprintf("progress %g", w.Progress.Progress)
	case *wire.Report_Suspended:
		return "suspended"
	case *wire.Report_Resumed:
		return "resumed"
	case *wire.Report_Commit:
		return "may it commit?"
	case *wire.Report_Refused:
		return "refused: " + w.Refused.Failure.Message
	case *wire.Report_InputLost:
		return "input lost"
	case *wire.Report_Ended:
		return fmt.Sprint(w.Ended.End, " ran ", time.Duration(w.Ended.GetWork().GetRunningNs()))
	}
	return fmt.Sprintf("%T", r.What)
}

// at sends the launcher a command at a time.
func (b *desk) at(t time.Duration, c *wire.Command) {
	b.loop.At(scheduler.Time(t), func() { b.Do(c) })
}

// until lets time pass, and wants to have heard something by then.
func (b *desk) until(t *testing.T, end time.Duration, want ...string) {
	t.Helper()
	for at, ok := b.loop.Upcoming(); ok && time.Duration(at) <= end; at, ok = b.loop.Upcoming() {
		b.loop.Next()
	}
	if !slices.Equal(b.said, want) {
		t.Errorf("until %v it said\n%q, want\n%q", end, b.said, want)
	}
	b.said = nil
}

func startCommand(m *wire.StartAttempt) *wire.Command {
	m.Attempt, m.Job, m.Kind, m.Slots = 1, 1, "default", 1
	return &wire.Command{Do: &wire.Command_Start{Start: m}}
}

var (
	suspendCommand = &wire.Command{Do: &wire.Command_Suspend{Suspend: 1}}
	resumeCommand  = &wire.Command{Do: &wire.Command_Resume{Resume: 1}}
	forgetCommand  = &wire.Command{Do: &wire.Command_Forget{Forget: 1}}
)

func works(d time.Duration) func(*Attempt) time.Duration {
	return func(*Attempt) time.Duration { return d }
}

// An attempt being suspended holds its slots until that is done, which takes longer for more
// memory. It has lost nothing when it is resumed.
func TestSuspensionCostsAndLosesNothing(t *testing.T) {
	b := newDesk(Machine{
		CanSuspend: true, Start: time.Second, Suspend: Cost{Fixed: time.Second, PerGiB: 2 * time.Second}, Resume: Cost{PerGiB: 250 * time.Millisecond},
	}, &Job{Work: works(10 * time.Second)})
	b.at(0, startCommand(&wire.StartAttempt{Memory: 2 << 30}))
	b.at(5*time.Second, suspendCommand)
	b.until(t, 9*time.Second, "1s started", "1s executing")
	if b.Held("default") != 1 {
		t.Error("its slot is free before it has left it")
	}
	b.until(t, 10*time.Second, "10s suspended")
	if b.Held("default") != 0 {
		t.Error("it is suspended and holds its slot")
	}
	b.at(11*time.Second, suspendCommand) // sent twice
	b.at(time.Minute, resumeCommand)
	b.at(time.Minute+time.Millisecond, resumeCommand)
	b.until(t, 66*time.Second, "11s suspended", "1m0.5s resumed")
	b.until(t, 68*time.Second, "1m6.5s END_FINISHED ran 11s")
	b.until(t, 69*time.Second, "1m8.5s END_FINISHED ran 11s") // again, as no answer came
	b.at(70*time.Second, forgetCommand)
	b.until(t, time.Hour)
}

// A suspended attempt can be stopped, and a launcher that can't suspend says so.
func TestStopAndRefusal(t *testing.T) {
	b := newDesk(Machine{CanSuspend: true, Stop: 50 * time.Millisecond}, &Job{Work: works(time.Minute)})
	b.at(0, startCommand(&wire.StartAttempt{}))
	b.at(time.Second, suspendCommand)
	b.at(2*time.Second, &wire.Command{Do: &wire.Command_Stop{Stop: &wire.StopAttempt{Attempt: 1, GraceNs: int64(time.Second)}}})
	b.at(4*time.Second, forgetCommand)
	b.until(t, time.Hour, "0s started", "0s executing", "1s suspended", "3.05s END_STOPPED ran 0s")

	b = newDesk(Machine{}, &Job{Work: works(time.Minute)})
	b.at(0, startCommand(&wire.StartAttempt{}))
	b.at(time.Second, suspendCommand)
	b.at(61*time.Second, forgetCommand)
	b.until(t, time.Hour, "0s started", "0s executing", "1s refused: this launcher can't suspend", "1m0s END_FINISHED ran 1m0s")
}

// Work takes longer on a slow machine and far from its input; progress is a part of it.
func TestWhatWorkTakes(t *testing.T) {
	g, err := graph.Expand(&wire.Graph{Stages: []*wire.Stage{{Name: "map", Nodes: 1, Inputs: []*wire.NodeInput{
		{Bytes: 100, Places: []*wire.Place{{Host: "h1", Rack: "r1", Bytes: 100}}},
	}}}}, 1, graph.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	factors := [scheduler.LocalityLevels]float64{scheduler.RackLocal: 1.5, scheduler.Remote: 2}
	for _, c := range []struct {
		machine Machine
		want    []string
	}{
		{Machine{Host: "h1", Rack: "r1"}, []string{"0s started", "0s executing", "10s END_FINISHED ran 10s"}},
		{Machine{Host: "h2", Rack: "r1"}, []string{"0s started", "0s executing", "15s END_FINISHED ran 15s"}},
		{Machine{Host: "h3", Rack: "r2"}, []string{"0s started", "0s executing", "20s END_FINISHED ran 20s"}},
		{Machine{Host: "h1", Start: time.Second, Slow: 3}, []string{"3s started", "3s executing", "33s END_FINISHED ran 33s"}},
		{
			Machine{Host: "h3", ProgressEvery: 8 * time.Second},
			[]string{"0s started", "0s executing", "8s progress 0.4", "16s progress 0.8", "20s END_FINISHED ran 20s"},
		},
	} {
		c.machine.Locality = factors
		b := newDesk(c.machine, &Job{Graph: g, Work: works(10 * time.Second)})
		b.at(0, startCommand(&wire.StartAttempt{Nodes: []*wire.NodeRef{{}}}))
		for s := 1; s < 35; s++ {
			b.at(time.Duration(s)*time.Second+1, forgetCommand)
		}
		b.until(t, time.Hour, c.want...)
	}
}

// story is jobs on a cluster, under the core and a policy.
type story struct {
	loop.Loop
	cluster Cluster
	policy  loop.Policy
	clients loop.Clients
	jobs    map[uint64]*Job
	ends    []string
	took    []time.Duration // until jobs ended, in that order
}

// submission is a job that comes at a time.
type submission struct {
	at       time.Duration
	priority int32
	graph    *wire.Graph
	job      *Job
}

// play plays one job under FIFO.
func play(t *testing.T, g *wire.Graph, j *Job, list ...Machine) *story {
	t.Helper()
	return playAll(t, fifo.New(), []submission{{graph: g, job: j}}, list...)
}

// playAll plays jobs until all have ended, and fails when one does not succeed.
func playAll(t *testing.T, p scheduler.TaskScheduler, jobs []submission, list ...Machine) *story {
	t.Helper()
	set := core.DefaultSettings()
	set.Simulated = true
	s := &story{jobs: map[uint64]*Job{}}
	s.Core = core.New(set)
	s.cluster = Cluster{Loop: &s.Loop, Job: func(id uint64) *Job { return s.jobs[id] }, Ended: func(a *Attempt, e *wire.AttemptEnded) {
		s.ends = append(s.ends, fmt.Sprintf("%v %s %d/%d %v", time.Duration(s.Now()), a.On.Name, a.Start.Nodes[0].Stage, a.Start.Nodes[0].Index, e.End))
	}}
	s.clients = loop.Clients{Loop: &s.Loop, Ended: func(_ scheduler.JobID, st *wire.JobStatus) error {
		s.took = append(s.took, time.Duration(s.Now()))
		if st.Summary.State != wire.JobState_JOB_STATE_SUCCEEDED {
			t.Error(st)
		}
		return nil
	}}
	s.policy = loop.Policy{Loop: &s.Loop, Host: policy.InProcess(p)}
	s.Act = func(a core.Action) { s.act(t, a) }
	s.At(1, func() {
		s.Push(wire.NewInput(&wire.ManagerStart{Term: 1}))
		s.policy.Begin()
		for _, m := range list {
			s.cluster.Join(m)
		}
		for _, j := range jobs {
			s.After(j.at, func() { s.submit(t, j) })
		}
	})
	for len(s.took) < len(jobs) && s.Now() < scheduler.Time(time.Hour) && s.Next() {
		s.checkRoom(t)
	}
	return s
}

func (s *story) act(t *testing.T, a core.Action) {
	mine, err := s.policy.Act(t.Context(), a)
	if !mine {
		mine, err = s.clients.Act(a)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = mine || s.cluster.Act(a)
}

func (s *story) submit(t *testing.T, j submission) {
	var err error
	if j.job.Graph, err = graph.Expand(j.graph, s.Core.Settings().MemoryDefault, graph.DefaultLimits()); err != nil {
		t.Fatal(err)
	}
	spec := &wire.JobSpec{Name: "job", Principal: &wire.Principal{Name: "ann"}, Graph: j.graph, Priority: j.priority}
	s.clients.Submit(spec, func(id scheduler.JobID) { s.jobs[uint64(id)] = j.job })
}

// checkRoom compares the running attempts with the slots.
func (s *story) checkRoom(t *testing.T) {
	for _, named := range s.cluster.named {
		for _, l := range named {
			for _, m := range l.Slots {
				if held := l.Held(m.Kind); held > m.Count {
					t.Fatalf("%s runs %d slots of kind %s and has %d", l.Name, held, m.Kind, m.Count)
				}
			}
		}
	}
}

func machine(name, rack string, slots ...*wire.Slots) Machine {
	return Machine{Name: name, Host: "h" + name, Rack: rack, Memory: 64 << 30, Slots: slots, Latency: 5 * time.Millisecond}
}

func slots(kind string, n uint32) *wire.Slots { return &wire.Slots{Kind: kind, Count: n} }

// Each kind of slot is filled for itself: six maps in two map slots take three turns, the
// two reduces read them and run at once.
func TestSlotsByKind(t *testing.T) {
	s := play(t, &wire.Graph{
		Stages: []*wire.Stage{{Name: "map", Nodes: 6, Kind: "map"}, {Name: "reduce", Nodes: 2, Kind: "reduce"}},
		Connections: []*wire.Connection{{
			ToStage: 1, FromPort: "out", ToPort: "in", Kind: wire.ChannelKind_CHANNEL_KIND_FILE, Pattern: wire.Pattern_PATTERN_ALL_TO_ALL,
		}},
	}, &Job{Work: works(10 * time.Second)}, machine("l1", "r1", slots("map", 2), slots("reduce", 3)))
	if s.took[0].Round(time.Second) != 40*time.Second || len(s.ends) != 8 {
		t.Errorf("it took %v: %q", s.took, s.ends)
	}
}

// A straggler's work is done a second time on another machine, and the first attempt is
// stopped.
func TestSpeculation(t *testing.T) {
	slow := machine("l1", "r1", slots("default", 1))
	slow.Slow = 30
	s := play(t, &wire.Graph{Stages: []*wire.Stage{{Name: "map", Nodes: 9}}}, &Job{Work: works(10 * time.Second)},
		slow, machine("l2", "r1", slots("default", 4)))
	if s.took[0] > 40*time.Second {
		t.Errorf("it took %v: %q", s.took, s.ends)
	}
	for s.Now() < scheduler.Time(5*time.Minute) && s.Next() {
	}
	var stopped int
	for _, line := range s.ends {
		if strings.Contains(line, "l1") && strings.HasSuffix(line, "END_STOPPED") {
			stopped++
		}
	}
	if len(s.ends) != 10 || stopped != 1 {
		t.Errorf("one of ten attempts should be stopped, on the slow machine: %q", s.ends)
	}
}

// Groups joined by tcp run together, and wait for each other.
func TestGang(t *testing.T) {
	s := play(t, &wire.Graph{
		Stages: []*wire.Stage{{Name: "from", Nodes: 2}, {Name: "to", Nodes: 2}},
		Connections: []*wire.Connection{{
			ToStage: 1, FromPort: "out", ToPort: "in", Kind: wire.ChannelKind_CHANNEL_KIND_TCP, Pattern: wire.Pattern_PATTERN_ALL_TO_ALL,
		}},
	}, &Job{Work: works(10 * time.Second)}, machine("l1", "r1", slots("default", 3)), machine("l2", "r2", slots("default", 1)))
	if s.took[0].Round(time.Second) != 10*time.Second || len(s.ends) != 4 {
		t.Errorf("it took %v: %q", s.took, s.ends)
	}
}

// Reports that wait for the next heartbeat keep a slot empty for so long.
func TestHeartbeat(t *testing.T) {
	for first, want := range map[time.Duration]time.Duration{0: 24 * time.Second, 2 * time.Second: 23 * time.Second, 7 * time.Second: 25 * time.Second} {
		m := machine("l1", "r1", slots("default", 1))
		m.Heartbeat, m.FirstBeat = 3*time.Second, first
		s := play(t, &wire.Graph{Stages: []*wire.Stage{{Name: "map", Nodes: 4}}}, &Job{Work: works(4 * time.Second)}, m)
		if s.took[0].Round(time.Second) != want {
			t.Errorf("with heartbeats from %v on it took %v: %q", first, s.took, s.ends)
		}
	}
}

// Urgent work has what runs suspended for it, which pays for that and for its resumption,
// and loses nothing else.
func TestSuspensionForUrgentWork(t *testing.T) {
	m := machine("l1", "r1", slots("default", 1))
	m.CanSuspend, m.Suspend, m.Resume = true, Cost{Fixed: 2 * time.Second}, Cost{Fixed: 3 * time.Second}
	one := &wire.Graph{Stages: []*wire.Stage{{Name: "work", Nodes: 1}}}
	s := playAll(t, policies.Suspend(), []submission{
		{graph: one, job: &Job{Work: works(60 * time.Second)}},
		{graph: one, job: &Job{Work: works(20 * time.Second)}, at: 30 * time.Second, priority: 5},
	}, m)
	// 31 s, as the policy preempts on the second, 2 s to leave, 20 s of urgent work, 3 s to
	// come back, and the other 29 s.
	if len(s.ends) != 2 || s.took[0].Round(time.Second) != 53*time.Second || s.took[1].Round(time.Second) != 85*time.Second {
		t.Errorf("the jobs took %v: %q", s.took, s.ends)
	}
}
