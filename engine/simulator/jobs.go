package simulator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/loop/machines"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// fakeJob is a submission, and what is known of how it should end.
type fakeJob struct {
	name      string
	spec      *wire.JobSpec
	plan      *graph.Expanded
	runs      *machines.Job // what launchers know of it
	id        uint64
	poison    bool // a group of it always fails
	wrong     bool // its specification is, and it must be refused
	tooLarge  bool // for the cluster
	invalid   bool // its program says so
	occupied  bool // its output is there and not its own
	killed    bool // somebody asked for that
	refused   bool
	announced bool
	accepted  bool
	over      bool
	lost      bool // with the end of a log
	work      time.Duration
	flaky     map[uint32]int  // by first node: failures still to come
	ended     map[uint64]bool // attempts that told of a good end
	state     wire.JobState
}

// jobKinds are slot kinds that launchers have.
var jobKinds = []string{"default", "default", "other"}

func (s *Sim) planJobs() {
	for i := range 2 + s.rand.IntN(7) {
		j := s.randomJob(fmt.Sprint("job", i))
		if s.chance(60) {
			s.spoil(j)
		}
		s.jobs = append(s.jobs, j)
		s.After(s.upTo(faultsFor*2/3), func() { s.announce(j) })
	}
}

// randomJob draws a job with a graph that is right.
func (s *Sim) randomJob(name string) *fakeJob {
	for {
		g := s.randomGraph()
		plan, err := graph.Expand(g, 64<<20, graph.DefaultLimits())
		if err != nil || !s.fitsTheFirst(plan) {
			continue
		}
		j := &fakeJob{
			name: name, plan: plan, flaky: map[uint32]int{}, ended: map[uint64]bool{},
			work: s.between(100*time.Millisecond, 15*time.Second),
		}
		j.runs = &machines.Job{
			Graph: plan, AsksCommit: s.chance(150), Size: func() int64 { return s.rand.Int64N(1000) },
			Work: func(*machines.Attempt) time.Duration { return s.workTime(j) },
		}
		j.spec = &wire.JobSpec{
			Name: name, Graph: g, Principal: &wire.Principal{Name: "u"}, Priority: int32(s.rand.IntN(3)), NoSpeculation: s.chance(300),
			Properties: []*wire.Property{{Name: "a", Value: "b"}},
		}
		if s.chance(500) {
			j.spec.Outputs = []string{"/out/" + name}
			if s.chance(300) {
				j.spec.Outputs = append(j.spec.Outputs, "/out/too/"+name)
			}
			j.occupied = s.chance(80)
			j.runs.Outputs = true
		}
		for _, b := range plan.Bundles { // less often than a bundle may fail
			if s.chance(80) {
				j.flaky[uint32(plan.Groups[b.Groups[len(b.Groups)-1]].Nodes[0])] = 1 + s.rand.IntN(2)
			}
		}
		switch s.rand.IntN(20) {
		case 0:
			j.poison = plan.Nodes() > 0
		case 1:
			j.invalid = plan.Nodes() > 0
		case 2:
			g.Stages[0].Slots, j.tooLarge = 500, plan.StageNodes(0) > 0
			j.plan, _ = graph.Expand(g, 64<<20, graph.DefaultLimits())
			j.runs.Graph = j.plan
		}
		return j
	}
}

func (s *Sim) randomGraph() *wire.Graph {
	g := &wire.Graph{}
	for i := range 1 + s.rand.IntN(4) {
		m := &wire.Stage{Name: fmt.Sprint("s", i), Nodes: uint32(s.rand.IntN(9)), Kind: jobKinds[s.rand.IntN(len(jobKinds))], Shuffles: s.chance(300)}
		if s.chance(200) {
			m.Slots = 2
		}
		if s.chance(300) && m.Nodes > 0 {
			for range m.Nodes {
				m.Inputs = append(m.Inputs, &wire.NodeInput{Bytes: 100, Places: []*wire.Place{{Host: fmt.Sprint("h", s.rand.IntN(5)), Bytes: 100}}})
			}
		}
		g.Stages = append(g.Stages, m)
	}
	for i := range s.rand.IntN(5) {
		if c := s.randomConnection(g, i); c != nil {
			g.Connections = append(g.Connections, c)
		}
	}
	return g
}

