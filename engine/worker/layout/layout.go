// Package layout is a job's graph as a worker builds it: stages and their tasks, connections, and
// the readers of each writer.
//
//	l, err := layout.Build(definitions, setup)
//	for _, c := range l.Connections() { ... l.Readers(c.Index, 3) ... }
package layout

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/plan/declared"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/internal/failure"
	"github.com/hamadryad/hamadryad/engine/worker/internal/splits"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// manyTasks is the number of a stage's tasks from which the memory of building is returned.
const manyTasks = 50_000

// Layout does not change once it is built. Safe for concurrent use, except for Task.
type Layout struct {
	site        site
	specs       []job.StageSpec // without their tasks
	tasks       []*splits.Tasks // by stage; nil: it reads none
	graph       *wire.Graph
	plan        *graph.Expanded  // of the same graph
	connections []Connection     // likewise
	aggregates  bool             // some connection leads into an aggregating stage
	outputs     []string         // the job's output folders
	files       []plan.LocalFile // of its commands
	before      []variable       // the process's, which the submission's replaced
	flagsSet    bool             // the submission gave values to the program's flags
}

// Connection is a connection and its place in the graph, which is its channel id.
type Connection struct {
	*wire.Connection
	Index int
}

// Build repeats the graph's construction at submission. A panic of the builder becomes an error.
func Build(defs []job.Definition, s *wire.WorkerSetup) (l *Layout, err error) {
	defer func() {
		if p := recover(); p != nil {
			l, err = nil, fmt.Errorf("job %s: its builder panicked: %v\n%s", s.JobName, p, failure.UserStack(debug.Stack()))
		}
	}()
	l = &Layout{}
	if l.site, err = parseSite(s.Environment); err != nil {
		return nil, err
	}
	blob, err := os.ReadFile(s.PlanPath)
	if err != nil {
		return nil, failure.Lost(fmt.Errorf("job %s: read its plan: %w", s.JobName, err), 0)
	}
	p, err := plan.Decode(blob)
	if errors.Is(err, plan.ErrDamaged) {
		// The launcher's copy is damaged. That is not the job's fault: the plan is fetched again.
		return nil, failure.Lost(fmt.Errorf("job %s: %s: %w", s.JobName, s.PlanPath, err), 0)
	}
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", s.JobName, err)
	}
	if err := l.applySubmission(p); err != nil {
		return nil, fmt.Errorf("job %s: %w", p.Name, err)
	}
	g, err := plan.Build(defs, p)
	if err != nil {
		return nil, err
	}
	if l.graph, err = plan.Structure(g); err != nil {
		return nil, fmt.Errorf("job %s: %w", p.Name, err)
	}
	plan.KeepChannels(l.graph, p.Channels)
	if err := plan.GiveMemory(l.graph, p.Memory); err != nil {
		return nil, fmt.Errorf("job %s: %w", p.Name, err)
	}
	if !slices.Equal(plan.FingerprintOf(l.graph, g), s.Fingerprint) {
		return nil, fmt.Errorf("job %s: the program builds another graph the second time%s: a builder must depend on its arguments, on flags that are defined before app.Main, on variables that travel (--env, Definition.Env), and on nothing else (no clock, random numbers or order of a map, and no variable that Drive sets)", p.Name, different(p, l.graph, g))
	}
	if l.plan, err = graph.Join(l.graph, anySize); err != nil {
		return nil, fmt.Errorf("job %s: %w", p.Name, err)
	}
	for i, c := range l.graph.Connections {
		l.connections = append(l.connections, Connection{c, i})
		l.aggregates = l.aggregates || c.Aggregate != nil
	}
	l.outputs, l.files = g.Outputs(), p.Files
	for i, stage := range g.Stages() {
		spec := stage.Spec()
		spec.Memory = l.graph.Stages[i].Memory
		packed, err := splits.Pack(spec.Tasks)
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", p.Name, err)
		}
		l.tasks = append(l.tasks, packed)
		spec.Tasks = nil
		l.specs = append(l.specs, spec)
	}
	return l, nil
}

// applySubmission restores the program's flags and environment variables as they were at
// submission.
func (l *Layout) applySubmission(p *plan.Submission) error {
	for _, v := range p.Environment {
		if isDevicesVariable(v.Name) {
			continue // the launcher's value counts
		}
		value, set := os.LookupEnv(v.Name)
		l.before = append(l.before, variable{v.Name, value, set})
		var err error
		if v.Unset {
			err = os.Unsetenv(v.Name)
		} else {
			err = os.Setenv(v.Name, v.Value)
		}
		if err != nil {
			return fmt.Errorf("environment variable %q: %w", v.Name, err)
		}
	}
	l.flagsSet = len(p.Flags) > 0
	return declared.Apply(flag.CommandLine, p.Flags, p.Arguments)
}

