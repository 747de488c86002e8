package fair

import (
	"cmp"
	"runtime"
	"slices"

	"github.com/hamadryad/hamadryad/internal/prefetch"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// job is what the policy keeps of a live job.
type job struct {
	*view.Job
	node     *pooltree.Node
	pool     *pool
	runnable bool // its pool's and user's limits let it run
	limited  bool // there are such limits
	dirty    bool
	wait     locality.Wait
	told     scheduler.WaitReason // as last sent to the manager

	// In the present round.
	vain  scheduler.WaitReason // why it was asked in vain; none when it was not
	after []scheduler.BundleID // by kind: bundles up to it are given away
	turn  uint64               // of after
}

// ours is what the policy keeps of a job; nil for one that it has not met.
func ours(v *view.Job) *job {
	j, _ := v.Owner.(*job)
	return j
}

// pool is what the policy keeps of a pool.
type pool struct {
	node    *pooltree.Node
	spec    *poolSpec
	starved map[pooltree.Kind]starvation // of those kinds of which it is
}

// rebuild makes tree, pools and jobs anew from the view, the settings and the
// memory: at the start, and when the settings changed.
func (p *Policy) rebuild() {
	old := p.jobs
	var orders pooltree.Memory
	if p.tree == nil {
		p.world.start(&p.view, p.env.Kinds)
		orders = p.memory.orders(&p.world)
	} else {
		orders, p.memory.Starved = p.tree.Memory(), p.starvedPools()
	}
	p.tree, p.pools, p.jobs = pooltree.New(), map[string]*pool{}, map[scheduler.JobID]*job{}
	p.dirty, p.touched, p.visited, p.alarms = nil, nil, nil, nil
	p.limiter, p.changed, p.stale = limiter{}, nil, true
	for _, s := range p.options.alloc.sorted() {
		p.addPool(s)
	}
	for _, v := range p.view.Jobs() {
		p.addJob(v)
		j := p.jobs[v.ID()]
		if was := old[v.ID()]; was != nil {
			j.wait, j.told = was.wait, was.told
		}
	}
	clear(p.waits)
	for id, w := range p.memory.Waits {
		if j := p.jobs[id]; j != nil {
			j.wait = w
		}
	}
	for _, v := range p.view.Jobs() {
		j := p.jobs[v.ID()]
		if j.wait != (locality.Wait{}) {
			p.waits[v.ID()] = j
		}
		if j.wait.Skipped { // unless it is asked in vain again, its clock is to stop
			p.visited = append(p.visited, j)
		}
	}
	p.memory.Waits = nil
	p.sync()
	p.tree.Restore(orders)
	p.recallStarved()
}

func (p *Policy) addPool(s *poolSpec) *pool {
	if old := p.pools[s.path]; old != nil {
		return old
	}
	t := p.options.alloc.tree(s, p.world.kind)
	x := &pool{node: p.tree.AddPool(s.parent, s.path, t), spec: s, starved: map[pooltree.Kind]starvation{}}
	p.pools[s.path] = x
	return x
}

// addJob puts a job where it belongs. A job that ended in the round it came in is
// nil.
func (p *Policy) addJob(v *view.Job) {
	if v == nil || p.jobs[v.ID()] != nil {
		return
	}
	j := &job{Job: v}
	p.jobs[v.ID()] = j
	v.Owner = j
	p.putJob(j)
	p.trace.job(p, "job added", j)
}

func (p *Policy) putJob(j *job) {
	to := p.options.place(&j.Info, p.memory.Undeclared[j.ID()])
	if to.refused == "" {
		delete(p.memory.Undeclared, j.ID()) // the pool was declared since
	}
	j.pool = p.addPool(to.spec)
	j.node = p.tree.AddJob(j.pool.node, pooltree.Job{
		ID: j.ID(), Priority: j.Info.Priority, Start: j.Info.Submitted, Weight: priorityWeight(j.Info.Priority),
	})
	j.node.Owner = j
	p.limiter.add(p, j)
	p.mark(j)
}

// moveJob takes a job to where it belongs now, with its new priority. Where jobs
// for undeclared pools are refused, one cannot be moved to such a pool either: the
// next rule has it. A job that is in one already stays there.
func (p *Policy) moveJob(j *job) {
	if j == nil {
		return
	}
	p.dropJob(j)
	if lax := p.options.place(&j.Info, false); lax.path != j.pool.spec.path && p.options.place(&j.Info, true).refused != "" {
		p.memory.Undeclared[j.ID()] = true
	} else {
		delete(p.memory.Undeclared, j.ID())
	}
	p.putJob(j)
	p.trace.job(p, "job moved", j)
}

func (p *Policy) removeJob(j *job) {
	if j == nil {
		return
	}
	p.dropJob(j)
	delete(p.memory.Undeclared, j.ID())
	delete(p.jobs, j.ID())
	delete(p.waits, j.ID())
	j.node = nil
	p.trace.job(p, "job removed", j)
}

// dropJob takes a job out of its pool, and away the pool if that was only there
// for it.
func (p *Policy) dropJob(j *job) {
	p.stale = true // what is remembered of the job here, or of the pool
	p.limiter.remove(j)
	p.tree.RemoveJob(j.node)
	if x := j.pool; x.node.Jobs() == 0 && p.options.alloc.pools[x.spec.path] == nil {
		p.tree.RemovePool(x.node)
		delete(p.pools, x.spec.path)
	}
}

// mark says that a job's standing may have changed.
func (p *Policy) mark(j *job) {
	if j != nil && !j.dirty {
		j.dirty = true
		p.dirty = append(p.dirty, j)
	}
}

func (p *Policy) markAttempt(id scheduler.AttemptID) {
	if a := p.view.Attempt(id); a != nil {
		p.mark(ours(a.Job()))
	}
}

// sync brings the tree up to date with the jobs that were marked.
func (p *Policy) sync() {
	p.limiter.settle(p)
	p.alarms.ring(p)
	for i, j := range p.dirty {
		if next := prefetch.Next(p.dirty, i); next != nil {
			p.prefetch(next)
		}
		j.dirty = false
		if j.node != nil {
			p.stand(j)
			p.changed = append(p.changed, j)
		}
	}
	p.dirty = p.dirty[:0]
}

// prefetch touches what the tree knows of jobs. See package prefetch.
func (p *Policy) prefetch(jobs []*job) {
	var sum byte
	for _, j := range jobs {
		sum += prefetch.All(j.node) + prefetch.At(j.after, 0)
	}
	for _, j := range jobs {
		if j.node != nil {
			for _, k := range p.world.order {
				sum += j.node.Prefetch(k)
			}
		}
	}
	runtime.KeepAlive(sum)
}

// stand tells the tree what a job holds and wants.
func (p *Policy) stand(j *job) {
	for _, k := range p.world.order {
		name := p.world.kinds[k]
		held, ready := j.Held(name), j.ReadySlots(name)
		if !j.runnable {
			ready = 0
		}
		if held == 0 && ready == 0 && !j.node.Has(k) {
			continue
		}
		s := j.node.Of(k)
		s.Set(held, ready)
		if p.options.sizeBasedWeight || p.parts.weight != nil {
			s.SetWeight(p.weight(j, s.Demand()))
		}
	}
}

// weight computes a job's weight for a kind of which it demands so much.
func (p *Policy) weight(j *job, demand int) float64 {
	w := priorityWeight(j.Info.Priority)
	if p.options.sizeBasedWeight {
		w = float64(w * sizeWeight(demand))
	}
	if p.parts.weight == nil {
		return w
	}
	w, until := p.parts.weight.Adjust(&j.Info, w, p.view.Now())
	if until > 0 {
		p.alarms.set(j.ID(), until)
	}
	return w
}

// alarms are the times at which weights change by themselves, the next one first.
type alarms []alarm

type alarm struct {
	at  scheduler.Time
	job scheduler.JobID
}

func (a *alarms) set(job scheduler.JobID, at scheduler.Time) {
	x := alarm{at, job}
	i, found := slices.BinarySearchFunc(*a, x, func(a, b alarm) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.job, b.job)) })
	if !found {
		*a = slices.Insert(*a, i, x)
	}
}

// ring marks the jobs whose weight changes now.
func (a *alarms) ring(p *Policy) {
	n := 0
	for n < len(*a) && (*a)[n].at <= p.view.Now() {
		p.mark(p.jobs[(*a)[n].job])
		n++
	}
	*a = slices.Delete(*a, 0, n)
}
