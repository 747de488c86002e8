package virtual

import "math"

// join puts a job into its class, and leave takes it out.
func (c *Cluster) join(j *Job) {
	ratio := j.ratio()
	k := c.classes[ratio]
	if k == nil {
		k = newClass(ratio)
		k.bound = ratio <= c.level
		k.from = c.hand(k)
		c.classes[ratio] = k
		c.side(k).add(k)
		c.changes.class(k)
	}
	j.class, j.mark, j.tag = k, c.clock(k), math.Inf(1)
	if ratio > 0 {
		j.tag = j.mark + (j.spec.Size-j.done)/j.spec.Weight
	}
	s := c.side(k)
	switch {
	case j.virtuallyActive:
		j.place = len(k.virtuallyActive)
		k.virtuallyActive = append(k.virtuallyActive, j)
		s.virtualJobs = s.virtualJobs.insert(k.virtualJob(j))
	case len(k.jobs.Items) == 0:
		k.jobs.Push(j)
		k.due = k.when(j.tag)
		s.byDue.Push(k)
	default:
		k.jobs.Push(j)
		k.due = k.when(k.first().tag)
		s.byDue.Fix(k.byDue)
	}
	c.weigh(k, j, 1)
}

func (c *Cluster) leave(j *Job) {
	k := j.class
	s := c.side(k)
	switch {
	case j.virtuallyActive:
		s.virtualJobs = s.virtualJobs.remove(k.when(j.tag), j)
		last := len(k.virtuallyActive) - 1
		k.virtuallyActive[j.place] = k.virtuallyActive[last]
		k.virtuallyActive[j.place].place = j.place
		k.virtuallyActive[last] = nil
		k.virtuallyActive = k.virtuallyActive[:last]
	case len(k.jobs.Items) == 1:
		s.byDue.Remove(k.byDue)
		k.jobs.Remove(j.place)
	default:
		k.jobs.Remove(j.place)
		k.due = k.when(k.first().tag)
		s.byDue.Fix(k.byDue)
	}
	c.weigh(k, j, -1)
	j.class = nil
	if k.empty() {
		s.remove(k)
		delete(c.classes, k.ratio)
	}
}

// weigh adds a job's weight and cap to the sums of its class and side, or subtracts them.
func (c *Cluster) weigh(k *class, j *Job, sign int64) {
	c.count(k, -1)
	weight, caps := sign*j.units(), sign*int64(j.spec.Cap)
	k.weight += weight
	k.caps += caps
	if j.virtuallyActive {
		k.gone.weight += weight
		k.gone.caps += caps
	}
	c.count(k, 1)
}

// count adds a class's weight or caps to the sums of its side, or subtracts them.
func (c *Cluster) count(k *class, sign int64) {
	c.plan.valid = false
	if k.bound {
		c.caps += sign * k.caps
	} else {
		c.weight += sign * k.weight
	}
}

func (c *Cluster) side(k *class) *side {
	if k.bound {
		return &c.bound
	}
	return &c.sharing
}

// hand returns the value that a class's clock runs by, at the cluster's time: seconds or the
// level's integral.
func (c *Cluster) hand(k *class) float64 {
	seconds, integral := c.moment()
	if k.bound {
		return seconds
	}
	return integral
}

func (c *Cluster) clock(k *class) float64 { return k.clock(c.hand(k)) }

// fill recomputes the level, and changes the classes whose cap starts or stops to bind.
func (c *Cluster) fill() {
	for b := &c.bound.byRatio; len(b.Items) > 0 && b.Items[0].ratio > level(c.capacity-c.caps, c.weight); {
		c.change(b.Items[0])
	}
	for s := &c.sharing.byRatio; len(s.Items) > 0 && s.Items[0].ratio <= level(c.capacity-c.caps, c.weight); {
		c.change(s.Items[0])
	}
	c.level = level(c.capacity-c.caps, c.weight)
}

// level is slots per weight for jobs that their cap does not bind, after the bound jobs took
// theirs. slots is what those leave; it may be negative, and then the level is too. weight is in
// units.
func level(slots, weight int64) float64 {
	switch {
	case weight > 0:
		return float64(slots) * weightUnits / float64(weight)
	case slots >= 0:
		return math.Inf(1)
	}
	return math.Inf(-1)
}

// change makes a sharing class bound, or a bound class sharing.
func (c *Cluster) change(k *class) {
	clock := c.clock(k)
	c.count(k, -1)
	c.side(k).remove(k)
	k.bound = !k.bound
	k.base, k.from = clock, c.hand(k)
	c.side(k).add(k)
	c.count(k, 1)
	c.changes.class(k)
}