// variable is an environment variable, or that there is none of that name.
type variable struct {
	name, value string
	set         bool
}

// FlagsSet reports whether the submission gave values to flags of the program. They can't be taken
// back: a flag's value may be a list to which each value adds.
func (l *Layout) FlagsSet() bool { return l.flagsSet }

// RestoreEnvironment gives the process the environment variables that it had before Build.
func (l *Layout) RestoreEnvironment() {
	for _, v := range slices.Backward(l.before) {
		if v.set {
			_ = os.Setenv(v.name, v.value) // it was set before, so its name and value are good
		} else {
			_ = os.Unsetenv(v.name)
		}
	}
}

// different says how a graph differs from the submitted one, as far as that was recorded.
func different(p *plan.Submission, structure *wire.Graph, g *job.Graph) string {
	if d := plan.Difference(plan.Shape(structure, g), p.Shape); len(p.Shape) > 0 && d != "" {
		return " (" + d + ")"
	}
	return ""
}

// Large reports whether building took much more memory than the layout keeps.
func (l *Layout) Large() bool {
	return slices.ContainsFunc(l.tasks, func(t *splits.Tasks) bool { return t != nil && t.Len() >= manyTasks })
}

// Stage is one stage, without its tasks.
func (l *Layout) Stage(i int) *job.StageSpec { return &l.specs[i] }

// Has reports whether the graph has such a node.
func (l *Layout) Has(stage, index uint32) bool {
	return int(stage) < len(l.specs) && int(index) < l.specs[stage].Nodes
}

// StageName is the name of a stage, "" if there is none.
func (l *Layout) StageName(i uint32) string {
	if int(i) >= len(l.specs) {
		return ""
	}
	return l.specs[i].Name
}

// Task is a node's input on storage, or nil. Used by one goroutine at a time.
func (l *Layout) Task(stage, index int) job.Task {
	if t := l.tasks[stage]; t != nil {
		return t.Task(index)
	}
	return nil
}

// Connections are the graph's connections.
func (l *Layout) Connections() []Connection { return l.connections }

// Into lists the connections whose outputs a stage's nodes read. The readers behind an aggregating
// stage read the connection into that stage too, on the same port as the one out of it.
func (l *Layout) Into(stage int) (list []Connection) {
	for _, c := range l.connections {
		if int(c.ToStage) == stage {
			list = append(list, c)
		}
		if out, is := graph.AggregateOut(l.graph, c.Index); is && int(l.connections[out].ToStage) == stage {
			direct := proto.CloneOf(c.Connection)
			direct.ToStage, direct.ToPort = l.connections[out].ToStage, l.connections[out].ToPort
			list = append(list, Connection{direct, c.Index})
		}
	}
	return list
}

// Aggregates reports whether the nodes that read or write over a connection are chosen at run time,
// because a stage aggregates.
func (l *Layout) Aggregates(connection int) bool {
	if !l.aggregates || l.connections[connection].Aggregate != nil {
		return l.aggregates
	}
	for _, c := range l.connections {
		if out, is := graph.AggregateOut(l.graph, c.Index); is && out == connection {
			return true
		}
	}
	return false
}

// WholeReader reports whether a node of a stage reads all partitions over a connection: it aggregates.
func (l *Layout) WholeReader(connection, stage int) bool {
	c := l.connections[connection]
	return c.Aggregate != nil && int(c.ToStage) == stage
}

// Outputs are the job's output folders.
func (l *Layout) Outputs() []string { return l.outputs }

// File returns a file that was submitted with the job.
func (l *Layout) File(path string) (plan.LocalFile, bool) {
	i := slices.IndexFunc(l.files, func(f plan.LocalFile) bool { return f.Path == path })
	if i < 0 {
		return plan.LocalFile{}, false
	}
	return l.files[i], true
}

// EdgeName names a channel in errors.
func (l *Layout) EdgeName(c Connection, from, to int) string {
	return fmt.Sprintf("channel %s.%d to %s.%d", l.specs[c.FromStage].Name, from, l.specs[c.ToStage].Name, to)
}
