// Package pipeline builds graphs that are lists of stages, as in Disco. Each stage is a computation
// and a grouping. The grouping divides the previous stage's output among the stage's tasks. The
// first stage reads the stored input.
//
//	pipeline.Build(g, tasks, []pipeline.Stage{
//		{Name: "map", Group: pipeline.Split, Labels: 8, Run: emitWordsByHash},
//		{Name: "sum", Group: pipeline.ByLabel, Labels: 1, Run: addUp},
//		{Name: "report", Group: pipeline.All, Run: write(g.Output(out))},
//	})
//
// A task gives each record that it emits a label, a number below its stage's Labels. The number of
// tasks follows from groupings and labels alone, so it is known before anything runs. A task reads
// nothing if no record has its label.
//
// A task's node is where it is expected to run. That is the host that holds most of its stored
// input. In later stages it is the node by which its input was grouped. Policies place tasks near
// their input, so they normally run there, but this is not guaranteed.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// Grouping is how outputs of the previous stage are combined into one task's input. An output is
// what one task emitted with one label.
type Grouping uint8

// The groupings.
const (
	Split       Grouping = iota // one task for each output
	ByLabel                     // one task for each label
	ByNode                      // one task for each node
	ByNodeLabel                 // one task for each node and label
	All                         // one task
)

// Stage is one step of a pipeline.
type Stage struct {
	Name   string
	Group  Grouping
	Labels int // number of labels that its tasks emit: 0 to Labels-1; 1 when 0
	Run    func(ctx context.Context, t *Task) error
	Memory int64 // bytes a task may use; the site's default when 0
}

// Task is a running task. Its own methods are for one goroutine.
type Task struct {
	*job.Node
	// Label is the label of all that the task reads; -1 if its grouping mixes labels.
	Label int
	// Place is the node of the task's grouping; "" if the grouping mixes nodes, or none is known.
	Place string

	out   job.Output
	route []int // label to partition
}

// port names both ends of the connection between two stages.
const port = "next"

// Emit passes a record on to the next stage.
func (t *Task) Emit(ctx context.Context, label int, record []byte) error {
	switch {
	case t.out == nil:
		return errors.New("the last stage of a pipeline emits nothing: create a file")
	case label < 0 || label >= len(t.route):
		return fmt.Errorf("label %d: the stage has labels 0 to %d; raise its Labels", label, len(t.route)-1)
	}
	return t.out.Write(ctx, t.route[label], record)
}

// Records ranges over what the previous stage emitted for this task, in no fixed order. The first
// stage reads its stored input (Node.Task) instead. A record is valid until the next one. An error
// is the last thing it yields.
func (t *Task) Records(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		in, err := t.Input(port)
		if err != nil {
			yield(nil, err)
			return
		}
		for {
			b, err := in.Next(ctx)
			if err == io.EOF { //nolint:errorlint // only the bare one is the end: a failure may wrap it
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for record := range b.All() {
				if !yield(record, nil) {
					return
				}
			}
		}
	}
}

// Build adds the stages to a graph. The first stage reads tasks.
func Build(g *job.Graph, tasks []job.Task, stages []Stage) error {
	if len(stages) == 0 {
		return errors.New("the pipeline has no stage")
	}
	before := make([]member, len(tasks)) // input counts as emitted by a stage with one label
	for i, t := range tasks {
		before[i] = member{label: 0, place: mostOf(t)}
	}
	var from *job.Stage
	labels := 1
	for i, s := range stages {
		if s.Run == nil || s.Labels < 0 || s.Group > All {
			return fmt.Errorf("stage %q of the pipeline has no Run, a grouping that is none, or %d labels", s.Name, s.Labels)
		}
		members, to := group(s.Group, before, labels)
		next := max(s.Labels, 1)
		var routes [][]int
		if i+1 < len(stages) {
			_, dealt := group(stages[i+1].Group, members, next)
			routes = partitions(dealt)
		}
		stage := g.Stage(s.Name, len(members), program(s, members, routes)).Memory(s.Memory)
		if from == nil {
			stage.Read(gather(tasks, to, len(members)))
		} else {
			g.Connect(from.Out(port), stage.In(port), job.Channel{Kind: job.File}, edges(to))
		}
		from, before, labels = stage, members, next
	}
	return nil
}

func program(s Stage, members []member, routes [][]int) job.Program {
	return func(ctx context.Context, n *job.Node) error {
		i := n.Info().Index
		t := &Task{Node: n, Label: members[i].label, Place: members[i].place}
		if routes != nil {
			out, err := n.Output(port)
			if err != nil {
				return err
			}
			t.out, t.route = out, routes[i]
		}
		return s.Run(ctx, t)
	}
}
