package life

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/engine/core/capacity"
	"github.com/hamadryad/hamadryad/engine/core/inputs"
	"github.com/hamadryad/hamadryad/engine/core/tally"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// findShapes lists the distinct demands of a job's bundles.
func (j *Job) findShapes() {
	seen := map[string]bool{}
	for i := range j.Bundles {
		if key := j.Bundles[i].shapeKey(); !seen[key] {
			seen[key] = true
			j.Shapes = append(j.Shapes, shape{i, key})
		}
	}
}

func (b *Bundle) shapeKey() string {
	var s strings.Builder
	for i := range b.Width() {
		d := b.Demand(i)
		fmt.Fprintf(&s, "%s %d %d;", d.Kind, d.Slots, d.Memory)
	}
	return s.String()
}

// keepsChannels reports whether some channel files lie on the job's storage, where
// no launcher removes them.
func keepsChannels(g *wire.Graph) bool {
	return slices.ContainsFunc(g.Connections, func(c *wire.Connection) bool { return c.Store != "" })
}

// Expand makes bundles, stages and connections from the plan.
func (j *Job) Expand() {
	p := j.Plan
	count := len(p.Bundles)
	j.Unfinished = count
	if len(j.Spec.Outputs) > 0 || keepsChannels(p.Graph) {
		count++ // the last group publishes, and removes what the job leaves on storage
	}
	j.Bundles = make([]Bundle, count)
	j.Stages = make([]stage, len(p.Graph.Stages))
	for i := range j.Bundles {
		b := &j.Bundles[i]
		b.Job, b.Index = j, i
		b.shape()
	}
	for i, s := range p.Graph.Stages {
		j.Stages[i].Stage = tally.NewStage(s.Name, int(s.Nodes))
	}
	for i := range p.Groups {
		j.Stages[p.Groups[i].Stage].AddGroup(p.Groups[i].Slots)
		j.largest = max(j.largest, p.Groups[i].Memory)
	}
	if j.LastBundle() != nil {
		j.Stages = append(j.Stages, stage{Stage: tally.NewLast(lastStage)})
	}
	j.Inputs = inputs.New(p)
	for i := range p.Bundles {
		j.Inputs.Recount(&j.Bundles[i].Gate, j.Bundles[i].AllNodes())
	}
	j.findShapes()
}

// shape notes what of the plan each start and end would ask for.
func (b *Bundle) shape() {
	b.runs = b.oneRun[:0]
	if b.Last() {
		return
	}
	p := b.Job.Plan
	b.Wired = p.Bundles[b.Index].TCP
	b.Stage, b.First = int32(b.StageOf(0)), int32(p.Node(b.Nodes(0)[0]).Index)
	if b.Width() > 1 || len(b.Nodes(0)) > 1 {
		return
	}
	// All of a stage take the same: kept there, it is not asked of the plan, most of
	// which is out of the processor's reach when it is.
	need, s := b.Demand(0), &b.Job.Stages[b.Stage]
	if s.single == (capacity.Demand{}) {
		s.single = need
	}
	b.Single = s.single == need
}