func (s *Sim) randomConnection(g *wire.Graph, i int) *wire.Connection {
	if len(g.Stages) < 2 {
		return nil
	}
	to := 1 + s.rand.IntN(len(g.Stages)-1)
	from := s.rand.IntN(to)
	n, m := g.Stages[from].Nodes, g.Stages[to].Nodes
	c := &wire.Connection{FromStage: uint32(from), FromPort: fmt.Sprint("o", i), ToStage: uint32(to), ToPort: fmt.Sprint("i", i)}
	c.Kind = []wire.ChannelKind{1, 1, 1, 2, 3}[s.rand.IntN(5)]
	if c.Kind == wire.ChannelKind_CHANNEL_KIND_SHM {
		g.Stages[to].Kind = g.Stages[from].Kind
	}
	if c.Kind == wire.ChannelKind_CHANNEL_KIND_FILE {
		if s.chance(400) {
			c.SlowStart = []float64{0.05, 0.3, 0.7}[s.rand.IntN(3)]
		}
		if s.chance(100) {
			c.Store = "/store"
		}
	}
	switch s.rand.IntN(4) {
	case 0:
		c.Pattern = wire.Pattern_PATTERN_ALL_TO_ALL
	case 1:
		c.Pattern = wire.Pattern_PATTERN_ONE_TO_ONE
		g.Stages[to].Inputs, g.Stages[to].Nodes = nil, n
	case 2:
		c.Pattern = wire.Pattern_PATTERN_MERGE
		if n < m || m == 0 {
			c.Pattern = wire.Pattern_PATTERN_FORK
		}
	case 3:
		c.Pattern = wire.Pattern_PATTERN_EDGES
		for a := range n {
			for b := range m {
				if s.chance(400) {
					c.Edges = append(c.Edges, &wire.Edge{From: a, To: b})
				}
			}
		}
	}
	return c
}

// fitsTheFirst says whether each bundle has room on the first two launchers,
// which all seeds have: so every job can run when all are well.
func (s *Sim) fitsTheFirst(p *graph.Expanded) bool {
	for _, b := range p.Bundles {
		need := map[string]int{}
		widest := 0
		for _, g := range b.Groups {
			need[p.Groups[g].Kind] += p.Groups[g].Slots
			widest = max(widest, p.Groups[g].Slots)
		}
		if need["default"] > int(s.launchers[0].Slots[0].Count) || need["other"] > int(s.launchers[0].Slots[1].Count) || p.Groups[b.Groups[0]].Memory > 1<<30 {
			return false
		}
	}
	return true
}

// announce asks for a job's id.
func (s *Sim) announce(j *fakeJob) {
	if j.id != 0 || j.announced {
		return
	}
	j.announced = true
	client := s.client("prepare")
	s.prepare[client] = j
	s.Push(wire.NewInput(&wire.Prepare{Client: client}))
}

func (s *Sim) prepared(j *fakeJob, r core.Reply) {
	if r.Failure != nil {
		s.fail("a job was not prepared: %v", r.Failure)
		return
	}
	j.id = uint64(r.Job)
	if other := s.byJob[j.id]; other != nil {
		s.fail("%s and %s are both %v", other.name, j.name, r.Job)
	}
	s.byJob[j.id] = j
	for _, out := range j.spec.Outputs {
		s.storage.prepare(out, j)
	}
	s.After(s.upTo(100*time.Millisecond), func() { s.submitAgain(j) })
}

// submitAgain submits a job, or announces it if that was lost with the manager.
func (s *Sim) submitAgain(j *fakeJob) {
	switch {
	case j.id == 0 && j.announced:
		j.announced = false // the reply is lost
		s.announce(j)
	case j.id != 0 && !j.accepted && !j.refused:
		s.Push(wire.NewInput(&wire.Submit{Client: s.client("submit"), Job: j.id, Spec: j.spec}))
	}
}

func (s *Sim) submitted(r core.Reply) {
	j := s.byJob[uint64(r.Job)]
	if r.Failure == nil {
		if j.wrong {
			s.fail("%s is wrong and was taken in", j.name)
		}
		j.accepted = true
		s.jobChanged(j.id) // it may have ended while the answer was lost
		return
	}
	if !j.over && s.isLost(j.id) {
		s.loseJob(j)
	}
	if j.over || r.Failure.Kind == wire.ErrorKind_ERROR_KIND_LOST {
		return
	}
	s.Seen["refused submissions"]++
	j.refused, j.over = true, true
	if r.Failure.Kind != wire.ErrorKind_ERROR_KIND_INVALID || !j.wrong && !strings.Contains(r.Failure.Message, "was refused: ") {
		s.fail("%s was refused: %v", j.name, r.Failure)
	}
	for _, out := range j.spec.Outputs {
		s.storage.removeTemporary(out, j)
	}
}

// runs is what launchers know of a job.
func (s *Sim) runs(id uint64) *machines.Job {
	if j := s.byJob[id]; j != nil {
		return j.runs
	}
	return nil
}

func (j *fakeJob) firstNode(m *wire.StartAttempt) uint32 {
	n := m.Nodes[0]
	return uint32(j.plan.Number(graph.Node{Stage: int(n.Stage), Index: int(n.Index)}))
}

// workTime is how long an attempt executes; some are stragglers.
func (s *Sim) workTime(j *fakeJob) time.Duration {
	d := j.work/2 + s.upTo(j.work)
	if !s.calm && s.chance(50) {
		s.Seen["stragglers"]++
		d *= 20
	}
	return d
}

