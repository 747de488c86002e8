package fair

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
)

const (
	// never is a timeout that was not set.
	never time.Duration = -1
	// unlimited is a running-job limit that was not set.
	unlimited = countMax
	// defaultPool takes the jobs for which no rule has another pool, and those that
	// ask for a pool that holds pools.
	defaultPool = "default"
	// Bounds of what can be named: a name ends up in metrics and pages.
	poolNameMax  = 200
	poolDepthMax = 8
	weightMax    = 1e6
)

// allocations says which pools there are and what they are given: what an
// allocation file holds.
type allocations struct {
	pools map[string]*poolSpec // by path; holds defaultPool always
	users map[string]int       // running-job limits
	// Of users and pools that say nothing.
	userJobsMax      int
	poolJobsMax      int
	order            string
	minShareTimeout  time.Duration
	fairShareTimeout time.Duration
}

// poolSpec is one pool as declared.
type poolSpec struct {
	path             string
	parent           string // path; "" for the root
	weight           float64
	order            string // "": allocations.order
	minShare         map[scheduler.SlotKind]int
	maxShare         map[scheduler.SlotKind]int
	jobsMax          int // 0: allocations.poolJobsMax
	minShareTimeout  time.Duration
	fairShareTimeout time.Duration
	declared         bool
	inner            bool // holds pools
	line             int
}

func newPoolSpec(path, parent string) *poolSpec {
	return &poolSpec{
		path: path, parent: parent, weight: 1, minShareTimeout: never, fairShareTimeout: never,
		minShare: map[scheduler.SlotKind]int{}, maxShare: map[scheduler.SlotKind]int{},
	}
}

func newAllocations() *allocations {
	return &allocations{
		pools: map[string]*poolSpec{}, users: map[string]int{}, userJobsMax: unlimited, poolJobsMax: unlimited,
		order: "fair", minShareTimeout: never, fairShareTimeout: never,
	}
}

// readAllocations reads an allocation file: YAML, or Hadoop's XML.
func readAllocations(f scheduler.ConfigFile) (*allocations, error) {
	r := &reader{file: f.Name, first: 1}
	a := newAllocations()
	if bytes.HasPrefix(bytes.TrimSpace(f.Data), []byte("<")) {
		r.xml(f.Data, a)
	} else {
		r.allocations(r.root(f.Data), a)
	}
	a.finish(r)
	return a, r.err()
}

// add puts a pool in, unless its name cannot be or is there.
func (a *allocations) add(r *reader, p *poolSpec) {
	p.declared = true
	switch old := a.pools[p.path]; {
	case old != nil:
		r.problem(p.line, "pool %q is declared twice (first on line %d): remove one", p.path, old.line)
	case !goodPath(p.path):
		r.problem(p.line, "pool %q: a name has at most %d letters and %d parts, and no part is empty", p.path, poolNameMax, poolDepthMax)
	default:
		a.pools[p.path] = p
	}
}

func goodPath(path string) bool {
	parts := strings.Split(path, pooltree.Separator)
	return len(path) <= poolNameMax && len(parts) <= poolDepthMax && !slices.Contains(parts, "")
}

// finish checks what concerns several entries, and fills in what follows.
func (a *allocations) finish(r *reader) {
	for _, p := range a.sorted() {
		for _, kind := range kindsOf(p.minShare) {
			if most, ok := p.maxShare[kind]; ok && most < p.minShare[kind] {
				r.problem(p.line, "pool %q: its maximum share of %d %s slots is below its minimum of %d", p.path, most, kind, p.minShare[kind])
			}
		}
	}
	if len(r.problems) > 0 {
		return
	}
	if a.pools[defaultPool] == nil {
		a.pools[defaultPool] = newPoolSpec(defaultPool, "")
	}
	for _, p := range a.sorted() {
		if p.parent != "" {
			a.pools[p.parent].inner = true
		}
	}
}

// sorted lists the pools in order of path, which has parents before children.
func (a *allocations) sorted() []*poolSpec {
	all := make([]*poolSpec, 0, len(a.pools))
	for _, p := range a.pools {
		all = append(all, p)
	}
	slices.SortFunc(all, func(x, y *poolSpec) int { return cmp.Compare(x.path, y.path) })
	return all
}

// spec returns what stands for a pool, declared or not.
func (a *allocations) spec(path string) *poolSpec {
	if p := a.pools[path]; p != nil {
		return p
	}
	return newPoolSpec(path, a.parentOf(path))
}

// parentOf finds where a pool that was not declared comes to lie: in the nearest
// declared pool above it that holds pools. It depends on what is declared only, so
// that pools that come and go never change what others are.
func (a *allocations) parentOf(path string) string {
	for i := strings.LastIndex(path, pooltree.Separator); i > 0; i = strings.LastIndex(path[:i], pooltree.Separator) {
		if p := a.pools[path[:i]]; p != nil && p.inner {
			return path[:i]
		}
	}
	return ""
}

// leaf maps a pool that is asked for to the one that takes jobs.
func (a *allocations) leaf(path string) string {
	for a.pools[path] != nil && a.pools[path].inner {
		path += pooltree.Separator + defaultPool
	}
	return path
}

func (a *allocations) jobsMax(p *poolSpec) int {
	switch {
	case p.jobsMax > 0:
		return p.jobsMax
	case p.inner:
		return unlimited
	}
	return a.poolJobsMax
}

func (a *allocations) userMax(user string) int {
	if n, ok := a.users[user]; ok {
		return n
	}
	return a.userJobsMax
}

// timeouts returns how long a pool waits below its minimum and its fair share
// before it takes slots back; never when it does not.
func (a *allocations) timeouts(p *poolSpec) (minShare, fairShare time.Duration) {
	minShare, fairShare = p.minShareTimeout, p.fairShareTimeout
	if minShare == never {
		minShare = a.minShareTimeout
	}
	if fairShare == never {
		fairShare = a.fairShareTimeout
	}
	return minShare, fairShare
}

// anyTimeout says whether any pool may take slots back.
func (a *allocations) anyTimeout() bool {
	for _, p := range a.pools {
		if minShare, fairShare := a.timeouts(p); minShare != never || fairShare != never {
			return true
		}
	}
	return false
}

// tree is what the pool tree is told of a pool.
func (a *allocations) tree(p *poolSpec, kind func(scheduler.SlotKind) pooltree.Kind) pooltree.Pool {
	order, _, _ := pooltree.OrderNamed(cmp.Or(p.order, a.order))
	t := pooltree.Pool{Weight: p.weight, Order: order, Kinds: map[pooltree.Kind]pooltree.Limits{}}
	for k, n := range p.minShare {
		l := t.Kinds[kind(k)]
		l.Min = n
		t.Kinds[kind(k)] = l
	}
	for k, n := range p.maxShare {
		l := t.Kinds[kind(k)]
		l.Max = n
		t.Kinds[kind(k)] = l
	}
	return t
}

func kindsOf[T any](m map[scheduler.SlotKind]T) []scheduler.SlotKind {
	kinds := make([]scheduler.SlotKind, 0, len(m))
	for k := range m {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	return kinds
}

// timed says whether any pool's order may count time.
func (a *allocations) timed() bool {
	is := func(name string) bool {
		o, _, _ := pooltree.OrderNamed(name)
		_, timed := o.(pooltree.Timed)
		return timed
	}
	for _, p := range a.pools {
		if is(p.order) {
			return true
		}
	}
	return is(a.order)
}
