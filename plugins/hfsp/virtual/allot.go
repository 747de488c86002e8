package virtual

import (
	"iter"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Rule says how late jobs are served.
type Rule uint8

const (
	// Sharing makes late jobs share the slots by weight, as far as they can use them, as in
	// FSP+PS and PSBS. So a job with a much underestimated size slows others down, but blocks
	// none.
	Sharing Rule = iota
	// Plain serves late jobs one after the other, in the order of their virtual finish: the Fair
	// Sojourn Protocol of the papers. A job with a much underestimated size blocks all others.
	Plain
)

// Order walks through all jobs in the order in which they are to be served. Late ones come in the
// order of their virtual finish. The others follow in the order in which they would finish if no
// job came and nothing else changed. Ties are in order of ID; those that never finish come last.
// The cluster must not be changed meanwhile.
func (c *Cluster) Order() iter.Seq[*Job] {
	return func(yield func(*Job) bool) {
		for e := c.late.Front(); e != nil; e = e.Next() {
			if !yield(e.Value.(*Job)) {
				return
			}
		}
		c.projected()(yield)
	}
}

// projected walks the jobs of Order that are not late.
func (c *Cluster) projected() iter.Seq[*Job] {
	return func(yield func(*Job) bool) {
		p := &c.plan
		p.ensure()
		for i := 0; i < len(p.order) || p.next(); i++ {
			if !yield(p.order[i]) {
				return
			}
		}
	}
}

// Next returns the first job of Order that is not late, or nil.
func (c *Cluster) Next() *Job {
	for j := range c.projected() {
		return j
	}
	return nil
}

// Allot divides slots of the real cluster. Late jobs have theirs first, by the rule. Then each job
// in order takes all that it can use, until no slot is left. Want says how many slots a job can use
// now; (*Job).Cap is what the virtual cluster counts with. Jobs that get none are passed over. The
// cluster must not be changed meanwhile.
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
		if late == Sharing && c.late.Len() > 0 {
			jobs, sharers := c.sharers.jobs[:0], c.sharers.list[:0]
			for e := c.late.Front(); e != nil; e = e.Next() {
				j := e.Value.(*Job)
				jobs, sharers = append(jobs, j), append(sharers, Sharer{want(j), j.spec.Weight})
			}
			c.sharers.jobs, c.sharers.list = jobs, sharers
			for i, n := range c.sharers.slots(slots, sharers) {
				if !give(jobs[i], n) {
					return
				}
			}
		}
		jobs := c.Order()
		if late == Sharing {
			jobs = c.projected()
		}
		for j := range jobs {
			if left <= 0 || !give(j, want(j)) {
				return
			}
		}
	}
}

// Lates returns how often a job became late.
func (c *Cluster) Lates() uint64 { return c.ended }

// Finish returns when a job finishes virtually if no job arrives and nothing else changes. For a
// late job it is when it finished. It may be Never.
func (c *Cluster) Finish(j *Job) scheduler.Time {
	switch {
	case j.in != c || j.virtuallyActive:
		return Never
	case j.Late():
		return j.ended
	}
	p := &c.plan
	p.ensure()
	for j.planned != p.number && p.next() {
	}
	return after(c.start, j.ends)
}
