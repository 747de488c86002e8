package virtual

import (
	"cmp"
	"math"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Cluster is the virtual cluster of one kind of slot. It is not safe for concurrent
// use. Its state is a function of the calls made, in their order.
type Cluster struct {
	now      scheduler.Time
	capacity int
	jobs     []*Job // those that are not late, in order of ID
	late     []*Job // in order of their virtual finish
}

// New returns a cluster without jobs. A negative capacity counts as 0.
func New(capacity int, now scheduler.Time) *Cluster {
	return &Cluster{now: now, capacity: min(max(capacity, 0), CapMax)}
}

// Now returns the cluster's time.
func (c *Cluster) Now() scheduler.Time { return c.now }

// Add adds a job, of which done slot-seconds are done virtually: 0 for a new one, and
// what Job.Done said for one that a checkpoint knows. A job with nothing left to do is
// late at once. IDs must differ.
func (c *Cluster) Add(id ID, s Spec, done float64) *Job {
	if !(done >= 0) {
		done = 0
	}
	j := &Job{id: id, spec: s.bounded(), in: c, done: min(done, SizeMax)}
	c.put(j)
	c.share()
	return j
}

// Set changes what is known of a job. The work that was done virtually stays done: with
// another size, what remains is the new size less that, and nothing where that is
// negative, so the job is late from now on. A late job whose size grows beyond what was
// done is not late any more. A job that was removed or retired stays so.
func (c *Cluster) Set(j *Job, s Spec) {
	if s = s.bounded(); j.in != c || j.retired || s == j.spec {
		return
	}
	late := j.late
	j.spec = s
	if late && s.Size <= j.done {
		return
	}
	c.take(j)
	c.put(j)
	c.share()
}

// Retire says that a job has really finished, and that it was work of so many
// slot-seconds. The caller is done with it: it is in no order any more. Virtually it
// goes on to its end where it has not come to it, because the others are served in the
// order of processor sharing, in which it would still be there. Without that they would
// be late also where all sizes are known.
func (c *Cluster) Retire(j *Job, size float64) {
	if j.in != c || j.retired {
		return
	}
	s := j.spec
	s.Size = size
	j.spec = s.bounded()
	j.retired = true
	c.take(j)
	c.put(j)
	c.share()
}

// Remove takes away a job that came to nothing: it failed or was killed.
func (c *Cluster) Remove(j *Job) {
	if j.in != c || j.retired {
		return
	}
	c.take(j)
	j.in = nil
	c.share()
}

// SetCapacity changes how many slots there are. Without any nothing moves. Negative
// counts as 0.
func (c *Cluster) SetCapacity(slots int) {
	c.capacity = min(max(slots, 0), CapMax)
	c.share()
}

// Advance brings the cluster to a time: all jobs make the progress that they make
// until then, and those that finish are late (section 3.3, "Job Aging"). A time before
// the cluster's own changes nothing. A job that is less than a nanosecond before its
// virtual finish has reached it.
func (c *Cluster) Advance(to scheduler.Time) {
	if to <= c.now {
		return
	}
	start, whole, at := c.now, seconds(c.now, to), 0.0
	for len(c.jobs) > 0 {
		step := whole - at
		for _, j := range c.jobs {
			step = min(step, j.until())
		}
		at += step
		c.now = after(start, at)
		for _, j := range slices.Clone(c.jobs) {
			if j.until() > step+nanosecond {
				j.done += j.rate * step
				continue
			}
			j.done = j.spec.Size
			c.take(j)
			c.put(j)
		}
		c.share()
		if at >= whole {
			break
		}
	}
	c.now = to
}

const nanosecond = 1e-9 // in seconds

// seconds is the time from a to b, which is not before it.
func seconds(a, b scheduler.Time) float64 { return float64(uint64(b)-uint64(a)) / 1e9 }

// after is the time so many seconds after t, Never where there is none.
func after(t scheduler.Time, seconds float64) scheduler.Time {
	if ns := math.Round(seconds * 1e9); ns < float64(uint64(Never)-uint64(t)) {
		return t + scheduler.Time(ns)
	}
	return Never
}

// until returns the seconds to the job's virtual finish at its present rate.
func (j *Job) until() float64 {
	if j.rate == 0 {
		return math.Inf(1)
	}
	return max(j.Remaining(), 0) / j.rate
}

// take takes a job out of the list that it is in.
func (c *Cluster) take(j *Job) {
	is := func(x *Job) bool { return x == j }
	c.jobs, c.late = slices.DeleteFunc(c.jobs, is), slices.DeleteFunc(c.late, is)
	j.rate, j.late = 0, false
}

// put puts a job into the list that it belongs to.
func (c *Cluster) put(j *Job) {
	if j.spec.Size <= j.done {
		if j.retired {
			j.in = nil
			return
		}
		j.late, j.finish = true, c.now
		c.late = append(c.late, j)
		return
	}
	i, _ := slices.BinarySearchFunc(c.jobs, j, func(a, b *Job) int { return a.id.Compare(b.id) })
	c.jobs = slices.Insert(c.jobs, i, j)
}

// share fills the capacity like water: those with the least cap by weight first.
func (c *Cluster) share() {
	order := slices.Clone(c.jobs)
	slices.SortStableFunc(order, func(a, b *Job) int {
		return cmp.Compare(float64(a.spec.Cap)/a.spec.Weight, float64(b.spec.Cap)/b.spec.Weight)
	})
	left, weights := float64(c.capacity), 0.0
	for _, j := range order {
		weights += j.spec.Weight
	}
	for i, j := range order {
		level := left / weights
		if float64(j.spec.Cap)/j.spec.Weight > level {
			for _, j := range order[i:] {
				j.rate = j.spec.Weight * level
			}
			return
		}
		j.rate = float64(j.spec.Cap)
		left -= j.rate
		weights -= j.spec.Weight
	}
}
