package virtual

import (
	"iter"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Rule says how late jobs are served.
type Rule uint8

const (
	// Sharing has late jobs share the slots by weight, as far as they can use them, as
	// in FSP+PS and PSBS. So one whose size was much underestimated slows others down,
	// and holds nobody up.
	Sharing Rule = iota
	// Plain serves late jobs one after the other, in the order of their virtual finish:
	// the Fair Sojourn Protocol of the papers. One whose size was much underestimated
	// holds everybody up.
	Plain
)

// Order walks through all jobs in the order in which they are to be served: late ones
// in the order of their virtual finish, then the others in that in which they would
// finish if nobody came any more and nothing else changed. Ties are in order of ID;
// those that never finish come last. The cluster must not be changed meanwhile.
func (c *Cluster) Order() iter.Seq[*Job] {
	return func(yield func(*Job) bool) {
		for _, j := range c.late {
			if !yield(j) {
				return
			}
		}
		for _, p := range c.project() {
			if !p.job.retired && !yield(p.job) {
				return
			}
		}
	}
}

// Allot divides slots of the real cluster: late jobs have theirs first, by the rule,
// and then each job in order takes all that it can use, until no slot is left. Want
// says how many slots a job can use now; (*Job).Cap is what the virtual cluster counts
// with. Jobs that get none are passed over. The cluster must not be changed meanwhile.
func (c *Cluster) Allot(slots int, late Rule, want func(*Job) int) iter.Seq2[*Job, int] {
	return func(yield func(*Job, int) bool) {
		left := slots
		give := func(j *Job, n int) bool {
			if n = min(n, left); n <= 0 {
				return true
			}
			left -= n
			return yield(j, n)
		}
		if late == Sharing && len(c.late) > 0 {
			sharers := make([]Sharer, len(c.late))
			for i, j := range c.late {
				sharers[i] = Sharer{want(j), j.spec.Weight}
			}
			for i, n := range Slots(slots, sharers) {
				if !give(c.late[i], n) {
					return
				}
			}
		}
		for j := range c.Order() {
			if left <= 0 {
				return
			}
			if late == Sharing && j.late {
				continue
			}
			if !give(j, want(j)) {
				return
			}
		}
	}
}

// Finish returns when a job finishes virtually if nobody comes any more and nothing
// else changes; for a late one, when it did. It may be Never.
func (c *Cluster) Finish(j *Job) scheduler.Time {
	if j.in != c || j.retired {
		return Never
	}
	if j.late {
		return j.finish
	}
	for _, p := range c.project() {
		if p.job == j {
			return p.finish
		}
	}
	return Never
}

type projected struct {
	job    *Job
	finish scheduler.Time
}

// project plays on a copy until nothing moves any more.
func (c *Cluster) project() (all []projected) {
	copied := &Cluster{now: c.now, capacity: c.capacity}
	for _, j := range c.jobs {
		x := *j
		x.Owner = j
		x.in = copied
		copied.jobs = append(copied.jobs, &x)
	}
	copied.Advance(Never)
	for _, l := range [][]*Job{copied.late, copied.jobs} {
		for _, x := range l {
			p := projected{x.Owner.(*Job), Never}
			if x.late {
				p.finish = x.finish
			}
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b projected) int {
		return int(min(max(a.finish-b.finish, -1), 1))
	})
	return all
}
