package pooltree

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares"
)

// Two pools share six slots one to two; then one of them is given a minimum.
func Example() {
	const kind Kind = 0
	t := New(Fair)
	t.AddPool("", "small", Pool{Weight: 1})
	t.AddPool("", "large", Pool{Weight: 2})
	for id, pool := range []string{"small", "large"} {
		t.AddJob(t.Pool(pool), Job{ID: scheduler.JobID(id + 1)}).Of(kind).Set(0, 10)
	}
	for range 6 {
		job := t.Next(kind)
		job.Of(kind).Take(1)
		fmt.Print(job.Parent.Path, " ")
	}
	t.Divide(kind, 6)
	fmt.Println(t.Pool("small").Of(kind).Share, t.Pool("large").Of(kind).Share)
	// Output:
	// large small large large small large 2 4
}

// plan is a tree's contents in plain words, from which the obvious algorithm
// answers and an equal tree can be built.
type plan struct {
	orders map[string]Order // of leaf pools
	jobs   map[scheduler.JobID]*planned
}

type planned struct {
	pool           string
	job            Job
	running, ready int
}

var leaves = []string{"a/x", "a/y", "b", "c"}

func (p plan) tree() *Tree {
	t := New(Fair)
	t.AddPool("", "a", Pool{Weight: 2, Kinds: map[Kind]Limits{0: {Max: 9}}})
	limits := map[string]Limits{"a/x": {Min: 3}, "a/y": {Weight: 0.5}, "b": {Max: 4}, "c": {Min: 2, Max: 6}}
	for _, path := range leaves {
		parent := ""
		if path[1:] != "" {
			parent = path[:1]
		}
		t.AddPool(parent, path, Pool{Order: p.orders[path], Kinds: map[Kind]Limits{0: limits[path]}})
	}
	for id := scheduler.JobID(1); id < 40; id++ {
		if j := p.jobs[id]; j != nil {
			t.AddJob(t.Pool(j.pool), j.job).Of(0).Set(j.running, j.ready)
		}
	}
	return t
}

// inOrder lists the waiting jobs of a node by sorting at every level.
func inOrder(n *Node, children map[*Node][]*Node) []scheduler.JobID {
	if n.IsJob() {
		return []scheduler.JobID{n.ID}
	}
	compare := shares.CompareFair
	if n.Order() == FIFO {
		compare = shares.CompareFIFO
	}
	var willing []*Node
	for _, c := range children[n] {
		s := c.Of(0)
		if s.Max > 0 && s.Running >= s.Max || c.IsJob() && s.Ready() == 0 {
			continue
		}
		willing = append(willing, c)
	}
	slices.SortFunc(willing, func(a, b *Node) int {
		x, y := a.Of(0).Rank(), b.Of(0).Rank()
		if a.IsJob() {
			x.Name, y.Name = fmt.Sprintf("%09d", a.ID), fmt.Sprintf("%09d", b.ID)
		}
		return compare(x, y)
	})
	var all []scheduler.JobID
	for _, c := range willing {
		all = append(all, inOrder(c, children)...)
	}
	return all
}

// walked lists the waiting jobs by asking for one after the other.
func walked(t *Tree) []scheduler.JobID {
	var all []scheduler.JobID
	for j := t.Next(0); j != nil; j = t.Next(0) {
		all = append(all, j.ID)
		t.Pass(j, 0)
	}
	t.Rewind(0)
	return all
}

// change does one random thing to a tree and its plan alike.
func (p plan) change(t *Tree, rng *rand.Rand) {
	id := scheduler.JobID(1 + rng.IntN(39))
	j, n := p.jobs[id], t.Job(id)
	switch {
	case j == nil:
		j = &planned{leaves[rng.IntN(len(leaves))], Job{
			ID: id, Priority: scheduler.Priority(rng.IntN(3)), Start: scheduler.Time(rng.IntN(3)), Weight: float64(1+rng.IntN(3)) / 2,
		}, 0, rng.IntN(4)}
		p.jobs[id] = j
		t.AddJob(t.Pool(j.pool), j.job).Of(0).Set(0, j.ready)
	case rng.IntN(8) == 0:
		t.RemoveJob(n)
		delete(p.jobs, id)
	case rng.IntN(8) == 0:
		j.job.Weight = float64(1+rng.IntN(3)) / 2
		n.Of(0).SetWeight(j.job.Weight)
	default:
		j.running, j.ready = rng.IntN(4), rng.IntN(4)
		n.Of(0).Set(j.running, j.ready)
	}
}