// fate says whether an attempt fails, and how.
func (s *Sim) fate(a *machines.Attempt) (wire.ErrorKind, string) {
	j := s.byJob[a.Start.Job]
	if a.Start.Finish != nil {
		if !s.calm && s.chance(100) {
			return wire.ErrorKind_ERROR_KIND_RESOURCE, "the storage is away"
		}
		return 0, ""
	}
	first := j.firstNode(a.Start)
	switch {
	case j.invalid:
		return wire.ErrorKind_ERROR_KIND_INVALID, "another graph"
	case j.poison && first == uint32(j.plan.Groups[0].Nodes[0]):
		return wire.ErrorKind_ERROR_KIND_PROGRAM, "poison"
	case j.flaky[first] > 0:
		j.flaky[first]--
		return wire.ErrorKind_ERROR_KIND_PROGRAM, "flaky"
	}
	return 0, ""
}

// checkEnded holds which jobs are told to be over against what their status says.
func (s *Sim) checkEnded(a core.JobsChanged) {
	for _, id := range a.Jobs {
		status, ok := s.Core.JobStatus(id, false)
		told := slices.Contains(a.Ended, id)
		if ok && told != (status.Summary.State >= wire.JobState_JOB_STATE_SUCCEEDED) {
			s.fail("%s is told to be over: %v, and is %v", id, told, status.Summary.State)
		}
	}
}

// jobChanged looks whether a job has ended, and as it should.
func (s *Sim) jobChanged(id uint64) {
	j := s.byJob[id]
	if j == nil || j.over || !j.accepted {
		return
	}
	status, ok := s.Core.JobStatus(scheduler.JobID(id), false)
	if !ok && s.isLost(id) {
		s.loseJob(j)
		return
	}
	if !ok {
		s.fail("%s changed and is not there", scheduler.JobID(id))
		return
	}
	j.state = status.Summary.State
	if j.state < wire.JobState_JOB_STATE_SUCCEEDED {
		return
	}
	if s.history.lost && strings.Contains(status.Failure.GetMessage(), "was refused: ") {
		// That it had been admitted is in a record that the log lost: the policy was asked
		// again. Nobody but its client knows that it ran.
		s.Seen["jobs refused after a loss"]++
		s.loseJob(j)
		return
	}
	j.over = true
	s.Seen[j.state.String()]++
	s.checkEnd(j, status)
}

// checkEnd holds a job's end against what it should be.
func (s *Sim) checkEnd(j *fakeJob, status *wire.JobStatus) {
	good := !j.poison && !j.invalid && !j.tooLarge && !j.killed && !j.occupied
	switch {
	case j.state == wire.JobState_JOB_STATE_SUCCEEDED:
		if j.poison || j.invalid || j.tooLarge || j.occupied {
			s.fail("%s succeeded and should not", j.name)
		}
		// A job that had published before the log lost that says so, and counts what is known.
		lost := s.history.lost && slices.ContainsFunc(status.Notes, func(note string) bool { return strings.Contains(note, "log lost records") })
		for i, st := range status.Stages {
			want := uint32(1) // the last bundle is in no stage of the graph
			if i < len(j.spec.Graph.Stages) {
				want = j.spec.Graph.Stages[i].Nodes
			}
			if st.Finished > want || st.Finished < want && !lost || st.Running+st.Ready+st.Waiting+st.Suspended > 0 {
				s.fail("%s succeeded with stage %v, want %d nodes finished", j.name, st, want)
			}
		}
		nodes := int64(0)
		for _, c := range status.Counters {
			nodes += c.Value
		}
		if nodes > int64(j.plan.Nodes()) || nodes < int64(j.plan.Nodes()) && !lost {
			s.fail("%s counted %d nodes and has %d: groups committed twice or not at all", j.name, nodes, j.plan.Nodes())
		}
	case good:
		s.fail("%s should succeed and is %v: %v", j.name, j.state, status.Failure)
	case j.state == wire.JobState_JOB_STATE_KILLED && !j.killed:
		s.fail("%s was killed and nobody asked", j.name)
	}
	if err := s.storage.check(j, status); err != nil {
		s.fail("%s (%v): %v", j.name, j.state, err)
	}
}

// unfinished describes the jobs that go on.
func (s *Sim) unfinished() string {
	var parts []string
	for _, j := range s.jobs {
		if j.over {
			continue
		}
		status, _ := s.Core.JobStatus(scheduler.JobID(j.id), true)
		parts = append(parts, fmt.Sprintf("%s (%v) %v", j.name, j.state, status))
	}
	return strings.Join(parts, "\n") + fmt.Sprintf("\npolicy %+v\nlaunchers %v", s.Core.PolicyState(), s.Core.Launchers())
}
