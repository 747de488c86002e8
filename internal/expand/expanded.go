package expand

import (
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Expanded is an expanded graph. Nodes are numbered over all stages, in order of
// stage, then index; groups in order of their first node; bundles in order of
// their first group.
type Expanded struct {
	Graph   Graph // as given; defaults are not filled in
	Groups  []Group
	Bundles []Bundle

	offset  []int32 // number of each stage's first node, and the number of nodes
	groupOf []int32 // by node
	edges   []edgeLists
}

// Group is one node group.
type Group struct {
	Nodes []int32 // numbers, ascending
	*Need
	Stage  int32 // of its first node
	Bundle int32
	// Inputs counts the pairs of a node and a file connection it reads from: the inputs that the
	// group waits for.
	Inputs int
}

// Need is what a group asks of a launcher. Groups that are alike share it.
type Need struct {
	Kind   string
	Slots  int
	Memory int64 // bytes
	// Resources are the sum of its nodes' countable resources.
	Resources scheduler.Resources
}

// Bundle is one bundle: groups that start together.
type Bundle struct {
	Groups []int32
	TCP    bool // some of its nodes are joined by tcp channels
}

// Node names a node by stage and index.
type Node struct{ Stage, Index int }

// Range is the numbers from Low up to and without High.
type Range struct{ Low, High int }

// Nodes returns the number of nodes of all stages.
func (p *Expanded) Nodes() int { return len(p.groupOf) }

// Node returns the stage and index of a node's number.
func (p *Expanded) Node(number int32) Node {
	low, high := 0, len(p.offset)-1
	for high-low > 1 {
		if mid := (low + high) / 2; p.offset[mid] <= number {
			low = mid
		} else {
			high = mid
		}
	}
	return Node{low, int(number - p.offset[low])}
}

// Number returns a node's number.
func (p *Expanded) Number(n Node) int32 { return p.offset[n.Stage] + int32(n.Index) }

// GroupOf returns the group of a node.
func (p *Expanded) GroupOf(number int32) int { return int(p.groupOf[number]) }

// StageNodes returns how many nodes a stage has.
func (p *Expanded) StageNodes(stage int) int { return int(p.offset[stage+1] - p.offset[stage]) }

// Sizes returns the node counts of a connection's writing and reading stages.
func (p *Expanded) Sizes(c int) (writers, readers int) {
	m := &p.Graph.Connections[c]
	return p.StageNodes(m.From), p.StageNodes(m.To)
}

// Writers returns the indexes of the nodes that node `to` of the reading stage
// reads from, ascending: a range, or a list when the connection lists edges.
func (p *Expanded) Writers(c, to int) (Range, []int32) {
	n, m := p.Sizes(c)
	switch p.Graph.Connections[c].Pattern {
	case job.OneToOne:
		return Range{to, to + 1}, nil
	case job.AllToAll:
		return Range{0, n}, nil
	case job.Merge: // i goes to floor(i*m/n)
		return preimage(to, n, m), nil
	case job.Fork: // j reads from floor(j*n/m)
		i := int(int64(to) * int64(n) / int64(m))
		return Range{i, i + 1}, nil
	}
	return Range{}, p.edges[c].into.of(to)
}

// Readers returns the indexes of the nodes that read what node `from` of the
// writing stage writes, ascending. The i-th of them reads partition i.
func (p *Expanded) Readers(c, from int) (Range, []int32) {
	n, m := p.Sizes(c)
	switch p.Graph.Connections[c].Pattern {
	case job.OneToOne:
		return Range{from, from + 1}, nil
	case job.AllToAll:
		return Range{0, m}, nil
	case job.Merge:
		j := int(int64(from) * int64(m) / int64(n))
		return Range{j, j + 1}, nil
	case job.Fork:
		return preimage(from, m, n), nil
	}
	return Range{}, p.edges[c].out.of(from)
}

// Partitions returns how many partitions a writer's output has.
func (p *Expanded) Partitions(c, from int) int {
	if n := p.Graph.Connections[c].Partitions; n > 0 {
		return n
	}
	r, list := p.Readers(c, from)
	return r.High - r.Low + len(list)
}

// FanIn returns how many writers a reader has.
func (p *Expanded) FanIn(c, to int) int {
	r, list := p.Writers(c, to)
	return r.High - r.Low + len(list)
}

// preimage returns the x below n with floor(x*m/n) == y.
func preimage(y, n, m int) Range {
	up := func(k int) int { return int((int64(k)*int64(n) + int64(m) - 1) / int64(m)) }
	return Range{up(y), up(y + 1)}
}

// Each calls f for every index of a range or list.
func Each(r Range, list []int32, f func(i int)) {
	for i := r.Low; i < r.High; i++ {
		f(i)
	}
	for _, i := range list {
		f(int(i))
	}
}

// edgeLists are a connection's listed edges from both ends.
type edgeLists struct{ out, into adjacency }

// adjacency lists each node's neighbours, ascending.
type adjacency struct {
	start []int32
	ends  []int32
}

func (a adjacency) of(i int) []int32 { return a.ends[a.start[i]:a.start[i+1]] }
