package virtual

import (
	"container/list"
	"math"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Cluster is the virtual cluster of one kind of slot. It is not safe for concurrent use. Its state
// is a function of the calls made, in their order. Add, Set, FinishReal, Remove and SetCapacity
// take effect at the cluster's time.
type Cluster struct {
	now      scheduler.Time
	start    scheduler.Time // seconds count from here
	capacity int64

	// The level is +Inf when no job shares.
	level  float64
	weight int64 // of the jobs that share, in units
	caps   int64 // of the bound jobs
	// The time of the last change, and the level's integral over seconds at that time. The integral
	// is constant while no job shares. Time that passes changes nothing else, so the number of
	// steps in which it passes does not matter.
	seconds, integral float64

	classes         map[float64]*class // by ratio
	sharing, bound  side
	late            *list.List // of *Job, in order of their virtual finish
	virtuallyActive int        // how many jobs have really finished, and not virtually
	added           uint64     // how many jobs were ever added
	ended           uint64     // how often a job became late
	plan            projection
	changes         changes
	sharers         sharers
}

// sharers is the memory in which late jobs share slots.
type sharers struct {
	jobs []*Job
	list []Sharer
	division
}

// New returns a cluster without jobs. A negative capacity counts as 0.
func New(capacity int, now scheduler.Time) *Cluster {
	c := &Cluster{
		now: now, start: now, level: math.Inf(1), capacity: within(capacity), classes: map[float64]*class{},
		sharing: newSide(func(a, b *class) bool { return a.ratio < b.ratio }),
		bound:   newSide(func(a, b *class) bool { return a.ratio > b.ratio }),
		late:    list.New(),
	}
	c.plan.cluster = c
	return c
}

func within(slots int) int64 { return int64(min(max(slots, 0), CapMax)) }

// Now returns the cluster's time.
func (c *Cluster) Now() scheduler.Time { return c.now }

// Add adds a job with done slot-seconds of virtual work: 0 for a new job, and Job.Done's result
// for a job from a checkpoint. A job without remaining work is late at once.
func (c *Cluster) Add(id ID, s Spec, done float64) *Job {
	if !(done >= 0) {
		done = 0
	}
	c.catchUp()
	c.added++
	j := &Job{id: id, serial: c.added, spec: s.bounded(), in: c, done: min(done, SizeMax)}
	c.put(j)
	c.fill()
	return j
}

// Set changes a job's Spec. The work that was done virtually stays done; what remains is the new
// size less that. If nothing remains, the job is late from now on. A late job whose size grows
// beyond the work done is no longer late. Set ignores a job that was removed or has really
// finished.
func (c *Cluster) Set(j *Job, s Spec) {
	s = s.bounded()
	switch {
	case j.in != c || j.virtuallyActive || s == j.spec:
	case j.Late() && j.done >= s.Size*(1-rounding):
		j.spec = s
		c.changes.job(j)
	default:
		c.catchUp()
		c.take(j)
		j.spec = s
		c.put(j)
		c.fill()
	}
}

// FinishReal marks a job as really finished, with size slot-seconds of work. The caller must not
// use the job again: no order includes it. If it is not late, it continues virtually until its
// finish there. So the other jobs keep the order of processor sharing, in which it would still run.
// Otherwise they would become late even with exact sizes. FinishReal acts as Remove if the job
// would never finish virtually, or if there are VirtuallyActiveMax such jobs. A job never finishes
// if its size is infinite or NaN, or its cap is 0.
func (c *Cluster) FinishReal(j *Job, size float64) {
	s := j.spec
	s.Size = size
	if s = s.bounded(); j.class == nil || s.Cap == 0 || math.IsInf(s.Size, 1) || c.virtuallyActive >= VirtuallyActiveMax {
		c.Remove(j)
		return
	}
	if j.in != c || j.virtuallyActive {
		return
	}
	c.catchUp()
	c.take(j)
	j.spec, j.virtuallyActive = s, true
	c.virtuallyActive++
	c.put(j)
	c.fill()
}

// Remove removes a job that failed or was killed.
func (c *Cluster) Remove(j *Job) {
	if j.in != c || j.virtuallyActive {
		return
	}
	c.catchUp()
	c.take(j)
	j.in = nil
	c.changes.gone(j)
	c.fill()
}

// SetCapacity changes how many slots there are. Without slots no job makes progress. Negative
// counts as 0.
func (c *Cluster) SetCapacity(slots int) {
	if n := within(slots); n != c.capacity {
		c.catchUp()
		c.capacity = n
		c.fill()
	}
}

// Advance brings the cluster to a time (section 3.3, "Job Aging"). All jobs make progress until
// then, and those that finish are late. A time before the cluster's own changes nothing. A job
// within a nanosecond of its virtual finish counts as finished.
func (c *Cluster) Advance(to scheduler.Time) {
	if to <= c.now {
		return
	}
	end := secondsBetween(c.start, to)
	for {
		j, at := c.next()
		if j == nil || at > end+nanosecond {
			break
		}
		c.pass(min(at, end))
		c.now = min(max(after(c.start, at), c.now), to)
		c.finish(j)
		c.fill()
	}
	c.now = to
	if seconds, integral := c.moment(); max(seconds, integral) > rebaseAt {
		c.rebase()
	}
}

const (
	nanosecond = 1e-9  // in seconds
	rounding   = 1e-12 // the part of a job's size that counts as nothing
)

// secondsBetween returns the seconds from a to b; b must not be before a.
func secondsBetween(a, b scheduler.Time) float64 { return float64(uint64(b)-uint64(a)) / 1e9 }

// after returns the time so many seconds after t, or Never if that is out of range.
func after(t scheduler.Time, seconds float64) scheduler.Time {
	if ns := math.Round(seconds * 1e9); ns < float64(uint64(Never)-uint64(t)) {
		return t + scheduler.Time(uint64(ns))
	}
	return Never
}

// moment returns the cluster's time in seconds, and the level's integral at that time.
func (c *Cluster) moment() (seconds, integral float64) { return c.at(secondsBetween(c.start, c.now)) }

// at returns a time in seconds, and the level's integral then, if nothing changes before.
func (c *Cluster) at(seconds float64) (_, integral float64) {
	switch {
	case !(seconds > c.seconds):
		return c.seconds, c.integral
	case c.weight > 0:
		return seconds, c.integral + float64(c.level*(seconds-c.seconds))
	}
	return seconds, c.integral
}

// catchUp moves the time of the last change to the cluster's time. It is called before a change.
func (c *Cluster) catchUp() { c.pass(secondsBetween(c.start, c.now)) }

// pass moves the time of the last change forward.
func (c *Cluster) pass(to float64) {
	c.changes.any = true
	c.plan.valid = false
	c.seconds, c.integral = c.at(to)
}

// next returns the job that finishes first, and when, in seconds.
func (c *Cluster) next() (first *Job, at float64) {
	at = math.Inf(1)
	earliest := func(j *Job, t float64) {
		if first == nil || t < at || t == at && j.compare(first) < 0 {
			first, at = j, t
		}
	}
	for _, k := range c.bound.byDue.First() {
		earliest(k.first(), k.due)
	}
	for _, k := range c.sharing.byDue.First() {
		earliest(k.first(), reach(c.seconds, k.due-c.integral, c.level))
	}
	if g := c.bound.virtualJobs.first(); g != nil {
		earliest(g.job, g.due)
	}
	if g := c.sharing.virtualJobs.first(); g != nil {
		earliest(g.job, reach(c.seconds, g.due-c.integral, c.level))
	}
	return first, at
}

func (c *Cluster) finish(j *Job) {
	c.take(j)
	j.done = j.spec.Size
	c.put(j)
}

// put puts a job into its class or the late list, and take takes it out. The level is wrong until
// fill is called.
func (c *Cluster) put(j *Job) {
	c.changes.job(j)
	switch {
	case j.done < j.spec.Size*(1-rounding):
		c.join(j)
	case j.virtuallyActive:
		c.virtuallyActive--
		j.in = nil
		c.changes.gone(j)
	default:
		c.ended++
		j.late, j.ended, j.turn = c.late.PushBack(j), c.now, c.ended
	}
}

func (c *Cluster) take(j *Job) {
	if j.late != nil {
		c.late.Remove(j.late)
		j.late = nil
		return
	}
	j.done = j.Done()
	c.leave(j)
}

// rebaseAt bounds the sums: the seconds (twelve days) and the level's integral. Beyond it they
// count from 0 again, so that times stay exact to less than a nanosecond.
const rebaseAt = 1 << 20

func (c *Cluster) rebase() {
	c.catchUp()
	c.changes.all()
	for _, s := range []*side{&c.sharing, &c.bound} {
		s.virtualJobs = nil
		for _, k := range s.byRatio.Items {
			clock := c.clock(k)
			k.from, k.base = 0, 0
			for _, jobs := range [][]*Job{k.jobs.Items, k.virtuallyActive} {
				for _, j := range jobs {
					j.tag -= clock
					j.mark -= clock
				}
			}
			for _, j := range k.virtuallyActive {
				s.virtualJobs = s.virtualJobs.insert(k.virtualJob(j))
			}
			if k.jobs.Init(); len(k.jobs.Items) > 0 {
				k.due = k.when(k.first().tag)
			}
		}
		s.byDue.Init()
	}
	c.start, c.seconds, c.integral = c.now, 0, 0
}
