package virtual

// virtualJobs is a persistent treap of virtually active jobs, all sharing or all bound, in order of
// their end. An update copies one path, so that a projection has its own version. The total work of
// the jobs until a time, and the time at which they have done so much, take logarithmic time. So
// their number does not matter when other jobs are put in order. There are as many as other jobs,
// since FSP finishes jobs long before processor sharing would.
//
// Times and ends are in the unit of the classes' clocks: the level's integral, or seconds. A
// virtual job does amount (its weight, or its cap) per unit.
type virtualJobs struct {
	due    float64
	amount float64
	job    *Job
	rank   uint64 // larger than the ranks below

	left, right *virtualJobs
	last        float64 // the last due in this subtree
	sum         float64 // of all amounts in this subtree
	moment      float64 // sum of amount × (due - this due) in this subtree
}

func (g *virtualJobs) total() float64 {
	if g == nil {
		return 0
	}
	return g.sum
}

// sums returns the sum of a subtree's amounts, and their moment about a time.
func (g *virtualJobs) sums(about float64) (sum, moment float64) {
	if g == nil {
		return 0, 0
	}
	return g.sum, g.moment + float64(g.sum*(g.due-about))
}

// with returns a copy of g with other children.
func (g *virtualJobs) with(left, right *virtualJobs) *virtualJobs {
	x := *g
	x.left, x.right = left, right
	l, lm := left.sums(g.due)
	r, rm := right.sums(g.due)
	x.sum, x.moment, x.last = l+g.amount+r, lm+rm, g.due
	if right != nil {
		x.last = right.last
	}
	return &x
}

func newVirtualJob(j *Job, due, amount float64) *virtualJobs {
	// Ranks are pseudo-random, and the same in each run (splitmix64).
	z := j.serial * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return &virtualJobs{due: due, amount: amount, job: j, rank: z ^ z>>31, last: due, sum: amount}
}

func (g *virtualJobs) before(due float64, j *Job) bool {
	return g.due < due || g.due == due && g.job.compare(j) < 0
}

func (g *virtualJobs) insert(x *virtualJobs) *virtualJobs {
	switch {
	case g == nil:
		return x
	case x.rank > g.rank:
		return x.with(g.split(x))
	case g.before(x.due, x.job):
		return g.with(g.left, g.right.insert(x))
	}
	return g.with(g.left.insert(x), g.right)
}

// split returns the jobs before x and those after it.
func (g *virtualJobs) split(x *virtualJobs) (left, right *virtualJobs) {
	switch {
	case g == nil:
		return nil, nil
	case g.before(x.due, x.job):
		l, r := g.right.split(x)
		return g.with(g.left, l), r
	}
	l, r := g.left.split(x)
	return l, g.with(r, g.right)
}

// remove removes a job that ends at due.
func (g *virtualJobs) remove(due float64, j *Job) *virtualJobs {
	switch {
	case g == nil:
		panic("virtual: a virtually active job is not where it was put")
	case g.job == j:
		return join(g.left, g.right)
	case g.before(due, j):
		return g.with(g.left, g.right.remove(due, j))
	}
	return g.with(g.left.remove(due, j), g.right)
}

func join(a, b *virtualJobs) *virtualJobs {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.rank > b.rank:
		return a.with(a.left, join(a.right, b))
	}
	return b.with(join(a, b.left), b.right)
}

// first returns the job that ends first, or nil.
func (g *virtualJobs) first() *virtualJobs {
	for g != nil && g.left != nil {
		g = g.left
	}
	return g
}

// progress is the state of virtual jobs at a time: the sum of the amounts of those that have not
// ended (left), and the work of all since another time (done).
type progress struct{ left, done float64 }

// at returns the progress at a time, with work counted from since.
func (g *virtualJobs) at(time, since float64) progress {
	p := progress{left: g.total()}
	for g != nil {
		switch {
		case time >= g.last:
			p = p.end(g, g.sum, g.moment, since)
			g = nil
		case time >= g.due:
			sum, moment := g.left.sums(g.due)
			p = p.end(g, sum+g.amount, moment, since)
			g = g.right
		default:
			g = g.left
		}
	}
	p.done += float64(p.left * (time - since))
	return p
}

// end returns the progress after more jobs have ended, which have this sum and moment about g's
// due. The work of unfinished virtual jobs is not included.
func (p progress) end(g *virtualJobs, sum, moment, since float64) progress {
	return progress{p.left - sum, p.done + moment + float64(sum*(g.due-since))}
}

// reach returns the time at which the work done reaches a value, and the progress then. Other jobs
// work at a constant speed. The work of the virtual jobs counts with sign +1 or -1. Both count from
// the time from, when the virtual jobs' progress is begin.
func (g *virtualJobs) reach(work, speed, sign, from float64, begin progress, since float64) (float64, progress) {
	p, last, x := progress{left: g.total()}, from, g
	until := func(time float64, p progress) float64 {
		return float64(speed*(time-from)) + sign*(p.done+float64(p.left*(time-since))-begin.done)
	}
	for x != nil {
		if q := p.end(x, x.sum, x.moment, since); x.last <= from || until(x.last, q) <= work {
			p, last = q, max(last, x.last)
			break
		}
		sum, moment := x.left.sums(x.due)
		if q := p.end(x, sum+x.amount, moment, since); x.due <= from || until(x.due, q) <= work {
			p, last, x = q, max(last, x.due), x.right
		} else {
			x = x.left
		}
	}
	time := last
	if s := speed + sign*p.left; s > 0 {
		time = max(last, from+(work-until(from, p))/s)
	}
	return time, g.at(time, since) // rounding may have passed an end
}

// latest returns the last due in the range above from up to time, or from if there is none.
func (g *virtualJobs) latest(from, time float64) float64 {
	for g != nil {
		if g.due <= time {
			from, g = max(from, g.due), g.right
		} else {
			g = g.left
		}
	}
	return from
}

// find returns the first due after from for which is holds; is must also hold for all later ones.
// If there is none before to, it returns to.
func (g *virtualJobs) find(from, to float64, is func(due float64) bool) float64 {
	for g != nil {
		if g.due > from && (g.due >= to || is(g.due)) {
			to, g = min(to, g.due), g.left
		} else {
			g = g.right
		}
	}
	return to
}
