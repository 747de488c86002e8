package plan

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/job"
)

const (
	// shapeMax bounds the stages and connections of a Shape.
	shapeMax = 500
	// shapeLineMax bounds the line of a stage or connection, in bytes.
	shapeLineMax = 400
)

// Shape describes a graph in words: a line for each stage and each connection.
func Shape(structure *wire.Graph, g *job.Graph) []string {
	var all []string
	add := func(format string, args ...any) {
		if len(all) < shapeMax {
			all = append(all, fmt.Sprintf("%.*s", shapeLineMax, fmt.Sprintf(format, args...)))
		}
	}
	name := func(stage uint32) string {
		if int(stage) < len(structure.Stages) {
			return structure.Stages[stage].Name
		}
		return ""
	}
	for i, s := range structure.Stages {
		tasks := g.Stages()[i].Spec().Tasks
		bytes := int64(0)
		for _, t := range tasks {
			bytes += t.Bytes()
		}
		add("stage %q with %d nodes, slots %d of kind %q, memory %d, command %q, and %d tasks of %d bytes", s.Name, s.Nodes, s.Slots, s.Kind, s.Memory, s.Command, len(tasks), bytes)
	}
	for _, c := range structure.Connections {
		adapted := ""
		if a := c.Adapt; a != nil {
			adapted = fmt.Sprintf(", %d partitions, joined up to %d bytes, split: %t", a.Partitions, a.Bytes, a.Split)
		}
		if a := c.Aggregate; a != nil {
			adapted = fmt.Sprintf(", aggregated by %v from %d bytes on", a.Level, a.Bytes)
		}
		add("connection from output %q of %q to input %q of %q: %v, %v, codec %v, slow-start %v, store %q, %d edges%s",
			c.FromPort, name(c.FromStage), c.ToPort, name(c.ToStage), c.Pattern, c.Kind, c.Codec, c.SlowStart, c.Store, len(c.Edges), adapted)
	}
	return all
}

// Difference describes the first difference between two shapes; "" if there is none.
func Difference(now, before []string) string {
	for i := range max(len(now), len(before)) {
		switch {
		case i >= len(before):
			return "now it has a " + now[i]
		case i >= len(now):
			return "before it had a " + before[i]
		case now[i] != before[i]:
			return "now it has a " + now[i] + "; before it was a " + before[i]
		}
	}
	return ""
}
