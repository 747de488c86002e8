package allocation

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
)

const (
	// Never is a timeout that was not set.
	Never time.Duration = -1
	// Unlimited is a running-job limit that was not set.
	Unlimited = countMax
	// defaultPool takes the jobs for which no rule yields another pool, and those that request a
	// pool with subpools.
	defaultPool = "default"
	// Orders that the table itself implements.
	fairOrder, fifoOrder = "fair", "fifo"
	// Bounds of names, which appear in metrics and pages.
	poolNameMax  = 200
	poolDepthMax = 8
	weightMax    = 1e6
)

// Table is the content of an allocation file: the pools and their shares and limits.
type Table struct {
	pools map[string]*Pool // by path; always holds defaultPool
	users map[string]int   // running-job limits
	// Defaults of users and pools without a value.
	userJobsMax      int
	poolJobsMax      int
	order            string
	topOrder         string // of the pools at the top; "": see Top
	minShareTimeout  time.Duration
	fairShareTimeout time.Duration
	hadoop           bool // it is Hadoop's file
}

// Pool is one pool as declared, or the default for undeclared ones.
type Pool struct {
	Path             string
	Parent           string // its path; "" for the root
	weight           float64
	order            string // "": Table.order
	minShare         map[scheduler.SlotKind]int
	maxShare         map[scheduler.SlotKind]int
	jobsMax          int // 0: Table.poolJobsMax
	minShareTimeout  time.Duration
	fairShareTimeout time.Duration
	declared         bool
	inner            bool // holds pools
	line             int
}

func newPool(path, parent string) *Pool {
	return &Pool{
		Path: path, Parent: parent, weight: 1, minShareTimeout: Never, fairShareTimeout: Never,
		minShare: map[scheduler.SlotKind]int{}, maxShare: map[scheduler.SlotKind]int{},
	}
}

func newTable() *Table {
	return &Table{
		pools: map[string]*Pool{}, users: map[string]int{}, userJobsMax: Unlimited, poolJobsMax: Unlimited,
		order: fairOrder, minShareTimeout: Never, fairShareTimeout: Never,
	}
}

// Read reads an allocation file: YAML, or Hadoop's XML. A file without allocations is refused,
// and the previous table stays: an editor or a full disk may have emptied the file.
func Read(f scheduler.ConfigFile) (*Table, error) {
	r := &reader{file: f.Name, first: 1}
	a := newTable()
	text, marked, err := decoded(f.Data)
	switch {
	case err != nil:
		r.problem(1, "%v", err)
	case bytes.HasPrefix(bytes.TrimSpace(text), []byte("<")):
		a.hadoop = true
		r.xml(text, marked, a)
	default:
		var root *yaml.Node
		if text = bytes.TrimSpace(text); len(text) > 0 { // YAML does not take lone tabs
			root = r.root(f.Data)
		}
		if root != nil && root.Tag != "!!null" {
			r.allocations(root, a)
		} else if len(r.problems) == 0 {
			r.problem(1, "the file has no allocations, and what was in force before stays: write \"pools: {}\" into it where no pool is to be declared")
		}
	}
	a.finish(r)
	return a, r.err()
}

// add adds a pool, unless its name is invalid or taken.
func (a *Table) add(r *reader, p *Pool) {
	p.declared = true
	switch old := a.pools[p.Path]; {
	case old != nil:
		r.problem(p.line, "pool %q is declared twice (first on line %d): remove one", p.Path, old.line)
	case !goodPath(p.Path):
		r.problem(p.line, "pool %q: a name has at most %d letters and %d parts, and no part is empty", p.Path, poolNameMax, poolDepthMax)
	default:
		a.pools[p.Path] = p
	}
}

func goodPath(path string) bool {
	parts := strings.Split(path, pooltree.Separator)
	return len(path) <= poolNameMax && len(parts) <= poolDepthMax && !slices.Contains(parts, "")
}

// finish checks what concerns several entries, and fills in derived values.
func (a *Table) finish(r *reader) {
	for _, p := range a.Sorted() {
		for _, kind := range kindsOf(p.minShare) {
			if most, ok := p.maxShare[kind]; ok && most < p.minShare[kind] {
				r.problem(p.line, "pool %q: its maximum share of %d %s slots is below its minimum of %d", p.Path, most, kind, p.minShare[kind])
			}
		}
	}
	if len(r.problems) > 0 {
		return
	}
	if a.pools[defaultPool] == nil {
		a.pools[defaultPool] = newPool(defaultPool, "")
	}
	for _, p := range a.Sorted() {
		if p.Parent != "" {
			a.pools[p.Parent].inner = true
		}
	}
}

