package virtual

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TestNoWorkIsLost: after a million random events all jobs together have done what the
// capacity, as far as there was use for it, comes to.
func TestNoWorkIsLost(t *testing.T) {
	const events = 1_000_000
	rng := rand.New(rand.NewPCG(3, 4))
	c := New(100, 0)
	var jobs []*Job
	spec := func() Spec {
		weights := []float64{1, 1, 2, 1. / 3, 1000}
		return Spec{rng.ExpFloat64() * 300, weights[rng.IntN(len(weights))], 1 + rng.IntN(30)}
	}
	capacity, served, done := 0.0, 0.0, 0.0
	leave := func(i int) *Job {
		j := jobs[i]
		jobs[i] = jobs[len(jobs)-1]
		jobs = jobs[:len(jobs)-1]
		done += j.Done()
		return j
	}
	// advance goes from one virtual finish to the next, between which the rates stand.
	advance := func(to scheduler.Time) {
		for c.Now() < to {
			step := to
			if j, at := c.next(); j != nil {
				step = min(step, max(after(c.start, at), c.Now()+1))
			}
			capacity = min(float64(c.capacity), float64(c.caps)+c.used())
			served += capacity * secondsBetween(c.Now(), step)
			c.Advance(step)
		}
	}
	for i := range events {
		switch what := rng.IntN(10); {
		case what < 3 && len(jobs) < 200 || len(jobs) == 0:
			jobs = append(jobs, c.Add(ID{Job: scheduler.JobID(i)}, spec(), 0))
		case what == 3 || len(jobs) == 200:
			c.Remove(leave(rng.IntN(len(jobs))))
		case what < 7:
			c.Set(jobs[rng.IntN(len(jobs))], spec())
		case what == 7:
			c.SetCapacity(rng.IntN(200))
		default:
			advance(c.Now() + scheduler.Time(rng.ExpFloat64()*5e9))
		}
	}
	for _, j := range jobs {
		done += j.Done()
	}
	if c.start == 0 {
		t.Errorf("after %v s nothing was counted anew from 0", c.seconds)
	}
	if off := math.Abs(done-served) / served; off > 1e-6 {
		t.Errorf("%v slot-seconds done, %v served: %v of it off", done, served, off)
	} else {
		t.Logf("%.0f slot-seconds in %v s, off by %.1g of it", done, float64(c.Now())/1e9, off)
	}
}

// used is the slots that the jobs that share have together.
func (c *Cluster) used() float64 {
	if c.weight == 0 {
		return 0
	}
	return c.level * float64(c.weight) / weightUnits
}

// TestFSPIsNeverLaterThanPS: with known sizes, on one server, each job finishes no later
// than under processor sharing (Friedman and Henderson, theorem 1). It would not if jobs
// that have really finished left the virtual cluster.
func TestFSPIsNeverLaterThanPS(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var visits []visit
		come := 0.0
		for range rapid.IntRange(1, 10).Draw(t, "jobs") {
			come += float64(rapid.IntRange(0, 20).Draw(t, "gap"))
			size := float64(rapid.IntRange(1, 40).Draw(t, "size")) * parts
			visits = append(visits, visit{come, size, size, 1, parts})
		}
		ps := share(parts, visits)
		for _, rule := range []Rule{Plain, Sharing} {
			for i, end := range serve(parts, rule, visits) {
				if end > ps[i]+1e-6 {
					t.Fatalf("job %d finishes at %v under rule %d, at %v under processor sharing", i+1, end, rule, ps[i])
				}
			}
		}
	})
}