func (p plan) serve(t *Tree) {
	if n := t.Next(0); n != nil {
		n.Of(0).Take(1)
		j := p.jobs[n.ID]
		j.running, j.ready = j.running+1, j.ready-1
	}
}

// TestAgainstSorting compares the queues with a full sort, and the totals of pools with a sum.
func TestAgainstSorting(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		p := plan{map[string]Order{"a/x": Fair, "a/y": FIFO, "b": FIFO, "c": Fair}, map[scheduler.JobID]*planned{}}
		tree := p.tree()
		for range 60 {
			if rng.IntN(3) == 0 {
				p.serve(tree)
			} else {
				p.change(tree, rng)
			}
			children := map[*Node][]*Node{}
			for _, n := range tree.Pools() {
				children[n.Parent] = append(children[n.Parent], n)
			}
			running := map[string]int{}
			for id := range p.jobs {
				n := tree.Job(id)
				children[n.Parent] = append(children[n.Parent], n)
				running[n.Parent.Path] += p.jobs[id].running
			}
			if got, want := walked(tree), inOrder(tree.Root(), children); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: order %v, want %v", seed, got, want)
			}
			for path, want := range running {
				if got := tree.Pool(path).Of(0).Running; got != want {
					t.Fatalf("seed %d: pool %s runs %d, want %d", seed, path, got, want)
				}
			}
		}
	}
}

// TestLineIsWhatComes: a line lists the jobs in the order in which the tree then serves them, for
// each order. Reading it does not change the tree.
func TestLineIsWhatComes(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		all := []Order{Fair, FIFO, DiscoFair, Deficit}
		p := plan{map[string]Order{}, map[scheduler.JobID]*planned{}}
		for _, leaf := range leaves {
			p.orders[leaf] = all[rng.IntN(len(all))]
		}
		tree := p.tree()
		for range 40 {
			p.change(tree, rng)
			tree.Advance(time.Duration(rng.IntN(1000)) * time.Millisecond)
		}
		before, memory := walked(tree), tree.Memory()
		line, want, left := tree.Line(0), []scheduler.JobID{}, []bool{}
		for n := line.Next(); n != nil; n = line.Next() {
			want, left = append(want, n.ID), append(left, rng.IntN(8) == 0)
			if left[len(left)-1] {
				n.Leave()
			} else {
				n.Take(1 + int(n.ID)%2)
			}
		}
		if after := walked(tree); !reflect.DeepEqual(after, before) || !reflect.DeepEqual(tree.Memory(), memory) {
			t.Fatalf("seed %d: the tree serves %v after a look, %v before", seed, after, before)
		}
		for i, id := range want {
			next := tree.Next(0)
			if next == nil || next.ID != id {
				t.Fatalf("seed %d: start %d is %v, want %v", seed, i, next, want)
			}
			if left[i] {
				tree.Pass(next, 0)
			} else {
				next.Of(0).Take(1 + int(id)%2)
			}
		}
		if next := tree.Next(0); next != nil {
			t.Fatalf("seed %d: %s comes behind the line", seed, next.ID)
		}
	}
}

// TestMemoryIsAllThereIs: a tree made anew from its contents and its memory serves
// in the same order as the one that lived through it all.
func TestMemoryIsAllThereIs(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 2))
		p := plan{map[string]Order{"a/x": DiscoFair, "a/y": Deficit, "b": Deficit, "c": DiscoFair}, map[scheduler.JobID]*planned{}}
		tree := p.tree()
		for step := range 80 {
			switch rng.IntN(4) {
			case 0:
				p.serve(tree)
			case 1:
				tree.Advance(time.Duration(rng.IntN(1000)) * time.Millisecond)
			default:
				p.change(tree, rng)
			}
			again := p.tree()
			again.Restore(tree.Memory())
			if got, want := walked(again), walked(tree); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, step %d: the new tree serves %v, the old %v", seed, step, got, want)
			}
			if rng.IntN(5) == 0 {
				tree = again
			}
		}
	}
}

