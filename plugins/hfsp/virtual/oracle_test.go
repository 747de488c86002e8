package virtual

import (
	"cmp"
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// seeds is how much is played at random: little where all is tested, much by make hfsp.
var seeds = flag.Int("seeds", 2, "how much is played at random")

// plain is the virtual cluster as one would write it down: each event goes through all
// jobs, and the order is found by playing on to the end.
type plain struct {
	now      float64
	capacity int
	jobs     []*plainJob
	late     []*plainJob // in order of their virtual finish
}

type plainJob struct {
	id              ID
	spec            Spec
	done, rate      float64
	late            bool
	virtuallyActive bool
	ended           float64
}

func (p *plain) set(j *plainJob, s Spec) {
	j.spec = s.bounded()
	p.fill()
}

func (p *plain) remove(j *plainJob) {
	is := func(x *plainJob) bool { return x == j }
	p.jobs, p.late = slices.DeleteFunc(p.jobs, is), slices.DeleteFunc(p.late, is)
	p.fill()
}

func (p *plain) finishReal(j *plainJob, size float64) {
	if j.late || j.spec.Cap == 0 || size >= SizeMax {
		p.remove(j)
		return
	}
	j.spec.Size, j.virtuallyActive = size, true
	p.fill()
}

// fill finds the late jobs, and the rates: the capacity is filled like water, the jobs with the
// least cap by weight first.
func (p *plain) fill() {
	for _, j := range p.late {
		if j.done < j.spec.Size*(1-rounding) {
			j.late = false
			p.jobs = append(p.jobs, j)
		}
	}
	p.late = slices.DeleteFunc(p.late, func(j *plainJob) bool { return !j.late })
	slices.SortFunc(p.jobs, func(a, b *plainJob) int { return cmp.Compare(a.id.Job, b.id.Job) })
	for _, j := range p.jobs {
		j.late = j.done >= j.spec.Size*(1-rounding)
		if j.late && !j.virtuallyActive {
			j.ended, j.rate = p.now, 0
			p.late = append(p.late, j)
		}
	}
	p.jobs = slices.DeleteFunc(p.jobs, func(j *plainJob) bool { return j.late })
	order := slices.Clone(p.jobs)
	ratio := func(j *plainJob) float64 { return float64(j.spec.Cap) / j.spec.Weight }
	slices.SortStableFunc(order, func(a, b *plainJob) int { return cmp.Compare(ratio(a), ratio(b)) })
	left, weights := float64(p.capacity), 0.0
	for _, j := range order {
		weights += j.spec.Weight
	}
	for _, j := range order {
		j.rate = min(float64(j.spec.Cap), j.spec.Weight*left/weights)
		left -= j.rate
		weights -= j.spec.Weight
	}
}

func (j *plainJob) until() float64 {
	if j.rate <= 0 {
		return math.Inf(1)
	}
	return (j.spec.Size - j.done) / j.rate
}

// advance plays until a time; +Inf plays until nobody finishes any more.
func (p *plain) advance(to float64) {
	for p.now < to {
		step := to - p.now
		for _, j := range p.jobs {
			step = min(step, j.until())
		}
		if math.IsInf(step, 1) {
			return
		}
		for _, j := range p.jobs {
			if j.until() <= step+nanosecond {
				j.done = j.spec.Size
			} else {
				j.done += j.rate * step
			}
		}
		p.now += step
		p.fill()
	}
}

// finishes plays on a copy.
func (p *plain) finishes() map[ID]float64 {
	copied := &plain{now: p.now, capacity: p.capacity}
	ends := map[ID]float64{}
	for _, j := range p.jobs {
		x := *j
		x.virtuallyActive = false
		copied.jobs = append(copied.jobs, &x)
		ends[j.id] = math.Inf(1)
	}
	copied.fill()
	copied.advance(math.Inf(1))
	for _, j := range copied.late {
		ends[j.id] = j.ended
	}
	for _, j := range p.jobs {
		if j.virtuallyActive {
			delete(ends, j.id)
		}
	}
	for _, j := range p.late {
		ends[j.id] = j.ended
	}
	return ends
}

// pair is the two side by side.
type pair struct {
	t    interface{ Fatalf(string, ...any) }
	fast *Cluster
	slow *plain
	jobs []*both
	last scheduler.JobID
}

type both struct {
	fast *Job
	slow *plainJob
}

func newPair(t interface{ Fatalf(string, ...any) }, capacity int) *pair {
	return &pair{t: t, fast: New(capacity, 0), slow: &plain{capacity: capacity}}
}

func (p *pair) add(s Spec, done float64) *both {
	p.last++
	b := &both{p.fast.Add(ID{Job: p.last}, s, done), &plainJob{id: ID{Job: p.last}, spec: s.bounded(), done: done}}
	p.slow.jobs = append(p.slow.jobs, b.slow)
	p.slow.fill()
	p.jobs = append(p.jobs, b)
	return b
}

func (p *pair) set(b *both, s Spec) {
	p.fast.Set(b.fast, s)
	p.slow.set(b.slow, s)
}

func (p *pair) drop(b *both) {
	p.jobs = slices.DeleteFunc(p.jobs, func(x *both) bool { return x == b })
}

func (p *pair) remove(b *both) {
	p.fast.Remove(b.fast)
	p.slow.remove(b.slow)
	p.drop(b)
}

func (p *pair) finishReal(b *both, size float64) {
	p.fast.FinishReal(b.fast, size)
	p.slow.finishReal(b.slow, size)
	p.drop(b)
}

func (p *pair) setCapacity(n int) {
	p.fast.SetCapacity(n)
	p.slow.capacity = n
	p.slow.fill()
}

func (p *pair) advance(by scheduler.Time) {
	p.fast.Advance(p.fast.Now() + by)
	p.slow.advance(float64(p.fast.Now()) / 1e9)
	p.slow.now = float64(p.fast.Now()) / 1e9
}

func same(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-7+1e-9*max(math.Abs(a), math.Abs(b))
}

// check compares the cluster with the simple model. The orders are equal, except that jobs whose
// finishes are a rounding error apart may be swapped.
func (p *pair) check() {
	ends := p.slow.finishes()
	for _, b := range p.jobs {
		f, s := b.fast, b.slow
		if f.Late() != s.late || !same(f.Done(), s.done) || !same(f.Share(), s.rate) {
			p.t.Fatalf("job %d: late %t, done %v, share %v; want %t, %v, %v", f.id.Job, f.Late(), f.Done(), f.Share(), s.late, s.done, s.rate)
		}
		if r := max(s.spec.Size-s.done, 0); !same(f.Remaining(), r) {
			p.t.Fatalf("job %d: remaining %v, want %v", f.id.Job, f.Remaining(), r)
		}
	}
	var order []*Job
	for j := range p.fast.Order() {
		order = append(order, j)
	}
	if len(order) != len(p.jobs) || len(ends) != len(p.jobs) {
		p.t.Fatalf("%d jobs in order, %d in the plain one, want %d", len(order), len(ends), len(p.jobs))
	}
	for i, j := range order {
		end := ends[j.id]
		if got := p.fast.Finish(j); got == Never != (end > float64(Never)/1e9) || got != Never && !same(float64(got)/1e9, end) {
			p.t.Fatalf("job %d finishes at %v, want %v s", j.id.Job, got, end)
		}
		if i > 0 {
			before := order[i-1]
			if a := ends[before.id]; before.Late() == j.Late() && a > end && !same(a, end) || !before.Late() && j.Late() {
				p.t.Fatalf("job %d (%v s) stands before job %d (%v s)", before.id.Job, a, j.id.Job, end)
			} else if a == end && before.Late() == j.Late() && math.IsInf(a, 1) && before.compare(j) > 0 {
				p.t.Fatalf("jobs %d and %d never finish, and are out of order", before.id.Job, j.id.Job)
			}
		}
	}
	p.fast.check(p.t)
}

// check checks the cluster's invariants.
func (c *Cluster) check(t interface{ Fatalf(string, ...any) }) {
	weight, caps, virtuallyActive, n := int64(0), int64(0), 0, 0
	for i, s := range []*side{&c.sharing, &c.bound} {
		virtualJobs, dues := s.virtualJobs.check(t), 0
		for at, k := range s.byRatio.Items {
			n++
			if k.bound != (i == 1) || c.classes[k.ratio] != k || k.byRatio != at || k.empty() {
				t.Fatalf("class %v is not in its place", k.ratio)
			}
			if k.bound && k.ratio > c.level*(1+1e-12) || !k.bound && k.ratio < c.level*(1-1e-12) {
				t.Fatalf("class %v is bound %t at level %v", k.ratio, k.bound, c.level)
			}
			kw, kc := int64(0), int64(0)
			for at, j := range slices.Concat(k.jobs.Items, k.virtuallyActive) {
				kw, kc = kw+j.units(), kc+int64(j.spec.Cap)
				if j.class != k || j.late != nil || j.in != c || j.virtuallyActive != (at >= len(k.jobs.Items)) {
					t.Fatalf("job %d is not in its place", j.id.Job)
				}
				if j.virtuallyActive {
					virtuallyActive++
					if at -= len(k.jobs.Items); j.place != at || !virtualJobs[j] {
						t.Fatalf("virtual job %d is not in its place", j.id.Job)
					}
					delete(virtualJobs, j)
				} else if j.place != at || at > 0 && earlier(j, k.jobs.Items[(at-1)/2]) {
					t.Fatalf("job %d is not in its place", j.id.Job)
				}
			}
			if kw != k.weight || kc != k.caps {
				t.Fatalf("class %v: weight %d, caps %d", k.ratio, k.weight, k.caps)
			}
			if len(k.jobs.Items) > 0 {
				dues++
				if s.byDue.Items[k.byDue] != k || k.due != k.when(k.first().tag) || math.IsNaN(k.due) {
					t.Fatalf("class %v: due %v", k.ratio, k.due)
				}
			}
			if k.bound {
				caps += kc
			} else {
				weight += kw
			}
		}
		if dues != len(s.byDue.Items) || len(virtualJobs) > 0 {
			t.Fatalf("%d classes are due, want %d; %d virtual jobs too many", len(s.byDue.Items), dues, len(virtualJobs))
		}
	}
	if weight != c.weight || caps != c.caps || virtuallyActive != c.virtuallyActive || n != len(c.classes) {
		t.Fatalf("weight %d, caps %d, %d virtually active, %d classes; want %d, %d, %d, %d", c.weight, c.caps, c.virtuallyActive, len(c.classes), weight, caps, virtuallyActive, n)
	}
}

// check returns the virtual jobs that there are.
func (g *virtualJobs) check(t interface{ Fatalf(string, ...any) }) map[*Job]bool {
	all := map[*Job]bool{}
	var walk func(g, above *virtualJobs)
	walk = func(g, above *virtualJobs) {
		if g == nil {
			return
		}
		walk(g.left, g)
		walk(g.right, g)
		all[g.job] = true
		if above != nil && g.rank > above.rank || g.left != nil && !g.left.before(g.due, g.job) || g.right != nil && g.right.before(g.due, g.job) {
			t.Fatalf("virtual job %d is not in its place in the tree", g.job.id.Job)
		}
		if sum := g.left.total() + g.amount + g.right.total(); sum != g.sum || g.moment != g.with(g.left, g.right).moment {
			t.Fatalf("virtual job %d: sum %v, moment %v", g.job.id.Job, g.sum, g.moment)
		}
	}
	walk(g, nil)
	return all
}

// TestOrderIsThatOfThePlainOne: random workloads, in which caps bind as often as not.
func TestOrderIsThatOfThePlainOne(t *testing.T) {
	for range 5 * *seeds { // times as many workloads as rapid takes
		rapid.Check(t, workload)
	}
}

func workload(t *rapid.T) {
	p := newPair(t, rapid.IntRange(0, 40).Draw(t, "capacity"))
	spec := rapid.Custom(func(t *rapid.T) Spec {
		s := Spec{
			Size:   rapid.SampledFrom([]float64{0, 1, 10, 100, 1000, math.Inf(1)}).Draw(t, "scale") * rapid.SampledFrom([]float64{1, 1, 0.3, 2, 7}).Draw(t, "size"),
			Weight: rapid.SampledFrom([]float64{1, 1, 1, 2, 4, 0.5, 1. / 3, 1000}).Draw(t, "weight"),
			Cap:    rapid.SampledFrom([]int{0, 1, 1, 2, 3, 5, 10, 30, 100}).Draw(t, "cap"),
		}
		return s
	})
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		var some *both
		if len(p.jobs) > 0 {
			some = p.jobs[rapid.IntRange(0, len(p.jobs)-1).Draw(t, "job")]
		}
		switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
		case some == nil || what < 3:
			p.add(spec.Draw(t, "spec"), 0)
		case what == 3:
			p.set(some, spec.Draw(t, "spec"))
		case what == 4:
			s := some.fast.Spec()
			s.Size *= rapid.Float64Range(0.1, 4).Draw(t, "factor")
			p.set(some, s)
		case what == 5:
			p.finishReal(some, some.fast.Spec().Size*rapid.SampledFrom([]float64{1, 1, 0.5, 3}).Draw(t, "worked"))
		case what == 6 && rapid.Bool().Draw(t, "remove"):
			p.remove(some)
		case what == 6 && rapid.Bool().Draw(t, "rebase"):
			p.fast.rebase()
		case what == 7 && rapid.Bool().Draw(t, "cluster"):
			p.setCapacity(rapid.IntRange(0, 40).Draw(t, "capacity"))
		default:
			p.advance(scheduler.Time(rapid.SampledFrom([]int{1, 1e6, 1e9, 1e10, 1e11}).Draw(t, "scale")) * scheduler.Time(rapid.IntRange(1, 9).Draw(t, "time")))
		}
		p.check()
	}
}