// TestAllot: how many slots each job gets.
func TestAllot(t *testing.T) {
	c := New(10, 0)
	add := func(id scheduler.JobID, size, weight float64, slots int) *Job {
		return c.Add(ID{Job: id}, Spec{size, weight, slots}, 0)
	}
	add(1, 1000, 1, 8)
	small := add(2, 10, 1, 4)
	add(3, 5, 1, 20)
	add(4, 2, 4, 3) // late first
	add(5, math.Inf(1), 1, 100)
	allot := func(slots int, rule Rule, want func(*Job) int) string {
		var all []string
		for j, n := range c.Allot(slots, rule, want) {
			all = append(all, fmt.Sprintf("%d:%d", j.ID().Job, n))
		}
		return strings.Join(all, " ")
	}
	order := func() (all []scheduler.JobID) {
		for j := range c.Order() {
			all = append(all, j.ID().Job)
		}
		return all
	}
	check := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	check("order", fmt.Sprint(order()), "[job-4 job-3 job-2 job-1 job-5]")
	check("in order", allot(30, Sharing, (*Job).Cap), "4:3 3:20 2:4 1:3")
	check("with slots left over", allot(1000, Plain, (*Job).Cap), "4:3 3:20 2:4 1:8 5:100")
	check("without slots", allot(0, Plain, (*Job).Cap), "")
	check("what can be used", allot(30, Sharing, func(j *Job) int { return int(j.ID().Job) % 3 }), "4:1 2:2 1:1 5:2")
	c.Advance(after(0, 3))
	check("late ones first", fmt.Sprint(order()), "[job-4 job-3 job-2 job-1 job-5]")
	check("late ones share by weight", allot(10, Sharing, (*Job).Cap), "4:3 3:7")
	check("late ones one by one", allot(10, Plain, (*Job).Cap), "4:3 3:7")
	c.Set(small, Spec{1, 1, 4})
	check("late ones share", allot(10, Sharing, (*Job).Cap), "4:3 3:3 2:4")
	check("late ones in the order of their finish", allot(10, Plain, (*Job).Cap), "4:3 3:7")
	c.Set(small, Spec{10, 1, 4})
	check("one that grew", allot(30, Sharing, (*Job).Cap), "4:3 3:20 2:4 1:3")
	for range c.Allot(30, Sharing, (*Job).Cap) {
		break // and the loop may end anywhere
	}
}

// TestTies: jobs that finish at the same time are in the order of their IDs, also where
// the cap of one binds and the other shares, and stay in it when they are late.
func TestTies(t *testing.T) {
	bound, shares := Spec{10, 1, 1}, Spec{20, 1, 10}
	for _, specs := range [][]Spec{{bound, shares}, {shares, bound}, {bound, bound, shares}, {shares, bound, bound}} {
		c := New(len(specs)+1, 0)
		for i := range specs {
			id := scheduler.JobID(len(specs) - i)
			c.Add(ID{Job: id}, specs[id-1], 0)
		}
		for range 2 {
			var got []scheduler.JobID
			for j := range c.Order() {
				got = append(got, j.ID().Job)
				if c.Finish(j) != after(0, 10) {
					t.Errorf("%v: job %d finishes at %d", specs, j.ID().Job, c.Finish(j))
				}
			}
			if !slices.IsSorted(got) || len(got) != len(specs) {
				t.Errorf("%v: order %v", specs, got)
			}
			c.Advance(after(0, 10))
		}
	}
}