// Sorted lists the pools in order of path, parents before children.
func (a *Table) Sorted() []*Pool {
	all := make([]*Pool, 0, len(a.pools))
	for _, p := range a.pools {
		all = append(all, p)
	}
	slices.SortFunc(all, func(x, y *Pool) int { return cmp.Compare(x.Path, y.Path) })
	return all
}

// spec returns a pool's declaration, or the default for an undeclared one.
func (a *Table) spec(path string) *Pool {
	if p := a.pools[path]; p != nil {
		return p
	}
	return newPool(path, a.parentOf(path))
}

// At returns the declaration for a pool with jobs, or the default.
func (a *Table) At(path string) *Pool { return a.spec(a.leaf(path)) }

// Declares says whether the table itself declares a pool. Undeclared pools go with their last
// job.
func (a *Table) Declares(path string) bool { return a.pools[path] != nil }

// parentOf returns the parent of an undeclared pool: the nearest declared pool above it that has
// subpools. It depends only on declarations, so pools that come and go never change others.
func (a *Table) parentOf(path string) string {
	for i := strings.LastIndex(path, pooltree.Separator); i > 0; i = strings.LastIndex(path[:i], pooltree.Separator) {
		if p := a.pools[path[:i]]; p != nil && p.inner {
			return path[:i]
		}
	}
	return ""
}

// leaf maps a requested pool to the pool that takes the jobs.
func (a *Table) leaf(path string) string {
	for a.pools[path] != nil && a.pools[path].inner {
		path += pooltree.Separator + defaultPool
	}
	return path
}

// JobsMax returns how many jobs of a pool may run at once.
func (a *Table) JobsMax(p *Pool) int {
	switch {
	case p.jobsMax > 0:
		return p.jobsMax
	case p.inner:
		return Unlimited
	}
	return a.poolJobsMax
}

// UserMax returns how many jobs of a user may run at once.
func (a *Table) UserMax(user string) int {
	if n, ok := a.users[user]; ok {
		return n
	}
	return a.userJobsMax
}

// Timeouts returns how long a pool waits below its minimum and its fair share before it
// preempts; Never if it does not.
func (a *Table) Timeouts(p *Pool) (minShare, fairShare time.Duration) {
	minShare, fairShare = p.minShareTimeout, p.fairShareTimeout
	if minShare == Never {
		minShare = a.minShareTimeout
	}
	if fairShare == Never {
		fairShare = a.fairShareTimeout
	}
	return minShare, fairShare
}

// AnyTimeout says whether any pool may preempt.
func (a *Table) AnyTimeout() bool {
	for _, p := range a.pools {
		if minShare, fairShare := a.Timeouts(p); minShare != Never || fairShare != Never {
			return true
		}
	}
	return false
}

// Tree returns a pool in the form of the pool tree.
func (a *Table) Tree(p *Pool, kind func(scheduler.SlotKind) pooltree.Kind) pooltree.Pool {
	order, _ := pooltree.Orders.Named(cmp.Or(p.order, a.order))
	if p.inner {
		order = a.amongPools(p.order)
	}
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

// Top returns the order of the top pools among each other.
func (a *Table) Top() pooltree.Order { return a.amongPools(a.topOrder) }

// amongPools returns the order of pools in a pool with the given setting; "": none. Fifo orders
// by submission, and pools are not submitted: if the whole site uses it, pools share fairly.
func (a *Table) amongPools(own string) pooltree.Order {
	name := cmp.Or(own, a.order)
	if own == "" && name == fifoOrder {
		name = fairOrder
	}
	order, _ := pooltree.Orders.Named(name)
	return order
}

func kindsOf[T any](m map[scheduler.SlotKind]T) []scheduler.SlotKind {
	kinds := make([]scheduler.SlotKind, 0, len(m))
	for k := range m {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	return kinds
}

// Timed says whether any pool's order may count time.
func (a *Table) Timed() bool {
	is := func(name string) bool {
		o, _ := pooltree.Orders.Named(name)
		_, timed := o.(pooltree.Timed)
		return timed
	}
	for _, p := range a.pools {
		if is(p.order) {
			return true
		}
	}
	return is(a.order) || is(a.topOrder)
}

// Open lists the declared pools that take jobs.
func (a *Table) Open() []string {
	var all []string
	for _, p := range a.Sorted() {
		if p.declared && !p.inner {
			all = append(all, p.Path)
		}
	}
	return all
}