// TestManyThingsAtOnce: a virtual job ends just when a job finishes, and only both together
// have the caps of the others bind.
func TestManyThingsAtOnce(t *testing.T) {
	p := newPair(t, 11)
	virtualJob := p.add(Spec{10, 1, 5}, 0)
	p.add(Spec{3, 1, 1}, 0)
	p.add(Spec{100, 1, 5}, 0)
	p.add(Spec{100, 1, 5}, 0)
	p.finishReal(virtualJob, 10)
	p.check()
}

// TestServedInOrder: the job that comes first is served with all slots, as FSP does, task
// by task, and another comes when it ends. So there are as many virtual jobs as jobs, and their
// caps bind in part.
func TestServedInOrder(t *testing.T) {
	for seed := range uint64(5 * *seeds) { //nolint:gosec // a small number
		rng := rand.New(rand.NewPCG(seed, 5))
		p := newPair(t, 1+rng.IntN(60))
		come := func() {
			tasks := 1 << rng.IntN(6)
			weights := []float64{1, 1, 1, 2, 0.5, 3}
			p.add(Spec{float64(tasks) * (10 + 100*rng.Float64()), weights[rng.IntN(len(weights))], tasks}, 0)
		}
		for range 5 + rng.IntN(20) {
			come()
		}
		for range 200 {
			var first *both
			for j := range p.fast.Order() {
				first = p.jobs[slices.IndexFunc(p.jobs, func(b *both) bool { return b.fast == j })]
				break
			}
			s := first.fast.Spec()
			p.advance(scheduler.Time(1e9 * s.Size / float64(s.Cap*int(p.fast.capacity))))
			n, _ := first.fast.Owner.(int)
			if n++; n < min(s.Cap, 5) {
				first.fast.Owner = n
				s.Size *= 0.9 + 0.2*rng.Float64()
				p.set(first, s)
			} else {
				p.finishReal(first, s.Size)
				come()
			}
			p.check()
		}
	}
}
