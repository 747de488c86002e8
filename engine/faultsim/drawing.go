package faultsim

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// drawing draws jobs: of any graph that has room while no launcher is down.
type drawing struct {
	*play
	slots [2]int // of each kind of jobKinds, on one of the first launchers
	// resources are the resources of one of the first launchers.
	resources scheduler.Resources
}

// jobKinds are slot kinds that launchers have.
var jobKinds = []string{"default", "default", "other"}

// randomJob draws a job with a valid graph.
func (d *drawing) randomJob(name string) *fakeJob {
	for {
		g := d.randomGraph()
		plan, err := graph.Expand(g, 64<<20, graph.DefaultLimits())
		if err != nil || !d.fits(plan) {
			continue
		}
		j := &fakeJob{
			name: name, plan: plan, flaky: map[uint32]int{}, ended: map[uint64]bool{},
			work: d.between(100*time.Millisecond, 15*time.Second),
		}
		j.runs = &simcluster.Job{
			Graph: plan, AsksCommit: d.chance(150), Size: func(int, uint32, int) int64 { return d.rand.Int64N(1000) },
			Work: func(*simcluster.Attempt) time.Duration { return d.workTime(j) },
		}
		j.spec = &wire.JobSpec{
			Name: name, Graph: g, Principal: &wire.Principal{Name: "u"}, Priority: int32(d.rand.IntN(3)), NoSpeculation: d.chance(300),
			Properties: []*wire.Property{{Name: "a", Value: "b"}},
		}
		if d.chance(100) {
			j.spec.Limits = d.randomLimits()
		}
		if d.chance(500) {
			j.spec.Outputs = []string{"/out/" + name}
			if d.chance(300) {
				j.spec.Outputs = append(j.spec.Outputs, "/out/too/"+name)
			}
			j.occupied = d.chance(80)
			j.runs.Outputs = true
		}
		for _, b := range plan.Bundles { // less often than a bundle may fail
			if d.chance(80) {
				j.flaky[uint32(plan.Groups[b.Groups[len(b.Groups)-1]].Nodes[0])] = 1 + d.rand.IntN(2)
			}
		}
		switch d.rand.IntN(20) {
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

// randomLimits draws a time limit or a deadline at which the job fails, mostly too short for the job.
func (d *drawing) randomLimits() *wire.JobLimits {
	while := d.between(time.Second, 3*time.Minute)
	if d.chance(500) {
		return &wire.JobLimits{TimeLimitNs: int64(while)}
	}
	return &wire.JobLimits{Deadline: int64(d.Now().Add(while)), FailAtDeadline: true}
}

func (d *drawing) randomGraph() *wire.Graph {
	g := &wire.Graph{}
	for i := range 1 + d.rand.IntN(4) {
		m := &wire.Stage{Name: fmt.Sprint("s", i), Nodes: uint32(d.rand.IntN(9)), Kind: jobKinds[d.rand.IntN(len(jobKinds))], Shuffles: d.chance(300), NoSuspend: d.chance(100), ExpectedNs: int64(i%3) * int64(time.Second)}
		if d.chance(200) {
			m.Slots = 2
		}
		if d.chance(300) {
			m.PreferKind = []string{"default", "other", "nobody's"}[d.rand.IntN(3)]
		}
		if d.chance(300) && m.Nodes > 0 {
			for range m.Nodes {
				m.Inputs = append(m.Inputs, &wire.NodeInput{Bytes: 100, Places: []*wire.Place{{Host: fmt.Sprint("h", d.rand.IntN(5)), Bytes: 100}}})
			}
		}
		if !d.resources.IsZero() && d.chance(300) {
			m.Resources = []*wire.ResourceCount{{Kind: []string{scheduler.CoresKind, "gpu", "license"}[d.rand.IntN(3)], Count: uint32(1 + d.rand.IntN(2))}} //nolint:gosec // few
		}
		g.Stages = append(g.Stages, m)
	}
	for i := range d.rand.IntN(5) {
		if c := d.randomConnection(g, i); c != nil {
			g.Connections = append(g.Connections, c)
		}
	}
	return g
}

func (d *drawing) randomConnection(g *wire.Graph, i int) *wire.Connection {
	if len(g.Stages) < 2 {
		return nil
	}
	to := 1 + d.rand.IntN(len(g.Stages)-1)
	from := d.rand.IntN(to)
	n, m := g.Stages[from].Nodes, g.Stages[to].Nodes
	c := &wire.Connection{FromStage: uint32(from), FromPort: fmt.Sprint("o", i), ToStage: uint32(to), ToPort: fmt.Sprint("i", i)}
	c.Kind = []wire.ChannelKind{1, 1, 1, 2, 3}[d.rand.IntN(5)]
	if c.Kind == wire.ChannelKind_CHANNEL_KIND_SHM {
		g.Stages[to].Kind, g.Stages[to].PreferKind = g.Stages[from].Kind, g.Stages[from].PreferKind
	}
	if c.Kind == wire.ChannelKind_CHANNEL_KIND_TCP { // a bundle may fit on slots of its own kind alone
		g.Stages[from].PreferKind, g.Stages[to].PreferKind = "", ""
	}
	if c.Kind == wire.ChannelKind_CHANNEL_KIND_FILE {
		if d.chance(400) {
			c.SlowStart = []float64{0.05, 0.3, 0.7}[d.rand.IntN(3)]
		}
		if d.chance(100) {
			c.Store = "/store"
		}
	}
	switch d.rand.IntN(4) {
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
				if d.chance(400) {
					c.Edges = append(c.Edges, &wire.Edge{From: a, To: b})
				}
			}
		}
	}
	return c
}

// fits reports whether each bundle has room on the first two launchers, which all seeds have: so
// every job can run when both are up.
func (d *drawing) fits(p *graph.Expanded) bool {
	for _, b := range p.Bundles {
		need := map[string]int{}
		widest := 0
		var resources scheduler.Resources
		for _, g := range b.Groups {
			need[p.Groups[g].Kind] += p.Groups[g].Slots
			widest = max(widest, p.Groups[g].Slots)
			resources = resources.Plus(p.Groups[g].Resources)
		}
		if need["default"] > d.slots[0] || need["other"] > d.slots[1] || p.Groups[b.Groups[0]].Memory > 1<<30 || !d.resources.Covers(resources) {
			return false
		}
	}
	return true
}

// workTime is how long an attempt executes; some are stragglers.
func (d *drawing) workTime(j *fakeJob) time.Duration {
	t := j.work/2 + d.upTo(j.work)
	if !d.calm && d.chance(50) {
		d.Seen["stragglers"]++
		t *= 20
	}
	return t
}