// served gives n slots one by one, each to the next job, and lists them.
func served(t *Tree, n int) (ids []scheduler.JobID) {
	for range n {
		j := t.Next(0)
		ids = append(ids, j.ID)
		j.Of(0).Take(1)
	}
	return ids
}

func three(o Order) *Tree {
	t := New(Fair)
	p := t.AddPool("", "p", Pool{Order: o})
	for id := scheduler.JobID(1); id <= 3; id++ {
		t.AddJob(p, Job{ID: id}).Of(0).Set(0, 10)
	}
	return t
}

// TestDiscoFairCycles: each job gets one slot in turn, whatever already runs. A late job waits for
// its turn in the lap.
func TestDiscoFairCycles(t *testing.T) {
	tree := three(DiscoFair)
	tree.Job(2).Of(0).Set(7, 2)
	if got, want := served(tree, 5), []scheduler.JobID{1, 2, 3, 1, 2}; !reflect.DeepEqual(got, want) {
		t.Errorf("served %v, want %v", got, want)
	}
	tree.AddJob(tree.Pool("p"), Job{ID: 4}).Of(0).Set(0, 10)
	if got, want := served(tree, 5), []scheduler.JobID{3, 4, 1, 3, 4}; !reflect.DeepEqual(got, want) {
		t.Errorf("then served %v, want %v (job 2 has no more)", got, want)
	}
}

// TestDeficitPaysBack: the job that had nothing while others ran comes first until
// it has had as much, also when it runs more than they do by then.
func TestDeficitPaysBack(t *testing.T) {
	tree := three(Deficit)
	tree.Job(1).Of(0).Set(2, 10)
	tree.Job(2).Of(0).Set(2, 10)
	tree.Advance(10 * time.Second)
	if got, want := served(tree, 3), []scheduler.JobID{3, 3, 3}; !reflect.DeepEqual(got, want) {
		t.Errorf("served %v, want %v", got, want)
	}
	tree.Advance(time.Second)
	if got := served(tree, 1)[0]; got != 3 {
		t.Errorf("%s is served after a second of its three slots, want job-3", got)
	}
	tree.Advance(20 * time.Second)
	if got := served(tree, 1)[0]; got == 3 {
		t.Error("job-3 is served though it has had more than the others")
	}
}

func TestDivideNestedPools(t *testing.T) {
	tree := New(Fair)
	tree.AddPool("", "a", Pool{Weight: 1})
	tree.AddPool("", "b", Pool{Weight: 3, Kinds: map[Kind]Limits{0: {Max: 8}}})
	tree.AddPool("a", "a/x", Pool{Weight: 1, Kinds: map[Kind]Limits{0: {Min: 2}}})
	tree.AddPool("a", "a/y", Pool{Weight: 3})
	for id, pool := range []string{"a/x", "a/y", "b"} {
		tree.AddJob(tree.Pool(pool), Job{ID: scheduler.JobID(id + 1)}).Of(0).Set(0, 100)
	}
	tree.Divide(0, 12)
	for path, want := range map[string]float64{"a": 4, "b": 8, "a/x": 2, "a/y": 2} {
		if got := tree.Pool(path).Of(0).Share; got != want {
			t.Errorf("share of %s is %v, want %v", path, got, want)
		}
	}
}

// BenchmarkServe gives a slot and takes one back, with 100 pools of jobs that wait.
func BenchmarkServe(b *testing.B) {
	for _, jobs := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("jobs=%d", 100*jobs), func(b *testing.B) {
			tree := New(Fair)
			id := scheduler.JobID(0)
			for p := range 100 {
				pool := tree.AddPool("", fmt.Sprint("pool", p), Pool{})
				for range jobs {
					id++
					tree.AddJob(pool, Job{ID: id}).Of(0).Set(0, 1000)
				}
			}
			var out []*Schedulable
			for b.Loop() {
				s := tree.Next(0).Of(0)
				s.Take(1)
				if out = append(out, s); len(out) == 1000 {
					for _, s := range out {
						s.Set(s.Running-1, s.Ready()+1)
					}
					out = out[:0]
				}
			}
		})
	}
}
