package simcluster

import (
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Job is a job as machines need to know it to run it.
type Job struct {
	Graph *graph.Expanded
	// Work is how long an attempt works on a usual machine, next to its input; nil: no time. It is
	// called once for each attempt, so that each may differ.
	Work func(*Attempt) time.Duration
	// Size is how many bytes a node stores in one partition of a connection; nil: none.
	Size func(connection int, from uint32, partition int) int64
	// Shuffled is how many bytes an attempt reads of what others stored, evenly from each. It is
	// fetched through Cluster.Links when all of it is there, before the work; nil: no bytes.
	Shuffled func(*Attempt) int64
	// Outputs says that nodes write files that the job publishes.
	Outputs bool
	// AsksCommit has attempts request a commit before they end; last groups always do.
	AsksCommit bool

	gangs map[uint64][]*Attempt // by bundle attempt
	last  [][]*Stored           // the last stored, by connection and writer
	empty []int64               // zeros, shared by outputs without bytes
}

// stored is the last stored version of an output; nil: none.
func (j *Job) stored(k Input) *Stored {
	if int(k.Connection) < len(j.last) && int(k.From) < len(j.last[k.Connection]) {
		return j.last[k.Connection][k.From]
	}
	return nil
}

// keeps notes the last stored version of an output.
func (j *Job) keeps(k Input, s *Stored) {
	if n := int(k.Connection) + 1 - len(j.last); n > 0 {
		j.last = append(j.last, make([][]*Stored, n)...)
	}
	list := &j.last[k.Connection]
	if *list == nil {
		writers, _ := j.Graph.Sizes(int(k.Connection))
		*list = make([]*Stored, writers)
	}
	(*list)[k.From] = s
}

// Input names one node's output on one connection.
type Input struct{ Connection, From uint32 }

// Inputs lists the inputs of an attempt, each once, from the graph and not from its commands. Those
// of connections whose writers the core chose are not among them.
func (j *Job) Inputs(m *wire.StartAttempt) (inputs []Input) {
	if m.Finish != nil || j.Graph == nil {
		return nil
	}
	seen := map[Input]bool{}
	for _, n := range m.Nodes {
		for c, conn := range j.Graph.Graph.Connections {
			if conn.ToStage != n.Stage || conn.Kind != wire.ChannelKind_CHANNEL_KIND_FILE || counted(m, c) {
				continue
			}
			r, list := j.writers(m, c, n.Index)
			graph.Each(r, list, func(i int) {
				if k := (Input{uint32(c), uint32(i)}); !seen[k] {
					seen[k] = true
					inputs = append(inputs, k)
				}
			})
		}
	}
	return inputs
}

// writers are those that a node reads over a connection, as a range and a list.
func (j *Job) writers(m *wire.StartAttempt, connection int, to uint32) (graph.Range, []int32) {
	if p := m.Portion; p != nil && int(p.Connection) == connection {
		return graph.Range{Low: int(p.First), High: int(p.End)}, nil
	}
	return j.Graph.Writers(connection, int(to))
}

// counted reports whether the core chose a connection's writers.
func counted(m *wire.StartAttempt, connection int) bool {
	return slices.ContainsFunc(m.InputCounts, func(x *wire.InputCount) bool { return int(x.Connection) == connection })
}

// count is how many inputs an attempt has, with those whose writers the core chose.
func (j *Job) count(m *wire.StartAttempt) int {
	n := j.countListed(m)
	for _, x := range m.InputCounts {
		n += int(x.Writers)
	}
	return n
}

// countListed is how many Inputs an attempt has.
func (j *Job) countListed(m *wire.StartAttempt) int {
	if m.Finish != nil || j.Graph == nil || len(m.Nodes) != 1 {
		return len(j.Inputs(m))
	}
	n := 0
	for c, conn := range j.Graph.Graph.Connections {
		switch {
		case conn.ToStage != m.Nodes[0].Stage || conn.Kind != wire.ChannelKind_CHANNEL_KIND_FILE || counted(m, c):
		case conn.Pattern == wire.Pattern_PATTERN_EDGES: // an edge may stand there twice
			return len(j.Inputs(m))
		default:
			r, list := j.writers(m, c, m.Nodes[0].Index)
			n += r.High - r.Low + len(list)
		}
	}
	return n
}

// Width is how many groups start together with an attempt.
func (j *Job) Width(m *wire.StartAttempt) int {
	if m.Finish != nil || j.Graph == nil {
		return 1
	}
	n := m.Nodes[0]
	return len(j.Graph.Bundles[j.Graph.BundleOf(j.Graph.Number(graph.Node{Stage: int(n.Stage), Index: int(n.Index)}))].Groups)
}

// Product is a good end of an attempt: what its nodes stored, and the files they wrote.
func (j *Job) Product(m *wire.StartAttempt) *wire.AttemptEnded {
	e := &wire.AttemptEnded{Attempt: m.Attempt, End: wire.End_END_FINISHED}
	if j.Graph == nil {
		return e
	}
	for _, n := range m.Nodes {
		for c, conn := range j.Graph.Graph.Connections {
			if conn.FromStage == n.Stage && conn.Kind == wire.ChannelKind_CHANNEL_KIND_FILE {
				e.Stored = append(e.Stored, j.store(c, n.Index))
			}
		}
		if j.Outputs {
			e.Files = append(e.Files, &wire.CommittedFile{Stage: n.Stage, Index: n.Index, Temporary: fmt.Sprintf("a%d.%d", m.Attempt, n.Index), Name: PartName(n.Stage, n.Index)})
		}
	}
	return e
}

func (j *Job) store(connection int, from uint32) *wire.StoredOutput {
	m, n := &wire.StoredOutput{Connection: uint32(connection), From: from}, j.Graph.Partitions(connection, int(from))
	if j.Size == nil {
		if len(j.empty) < n {
			j.empty = make([]int64, n)
		}
		m.PartitionBytes = j.empty[:n:n]
		return m
	}
	m.PartitionBytes = make([]int64, n)
	for i := range m.PartitionBytes {
		m.PartitionBytes[i] = j.Size(connection, from, i)
		m.Bytes += m.PartitionBytes[i]
	}
	return m
}

// PartName is the name of the file that a node writes.
func PartName(stage, index uint32) string { return fmt.Sprintf("part-%d-%d", stage, index) }

// length is how long an attempt works here.
func (a *Attempt) length() time.Duration {
	j := a.job
	if j.Work == nil {
		return 0
	}
	d := j.Work(a)
	if f := a.factor(); f != 1 {
		d = time.Duration(f * float64(d))
	}
	return d
}

// factor is how many times longer the work takes because of its input's locality.
func (a *Attempt) factor() float64 {
	sum, bytes := 0.0, int64(0)
	for level, n := range a.stored() {
		f := a.On.Locality[level]
		if f == 0 {
			f = 1
		}
		sum, bytes = sum+f*float64(n), bytes+n
	}
	if bytes == 0 {
		return 1
	}
	return sum / float64(bytes)
}

// stored is how many bytes of stored input an attempt's nodes have, by level.
func (a *Attempt) stored() [scheduler.LocalityLevels]int64 {
	if !a.looked {
		a.looked, a.near = true, a.look()
	}
	return a.near
}

func (a *Attempt) look() (read [scheduler.LocalityLevels]int64) {
	j := a.job
	if j.Graph == nil {
		return read
	}
	for _, n := range a.Start.Nodes {
		if inputs := j.Graph.Graph.Stages[n.Stage].Inputs; len(inputs) > 0 {
			in := inputs[n.Index]
			read[a.On.level(in.Places)] += in.Bytes
		}
	}
	return read
}

// Near is the worst locality of its stored input; false: it has none.
func (a *Attempt) Near() (scheduler.Locality, bool) {
	worst, any := scheduler.NodeLocal, false
	for level, n := range a.stored() {
		if n > 0 {
			worst, any = scheduler.Locality(level), true //nolint:gosec // it is an index of few levels
		}
	}
	return worst, any
}

// level is how near a launcher is to the nearest of some places.
func (l *Launcher) level(places []*wire.Place) scheduler.Locality {
	best := scheduler.Remote
	for _, p := range places {
		if p.Host == l.Host {
			return scheduler.NodeLocal
		}
		if p.Rack != "" && p.Rack == l.Rack {
			best = scheduler.RackLocal
		}
	}
	return best
}