// TestBadInput: an invalid value counts as the nearest valid one. No result is NaN, and other jobs
// are not affected.
func TestBadInput(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, test := range []struct {
		name     string
		capacity int
		spec     Spec
		done     float64
		want     string // spec, done, remaining, share, late, finish after 1 s
	}{
		{"all in order", 4, Spec{100, 1, 2}, 0, "{100 1 2} 2 98 2 false 50s"},
		{"size negative", 4, Spec{-5, 1, 2}, 0, "{0 1 2} 0 0 0 true 0s"},
		{"size no number", 4, Spec{nan, 1, 2}, 0, "{0 1 2} 0 0 0 true 0s"},
		{"size without end", 4, Spec{inf, 1, 2}, 0, "{+Inf 1 2} 2 +Inf 2 false never"},
		{"size beyond all sense", 4, Spec{1e300, 1, 2}, 0, "{+Inf 1 2} 2 +Inf 2 false never"},
		{"size just too large", 4, Spec{SizeMax, 1, 2}, 0, "{+Inf 1 2} 2 +Inf 2 false never"},
		{"size below none", 4, Spec{-inf, 1, 2}, 0, "{0 1 2} 0 0 0 true 0s"},
		{"weight zero", 4, Spec{100, 0, 2}, 0, "{100 0.0009765625 2} 2 98 2 false 50s"},
		{"weight negative", 4, Spec{100, -1, 2}, 0, "{100 0.0009765625 2} 2 98 2 false 50s"},
		{"weight no number", 4, Spec{100, nan, 2}, 0, "{100 0.0009765625 2} 2 98 2 false 50s"},
		{"weight too large", 4, Spec{100, inf, 2}, 0, "{100 1024 2} 2 98 2 false 50s"},
		{"cap zero", 4, Spec{100, 1, 0}, 0, "{100 1 0} 0 100 0 false never"},
		{"cap negative", 4, Spec{100, 1, -7}, 0, "{100 1 0} 0 100 0 false never"},
		{"cap too large", 4, Spec{100, 1, math.MaxInt}, 0, "{100 1 2147483648} 4 96 4 false 25s"},
		{"no capacity", 0, Spec{100, 1, 2}, 0, "{100 1 2} 0 100 0 false never"},
		{"no capacity, size without end", 0, Spec{inf, 1, 2}, 0, "{+Inf 1 2} 0 +Inf 0 false never"},
		{"capacity negative", -3, Spec{100, 1, 2}, 0, "{100 1 2} 0 100 0 false never"},
		{"capacity too large", math.MaxInt, Spec{100, 1, 2}, 0, "{100 1 2} 2 98 2 false 50s"},
		{"done before", 4, Spec{100, 1, 2}, 50, "{100 1 2} 52 48 2 false 25s"},
		{"done negative", 4, Spec{100, 1, 2}, -50, "{100 1 2} 2 98 2 false 50s"},
		{"done no number", 4, Spec{100, 1, 2}, nan, "{100 1 2} 2 98 2 false 50s"},
		{"more done than there is", 4, Spec{100, 1, 2}, 500, "{100 1 2} 500 0 0 true 0s"},
		{"more done than can be", 4, Spec{inf, 1, 2}, inf, "{+Inf 1 2} 1.000000000000002e+15 +Inf 2 false never"},
	} {
		c := New(test.capacity, 0)
		j := c.Add(ID{Job: 1}, test.spec, test.done)
		c.Advance(after(0, 1))
		c.Advance(after(0, 0.5)) // a time that has gone by
		if c.Now() != after(0, 1) {
			t.Errorf("%s: time goes back to %d", test.name, c.Now())
		}
		finish := "never"
		if at := c.Finish(j); at != Never {
			finish = fmt.Sprint(at.Sub(0))
		}
		if got := fmt.Sprintf("%v %v %v %v %t %s", j.Spec(), j.Done(), j.Remaining(), j.Share(), j.Late(), finish); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
		// Set knows the same bounds, and another job does not suffer.
		other := c.Add(ID{Job: 2}, Spec{100, 1, 1}, 0)
		c.Set(other, test.spec)
		c.Set(other, Spec{1, 1, 1})
		c.Advance(after(0, 1e6))
		if test.capacity > 0 && !other.Late() {
			t.Errorf("%s: another job does not finish", test.name)
		}
	}
}

// TestWhatIsGoneStaysSo: a job that was removed or has really finished is in no order, and later
// calls about it have no effect.
func TestWhatIsGoneStaysSo(t *testing.T) {
	c := New(10, 0)
	j := [4]*Job{}
	for i := range j {
		j[i] = c.Add(ID{Job: scheduler.JobID(i + 1)}, Spec{100, 1, 10}, 0)
	}
	c.FinishReal(j[0], 100)
	c.Remove(j[1])
	c.FinishReal(j[2], math.Inf(1)) // it would never end
	for _, gone := range j[:3] {
		c.Set(gone, Spec{1, 1, 1})
		c.Remove(gone)
		c.FinishReal(gone, 5)
		if c.Finish(gone) != Never || gone.Late() {
			t.Errorf("job %d has a finish", gone.ID().Job)
		}
	}
	if got := slices.Collect(c.Order()); !slices.Equal(got, j[3:]) {
		t.Errorf("%d jobs in order, want the last", len(got))
	}
	if got := c.Finish(j[3]); got != after(0, 20) { // beside the virtually active one
		t.Errorf("the last finishes at %d", got)
	}
	again := c.Add(j[0].ID(), Spec{100, 1, 10}, 0) // the stage has work again
	c.FinishReal(again, 100)
	c.check(t)
	c.Advance(after(0, 100))
	if c.virtuallyActive != 0 || !j[3].Late() {
		t.Errorf("%d jobs are still virtually active", c.virtuallyActive)
	}
}

// TestVirtuallyActiveAreBounded: beyond VirtuallyActiveMax a job goes at once.
func TestVirtuallyActiveAreBounded(t *testing.T) {
	c := New(1, 0)
	for i := range VirtuallyActiveMax + 10 {
		c.FinishReal(c.Add(ID{Job: scheduler.JobID(i)}, Spec{1, 1, 1}, 0), 1)
	}
	if c.virtuallyActive != VirtuallyActiveMax {
		t.Errorf("%d jobs are virtually active, want %d", c.virtuallyActive, VirtuallyActiveMax)
	}
}
