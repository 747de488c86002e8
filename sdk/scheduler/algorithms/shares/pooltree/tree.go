package pooltree

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Separator separates the names in a pool's path.
const Separator = "/"

// Tree is a tree of pools. Use New.
type Tree struct {
	root   *Node
	pools  map[string]*Node
	jobs   map[scheduler.JobID]*Node
	passed [][]*Schedulable // by kind
	timed  []*Node          // pools whose order counts time
	cycles bool             // some pool is disco-fair
}

// Limits are a pool's settings for one kind of slot.
type Limits struct {
	Min    int     // slots it gets before others get more
	Max    int     // slots it may have at most; 0: no limit
	Weight float64 // 0: the pool's weight
}

// Pool is the settings of a pool.
type Pool struct {
	Weight float64 // 0: 1
	Order  Order   // of its children; nil: Fair
	Kinds  map[Kind]Limits
}

// Kind is a kind of slot as a small number, which the caller assigns.
type Kind int

// Job describes a job to a tree.
type Job struct {
	ID       scheduler.JobID
	Priority scheduler.Priority
	Start    scheduler.Time
	Weight   float64 // for every kind; 0: 1
}

// Node is a pool or a job.
type Node struct {
	Path     string          // of a pool, "" for the root; otherwise the job's id
	ID       scheduler.JobID // 0 for a pool
	Priority scheduler.Priority
	Start    scheduler.Time
	Parent   *Node // nil for the root
	Owner    any   // data of the caller

	tree   *Tree
	pool   Pool
	weight float64
	pools  []*Node // in order of path
	jobs   int
	kinds  []*Schedulable // by kind; nil: nothing is counted yet
}

// New returns a tree with one pool, the root. top is the root's order; nil: Fair.
func New(top Order) *Tree {
	t := &Tree{pools: map[string]*Node{}, jobs: map[scheduler.JobID]*Node{}}
	t.root = t.newNode(Pool{Order: top})
	return t
}

// newNode returns a pool without a parent.
func (t *Tree) newNode(p Pool) *Node {
	if p.Order == nil {
		p.Order = Fair
	}
	n := &Node{tree: t, pool: p, weight: cmp.Or(p.Weight, 1)}
	t.cycles = t.cycles || p.Order == DiscoFair
	if n.isTimed() {
		t.timed = append(t.timed, n)
	}
	return n
}

// Root returns the pool that holds all others.
func (t *Tree) Root() *Node { return t.root }

// Pool returns the pool at a path, or nil.
func (t *Tree) Pool(path string) *Node {
	if path == "" {
		return t.root
	}
	return t.pools[path]
}

// Job returns the node of a job, or nil.
func (t *Tree) Job(id scheduler.JobID) *Node { return t.jobs[id] }

// Pools returns all pools but the root, parents before children, siblings in
// order of path.
func (t *Tree) Pools() []*Node { return t.root.appendPools(nil) }

func (n *Node) appendPools(all []*Node) []*Node {
	for _, p := range n.pools {
		all = p.appendPools(append(all, p))
	}
	return all
}

// AddPool puts a pool below the pool at a path; "" is the root. It panics if there is no such pool,
// the path is taken, or the parent holds jobs: the caller decides which pools there are.
func (t *Tree) AddPool(parent, path string, p Pool) *Node {
	above := t.Pool(parent)
	if above == nil || above.jobs > 0 || t.Pool(path) != nil {
		panic(fmt.Sprintf("pooltree: pool %q cannot be put below %q", path, parent))
	}
	n := t.newNode(p)
	n.Path, n.Parent = path, above
	i, _ := slices.BinarySearchFunc(above.pools, path, func(x *Node, path string) int { return strings.Compare(x.Path, path) })
	above.pools = slices.Insert(above.pools, i, n)
	t.pools[path] = n
	return n
}

// RemovePool removes an empty pool. It panics if the pool is not empty.
func (t *Tree) RemovePool(n *Node) {
	if n.jobs > 0 || len(n.pools) > 0 {
		panic(fmt.Sprintf("pooltree: pool %q is not empty", n.Path))
	}
	n.Parent.pools = slices.DeleteFunc(n.Parent.pools, func(x *Node) bool { return x == n })
	delete(t.pools, n.Path)
	t.timed = slices.DeleteFunc(t.timed, func(x *Node) bool { return x == n })
	for _, s := range n.kinds {
		if s != nil {
			s.forget()
		}
	}
}

// Cycles says whether the tree has a disco-fair pool, which must remember the child it served last.
func (t *Tree) Cycles() bool { return t.cycles }

func (n *Node) isTimed() bool {
	_, timed := n.pool.Order.(Timed)
	return timed
}

// forget removes a child from its pool's accounts.
func (s *Schedulable) forget() {
	if s.above.timed {
		a := &s.above.accounts
		a.members = slices.DeleteFunc(a.members, func(x *Schedulable) bool { return x == s })
	}
}

// AddJob puts a job into a pool. It panics if the pool holds pools, or the job is in the tree
// already.
func (t *Tree) AddJob(pool *Node, j Job) *Node {
	if len(pool.pools) > 0 || t.jobs[j.ID] != nil {
		panic(fmt.Sprintf("pooltree: %s cannot be put into pool %q", j.ID, pool.Path))
	}
	n := &Node{
		Path: j.ID.String(), ID: j.ID, Priority: j.Priority, Start: j.Start, Parent: pool, tree: t, weight: cmp.Or(j.Weight, 1),
	}
	pool.jobs++
	t.jobs[j.ID] = n
	return n
}

// RemoveJob removes a job with its running and waiting slots.
func (t *Tree) RemoveJob(n *Node) {
	for k, s := range n.kinds {
		if s != nil {
			s.Set(0, 0)
			t.unpass(s, Kind(k))
			s.forget()
		}
	}
	n.Parent.jobs--
	delete(t.jobs, n.ID)
}

// unpass removes something from the passed list, because it leaves the tree.
func (t *Tree) unpass(s *Schedulable, k Kind) {
	if s.passed {
		t.passed[k] = slices.DeleteFunc(t.passed[k], func(x *Schedulable) bool { return x == s })
	}
}

// Pools returns the pools in a pool, in order of path.
func (n *Node) Pools() []*Node { return n.pools }

// Jobs returns how many jobs are in the pool itself.
func (n *Node) Jobs() int { return n.jobs }

// IsJob says whether the node is a job.
func (n *Node) IsJob() bool { return n.ID != 0 }

// Order returns the order of a pool.
func (n *Node) Order() Order { return n.pool.Order }

// Has says whether the node has a Schedulable of a kind.
func (n *Node) Has(k Kind) bool { return int(k) < len(n.kinds) && n.kinds[k] != nil }

// Of returns the node's Schedulable of a kind, and makes it if needed.
func (n *Node) Of(k Kind) *Schedulable {
	for len(n.kinds) <= int(k) {
		n.kinds = append(n.kinds, nil)
	}
	if n.kinds[k] == nil {
		s := &Schedulable{Node: n, place: noPlace, Weight: n.weight, id: n.ID, start: n.Start, order: n.pool.Order}
		if l, ok := n.pool.Kinds[k]; ok {
			s.Min, s.Max, s.Weight = l.Min, l.Max, cmp.Or(l.Weight, n.weight)
		}
		if n.Parent != nil {
			s.above = n.Parent.Of(k)
			if s.above.timed {
				s.above.accounts.members = append(s.above.accounts.members, s)
			}
		}
		s.timed = !n.IsJob() && n.isTimed()
		s.rank()
		n.kinds[k] = s
	}
	return n.kinds[k]
}
