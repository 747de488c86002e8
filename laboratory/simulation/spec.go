package simulation

import (
	"cmp"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/laboratory/workload"
)

// nobody is the user of a job without one in the workload.
const nobody = "nobody"

// submission is a job's submission, and the time of its last group.
func (p *player) submission(i int, j *workload.Job) (*wire.JobSpec, time.Duration) {
	if given := p.options.Submissions; given != nil {
		return given[i].Spec, given[i].Finish
	}
	return p.spec(i, j), 0
}

// spec is a job's submission by the workload's model.
func (p *player) spec(i int, j *workload.Job) *wire.JobSpec {
	user := cmp.Or(j.User, j.Pool, nobody)
	m := &wire.JobSpec{
		Name: cmp.Or(j.Name, j.ID), Pool: cmp.Or(j.Pool, user), Principal: &wire.Principal{Name: user},
		Priority: int32(j.Priority), Graph: &wire.Graph{},
	}
	if j.Deadline > 0 { // not before the batch that submits it
		m.Limits = &wire.JobLimits{Deadline: int64(p.Now().Add(max(j.Deadline, p.options.Tick+time.Millisecond)))}
	}
	for _, p := range j.Properties {
		m.Properties = append(m.Properties, &wire.Property{Name: p.Name, Value: p.Value})
	}
	for s := range j.Stages {
		m.Graph.Stages = append(m.Graph.Stages, p.stage(i, s, &j.Stages[s]))
		for _, from := range j.Stages[s].After {
			m.Graph.Connections = append(m.Graph.Connections, p.connection(from, s, &j.Stages[s]))
		}
	}
	return m
}

func (p *player) stage(job, stage int, s *workload.Stage) *wire.Stage {
	m := &wire.Stage{Name: s.Name, Nodes: uint32(len(s.Tasks)), Kind: s.Kind, Slots: uint32(s.Slots), Memory: s.Memory, Shuffles: shuffles(s), ExpectedNs: int64(s.Estimate)} //nolint:gosec // Check bounds the slots
	for _, c := range s.Resources {
		m.Resources = append(m.Resources, &wire.ResourceCount{Kind: c.Kind, Count: uint32(c.Count)}) //nolint:gosec // Check bounds the counts
	}
	for i := range s.Tasks {
		in := p.input(job, stage, i, &s.Tasks[i])
		if in == nil && m.Inputs == nil {
			continue
		}
		if m.Inputs == nil { // earlier tasks have none
			for range i {
				m.Inputs = append(m.Inputs, &wire.NodeInput{})
			}
		}
		m.Inputs = append(m.Inputs, cmp.Or(in, &wire.NodeInput{}))
	}
	return m
}

// input is a task's stored input; nil: it has none. A source may name the input's hosts without its
// size: a byte stands for it.
func (p *player) input(job, stage, task int, t *workload.Task) *wire.NodeInput {
	size := t.Input
	switch {
	case size == 0 && len(t.Places) == 0:
		return nil
	case size == 0:
		size = 1
	}
	places := t.Places
	if len(places) == 0 && p.copies != nil {
		places = p.copies(job, stage, task)
	}
	m := &wire.NodeInput{Bytes: size}
	for _, at := range places {
		m.Places = append(m.Places, p.place(at, size))
	}
	return m
}

// place is the place of a copy. Copies of one size on one host share a message, which nobody
// changes: there are a few for each of millions of tasks.
func (p *player) place(at workload.Place, size int64) *wire.Place {
	m := p.places[at.Host]
	if m == nil || m.Rack != at.Rack || m.Bytes != size {
		m = &wire.Place{Host: at.Host, Rack: at.Rack, Bytes: size}
		p.places[at.Host] = m
	}
	return m
}

// shuffles reports whether a stage reads through files what all tasks of earlier stages wrote.
func shuffles(s *workload.Stage) bool {
	return len(s.After) > 0 && channels[s.Channel] == wire.ChannelKind_CHANNEL_KIND_FILE && patterns[s.Pattern] == wire.Pattern_PATTERN_ALL_TO_ALL
}

// channels and patterns translate those of a workload to a graph's.
var (
	channels = map[workload.Channel]wire.ChannelKind{
		"": wire.ChannelKind_CHANNEL_KIND_FILE, workload.ChannelFile: wire.ChannelKind_CHANNEL_KIND_FILE,
		workload.ChannelTCP: wire.ChannelKind_CHANNEL_KIND_TCP, workload.ChannelSHM: wire.ChannelKind_CHANNEL_KIND_SHM,
	}
	patterns = map[workload.Pattern]wire.Pattern{
		"": wire.Pattern_PATTERN_ALL_TO_ALL, workload.AllToAll: wire.Pattern_PATTERN_ALL_TO_ALL, workload.OneToOne: wire.Pattern_PATTERN_ONE_TO_ONE,
		workload.Merge: wire.Pattern_PATTERN_MERGE, workload.Fork: wire.Pattern_PATTERN_FORK,
	}
)

// connection is the connection from a stage to its reader.
func (p *player) connection(from, to int, s *workload.Stage) *wire.Connection {
	m := &wire.Connection{
		FromStage: uint32(from), ToStage: uint32(to), FromPort: s.Name, ToPort: "in", Pattern: patterns[s.Pattern], Kind: channels[s.Channel],
	}
	slow := cmp.Or(s.SlowStart, p.options.Cluster.Model.SlowStart)
	if slow < 1 && m.Kind == wire.ChannelKind_CHANNEL_KIND_FILE { // at 1 readers wait for all writers, which is the graph's 0
		m.SlowStart = slow
	}
	return m
}
