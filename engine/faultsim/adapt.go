package faultsim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// adaptStream distinguishes the random numbers of adapted connections from those of the history.
const adaptStream = 0x6164617074

// A partition is large beyond this ratio to the median, and these bytes.
const (
	largeRatio = 5
	largeBytes = 256 << 20
)

// adapted is what is known of a job's adapted connection. It repeats the rules for the choice of
// readers in its own words.
type adapted struct {
	conn     int
	stage    uint32 // that reads it
	writers  uint32
	wanted   *wire.Adapt
	sizes    [][]int64                // by partition and writer
	varies   bool                     // sizes change each time a writer runs
	portions map[uint32]*wire.Portion // what attempts were started with, by reader
	// forgotten: the log has lost records, so readers may have been chosen anew.
	forgotten bool
}

// drawAdapted draws which jobs have an adapted connection, and the sizes of its partitions.
func (c *clients) drawAdapted(r *rand.Rand) {
	for _, j := range c.list {
		if j.wrong {
			continue
		}
		g := j.spec.Graph
		for i, x := range g.Connections {
			to := g.Stages[x.ToStage]
			others := slices.ContainsFunc(g.Connections, func(y *wire.Connection) bool {
				return y != x && (y.ToStage == x.ToStage || y.FromStage == x.ToStage)
			})
			if x.Kind != wire.ChannelKind_CHANNEL_KIND_FILE || x.Pattern != wire.Pattern_PATTERN_ALL_TO_ALL || to.Nodes == 0 || others || r.IntN(1000) >= 700 {
				continue
			}
			to.Inputs, x.SlowStart = nil, 0
			x.Adapt = &wire.Adapt{Partitions: 1 + r.Uint32N(to.Nodes), Bytes: []int64{1, 2000, 5000, 200 << 20}[r.IntN(4)], Split: r.IntN(3) > 0}
			c.adapt(j, i, r)
			break
		}
	}
}

// adapt makes a job's connection an adapted one.
func (c *clients) adapt(j *fakeJob, conn int, r *rand.Rand) {
	x := j.spec.Graph.Connections[conn]
	j.plan, _ = graph.Expand(j.spec.Graph, 64<<20, graph.DefaultLimits()) // it was expanded before
	j.runs.Graph = j.plan
	writers, _ := j.plan.Sizes(conn)
	a := &adapted{conn: conn, stage: x.ToStage, writers: uint32(writers), wanted: x.Adapt, varies: r.IntN(3) == 0, portions: map[uint32]*wire.Portion{}}
	for range a.wanted.Partitions {
		most := []int64{1, 1000, 1000, 1000, 1 << 30}[r.IntN(5)]
		sizes := make([]int64, writers)
		for w := range sizes {
			sizes[w] = r.Int64N(most)
		}
		a.sizes = append(a.sizes, sizes)
	}
	usual := j.runs.Size
	j.runs.Size = func(connection int, from uint32, partition int) int64 {
		if connection != conn {
			return usual(connection, from, partition)
		}
		size := a.sizes[partition][from]
		if a.varies {
			size = r.Int64N(size + 1)
		}
		return size
	}
	j.adapted = a
	c.Seen["adapted connections"]++
}

// checkPortion checks what an attempt is to read of its job's adapted connection. The choice of
// readers is made once, whatever happens then, unless the log lost it.
func (c *clients) checkPortion(m *wire.StartAttempt) error {
	a, p := c.byID[m.Job].adapted, m.Portion
	reads := a != nil && len(m.Nodes) == 1 && m.Nodes[0].Stage == a.stage
	switch {
	case !reads && p == nil:
		return nil
	case !reads || p == nil:
		return fmt.Errorf("attempt %d of nodes %v has the portion %v", m.Attempt, m.Nodes, p)
	case int(p.Connection) != a.conn || p.Low >= p.High || p.High > a.wanted.Partitions || p.First > p.End || p.End > a.writers:
		return fmt.Errorf("attempt %d reads %v, of %d partitions of %d writers", m.Attempt, p, a.wanted.Partitions, a.writers)
	}
	if a.forgotten {
		return nil
	}
	reader := m.Nodes[0].Index
	before := a.portions[reader]
	if before != nil && !proto.Equal(before, p) {
		return fmt.Errorf("attempt %d of reader %d reads %v, and an attempt before read %v", m.Attempt, reader, p, before)
	}
	a.portions[reader] = p
	for other, o := range a.portions {
		if other != reader && p.Low < o.High && o.Low < p.High && p.First < o.End && o.First < p.End {
			return fmt.Errorf("reader %d reads %v, and reader %d reads %v", reader, p, other, o)
		}
	}
	if a.varies {
		return nil
	}
	return a.checkSizes(p)
}

// checkSizes checks a portion against the sizes of partitions, if these do not vary.
func (a *adapted) checkSizes(p *wire.Portion) error {
	bytes := int64(0)
	for _, sizes := range a.sizes[p.Low:p.High] {
		for _, n := range sizes[p.First:p.End] {
			bytes += n
		}
	}
	piece := p.First > 0 || p.End < a.writers
	switch {
	case p.High-p.Low > 1 && (piece || bytes > a.wanted.Bytes):
		return fmt.Errorf("%v joins partitions with %d bytes, and may up to %d", p, bytes, a.wanted.Bytes)
	case piece && !a.large(p.Low):
		return fmt.Errorf("%v is a piece of a partition that is not large", p)
	}
	return nil
}

func (a *adapted) total(partition uint32) (bytes int64) {
	for _, n := range a.sizes[partition] {
		bytes += n
	}
	return bytes
}

func (a *adapted) large(partition uint32) bool {
	n, below := a.total(partition), 0
	for i := range a.sizes {
		if a.total(uint32(i))*largeRatio < n {
			below++
		}
	}
	return a.wanted.Split && n > largeBytes && below*2 >= len(a.sizes)
}

// used returns how many nodes of a stage a job used that has succeeded, as its status says, and what
// is wrong with the choice of its readers.
func (j *fakeJob) used(stage int, st *wire.StageStatus) (uint32, error) {
	a, nodes := j.adapted, j.spec.Graph.Stages[stage].Nodes
	switch x := j.aggregated; {
	case x != nil && int(x.stage) == stage:
		return x.used(st), nil
	case a == nil || int(a.stage) != stage:
		return nodes, nil
	case a.forgotten:
		return st.Nodes, nil
	}
	pairs := uint32(0)
	for _, p := range a.portions {
		pairs += (p.High - p.Low) * (p.End - p.First)
	}
	n := uint32(len(a.portions))
	if pairs != a.wanted.Partitions*a.writers || n > nodes || n == 0 || slices.Max(slices.Collect(maps.Keys(a.portions))) != n-1 {
		return n, fmt.Errorf("its readers read %v, of %d partitions of %d writers", a.portions, a.wanted.Partitions, a.writers)
	}
	for i := range n - 1 { // neighbours that could be one
		p, q := a.portions[i], a.portions[i+1]
		if whole := p.First+q.First == 0 && p.End == a.writers && q.End == a.writers; !whole || a.varies || a.large(p.Low) || a.large(q.Low) {
			continue
		}
		if sum := a.checkSizes(&wire.Portion{Low: p.Low, High: q.Low + 1, End: a.writers}); sum == nil {
			return n, fmt.Errorf("readers %d and %d read %v and %v, and could be one", i, i+1, p, q)
		}
	}
	return n, nil
}
