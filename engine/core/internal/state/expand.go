package state

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/engine/core/internal/dataflow"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/stats"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/sortedset"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// HasPreferredKinds says whether some stage prefers slots of another kind than its own.
func (j *Job) HasPreferredKinds() bool { return j.prefers }

// TakeKinds makes groups of the given stages take slots of other kinds. Nothing of these stages
// runs, or is ready.
func (j *Job) TakeKinds(kinds map[int]string) {
	for stage, kind := range kinds { // any order: stages are independent
		s := &j.Stages[stage]
		s.kind = kind
		if s.singleNode != (resources.Request{}) {
			s.singleNode.Kind = kind
		}
	}
	j.findShapes()
}

// findShapes lists the distinct demands of a job's bundles.
func (j *Job) findShapes() {
	j.Shapes = nil
	seen := map[string]bool{}
	for i := range j.Plan.Bundles { // without the last bundle, which takes no slot
		if key := ShapeKey(&j.Bundles[i]); !seen[key] {
			seen[key] = true
			j.Shapes = append(j.Shapes, shape{i, key})
		}
	}
}

// ShapeKey returns a text that is equal for bundles whose groups ask for the same.
func ShapeKey(b resources.Bundle) string {
	var s strings.Builder
	for i := range b.Width() {
		d := b.Request(i)
		fmt.Fprintf(&s, "%s %d %d %s;", d.Kind, d.Slots, d.Memory, d.Resources)
	}
	return s.String()
}

// keepsChannels says whether the job's storage holds channel files, which the last group must
// remove.
func keepsChannels(g *wire.Graph) bool {
	return slices.ContainsFunc(g.Connections, func(c *wire.Connection) bool { return c.Store != "" })
}

// expand makes bundles, stages and connections from the plan.
func (j *Job) expand() {
	p := j.Plan
	count := len(p.Bundles)
	j.unfinished = count
	if len(j.Spec.Outputs) > 0 || keepsChannels(p.Graph) {
		count++ // the last group publishes, and removes what the job leaves on storage
	}
	j.Slices.bundles, j.Slices.all = len(p.Bundles), count
	j.Bundles = make([]Bundle, count)
	j.Ready.bundles = j.Bundles
	j.Stages = make([]stage, len(p.Graph.Stages))
	for i, s := range p.Graph.Stages {
		x := &j.Stages[i]
		x.own = graph.KindOf(s)
		x.kind = x.own
		if s.PreferKind != x.own {
			x.preferred = s.PreferKind
		}
		j.prefers = j.prefers || x.preferred != ""
	}
	for i := range j.Bundles {
		b := &j.Bundles[i]
		b.Job, b.Index = j, i
		b.shape()
	}
	j.Inputs = dataflow.New(p)
	for i, s := range p.Graph.Stages {
		j.Stages[i].Stage = stats.NewStage(s.Name, j.leastNodes(i))
	}
	for i := range p.Groups {
		if !j.startsUnused(&j.Bundles[p.Groups[i].Bundle]) {
			j.Stages[p.Groups[i].Stage].AddGroup(p.Groups[i].Slots)
		}
		j.largest = max(j.largest, p.Groups[i].Memory)
	}
	joinStages(p.Graph, j.Stages, func(stage int) bool { _, is := j.Inputs.Files.Aggregates(stage); return is })
	if j.LastBundle() != nil {
		j.Stages = append(j.Stages, stage{Stage: stats.NewLast(lastStage)})
	}
	j.expandElements()
	j.expandAdapted()
	for i := range p.Bundles {
		j.Inputs.Recount(&j.Bundles[i].Gate, j.Bundles[i].AllNodes())
	}
	j.findShapes()
}

// joinStages finds the stages that must not be suspended, and the stages that store what others
// read. A group is suspended as a whole, and may count for any stage joined with it. So stages
// that shm channels join share both. An aggregating stage has no groups yet, and may get some.
func joinStages(g *wire.Graph, stages []stage, aggregates func(stage int) bool) {
	together := make([]int, len(g.Stages)) // the first stage of each set that shm joins
	for i := range together {
		together[i] = i
	}
	first := func(i int) int {
		for together[i] != i {
			i = together[i]
		}
		return i
	}
	for _, c := range g.Connections {
		if c.Kind == wire.ChannelKind_CHANNEL_KIND_SHM {
			a, b := first(int(c.FromStage)), first(int(c.ToStage))
			together[max(a, b)] = min(a, b)
		}
	}
	joined := make([][]int, len(g.Stages)) // by the first, those that groups count for
	holds := make([]bool, len(g.Stages))
	for i, s := range g.Stages {
		if stages[i].Groups() > 0 || aggregates(i) {
			joined[first(i)] = append(joined[first(i)], i)
		}
		holds[first(i)] = holds[first(i)] || s.NoSuspend
	}
	for i := range g.Stages {
		stages[i].noSuspend = holds[first(i)]
	}
	for i, c := range g.Connections {
		if c.Kind != wire.ChannelKind_CHANNEL_KIND_FILE {
			continue
		}
		from, to := first(int(c.FromStage)), []int{first(int(c.ToStage))}
		if out, is := graph.AggregateOut(g, i); is { // some outputs are not aggregated
			to = append(to, first(int(g.Connections[out].ToStage)))
		}
		for _, to := range to {
			after(stages, joined, from, to)
		}
	}
}

// after notes that the stages joined with one read stored outputs of those joined with another.
func after(stages []stage, joined [][]int, from, to int) {
	if from == to {
		return
	}
	for _, t := range joined[to] {
		for _, f := range joined[from] {
			stages[t].after = sortedset.Add(stages[t].after, scheduler.StageID(f))
		}
	}
}

// shape copies into the bundle what each start and end needs of the plan.
func (b *Bundle) shape() {
	b.attempts = b.oneAttempt[:0]
	if b.Last() {
		return
	}
	p := b.Job.Plan
	b.hasTCP = p.Bundles[b.Index].TCP
	b.Stage, b.First = int32(b.StageOf(0)), int32(p.Node(b.Nodes(0)[0]).Index)
	if b.Width() > 1 || len(b.Nodes(0)) > 1 {
		return
	}
	// All of a stage request the same. It is kept in the stage, because reading the plan misses
	// the processor's cache.
	need, s := b.Request(0), &b.Job.Stages[b.Stage]
	if s.singleNode == (resources.Request{}) {
		s.singleNode = need
	}
	b.singleNode = s.singleNode == need
}
