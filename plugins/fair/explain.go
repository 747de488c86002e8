package fair

import (
	"fmt"
	"strconv"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
)

// explainWaits tells why jobs wait, where that changed: of the jobs that were
// touched, asked in vain now or before, or expect slots.
func (p *Policy) explainWaits(d *scheduler.Decisions) {
	tell := func(j *job) {
		if j.node == nil {
			return
		}
		if why := p.why(j); why != j.told {
			d.Waiting = append(d.Waiting, scheduler.Waiting{Job: j.ID(), Reason: why, Detail: p.detail(j, why)})
			j.told = why
		}
	}
	for _, list := range [][]*job{p.changed, p.before, p.visited, p.touched} {
		for _, j := range list {
			tell(j)
		}
	}
	for _, id := range p.expects.changed {
		if j := p.jobs[id]; j != nil {
			tell(j)
		}
	}
	p.changed, p.expects.changed = p.changed[:0], p.expects.changed[:0]
}

// why says why a job waits. It follows from the present round alone, so that a
// policy that was restarted says the same.
func (p *Policy) why(j *job) scheduler.WaitReason {
	waits := false
	for _, k := range p.world.order {
		waits = waits || j.node.Has(k) && j.node.Of(k).Ready() > 0
	}
	switch {
	case j.vain == scheduler.WaitPreempting:
		return j.vain
	case !j.runnable && j.ReadyCount() > 0:
		return scheduler.WaitAtLimit
	case !waits:
		return scheduler.WaitNone
	case p.expects.of(p, j.ID()):
		return scheduler.WaitPreempting
	case j.vain != scheduler.WaitNone:
		return j.vain
	}
	return scheduler.WaitTurn
}

// detail says in numbers why a job waits.
func (p *Policy) detail(j *job, why scheduler.WaitReason) string {
	if why == scheduler.WaitNone {
		return ""
	}
	s := "pool " + j.pool.spec.path + ": "
	for _, k := range p.world.order {
		if !j.node.Has(k) {
			continue
		}
		x, n := j.pool.node.Of(k), j.node.Of(k)
		s += fmt.Sprintf("%d %s slots held of %d wanted, by the job %d and %d", x.Running, p.world.kinds[k], x.Demand(), n.Running, n.Demand())
		if x.Max > 0 {
			s += fmt.Sprintf(", at most %d", x.Max)
		}
		s += "; " + p.busy.detail(&p.view, p.world.kinds[k])
	}
	switch why {
	case scheduler.WaitAtLimit:
		if !j.runnable {
			s += fmt.Sprintf("as many jobs run as the pool (%s) and the user (%s) may",
				limitText(p.options.alloc.jobsMax(j.pool.spec)), limitText(p.options.alloc.userMax(j.Info.User)))
		} else {
			s += "the pool's maximum share leaves no room; work that needs more than all of it never starts: raise max-share, or ask for less"
		}
	case scheduler.WaitLocality:
		s += fmt.Sprintf("passed over for %s for want of a slot near its input (node %s, then rack %s)",
			j.wait.Total(p.view.Now()), p.limits.Node, p.limits.Rack)
	default:
		s += why.String()
	}
	return s
}

func limitText(n int) string {
	if n == unlimited {
		return "no limit"
	}
	return strconv.Itoa(n)
}

// Explain says why a job waits, as of the last round, with its pool's numbers.
func (p *Policy) Explain(id scheduler.JobID) (scheduler.Explanation, error) {
	j := p.jobs[id]
	if j == nil {
		return scheduler.Explanation{}, fmt.Errorf("%w: %s", scheduler.ErrUnknownJob, id)
	}
	why := p.why(j)
	x := scheduler.Explanation{Reason: why, Detail: p.detail(j, why)}
	if why == scheduler.WaitNone {
		x.Detail = fmt.Sprintf("pool %s: nothing of the job waits, %d attempts are live", j.pool.spec.path, len(j.Attempts()))
	}
	shares := p.shares()
	for _, k := range p.world.order {
		if !j.node.Has(k) {
			continue
		}
		n := j.node.Of(k)
		name := p.world.kinds[k]
		x.Facts = append(x.Facts,
			scheduler.Property{Name: name + " running", Value: strconv.Itoa(n.Running)},
			scheduler.Property{Name: name + " demand", Value: strconv.Itoa(n.Demand())},
			scheduler.Property{Name: name + " weight", Value: strconv.FormatFloat(n.Weight, 'g', 4, 64)},
			scheduler.Property{Name: name + " pool share", Value: strconv.FormatFloat(shares(j.pool.node, k), 'f', 2, 64)},
		)
	}
	x.Facts = append(x.Facts,
		scheduler.Property{Name: "pool", Value: j.pool.spec.path},
		scheduler.Property{Name: "runnable", Value: strconv.FormatBool(j.runnable)},
	)
	return x, nil
}

// shares computes fair shares as they are now, beside those that updates work with.
func (p *Policy) shares() func(*pooltree.Node, pooltree.Kind) float64 {
	saved := map[*pooltree.Schedulable]float64{}
	now := map[*pooltree.Schedulable]float64{}
	for _, k := range p.world.order {
		for _, n := range p.tree.Pools() {
			saved[n.Of(k)] = n.Of(k).Share
		}
		p.tree.Divide(k, p.world.total[k])
		for _, n := range p.tree.Pools() {
			s := n.Of(k)
			now[s], s.Share = s.Share, saved[s]
		}
	}
	return func(n *pooltree.Node, k pooltree.Kind) float64 { return now[n.Of(k)] }
}

// Status shows every pool for every kind of slot.
func (p *Policy) Status() (scheduler.Status, error) {
	shares := p.shares()
	var s scheduler.Status
	for _, n := range p.tree.Pools() {
		for _, k := range p.world.order {
			x := n.Of(k)
			s.Pools = append(s.Pools, scheduler.PoolStatus{
				Name: n.Path, Parent: n.Parent.Path, Kind: p.world.kinds[k], Weight: x.Weight, MinShare: x.Min, MaxShare: x.Max,
				FairShare: shares(n, k), Demand: x.Demand(), Running: x.Running, Jobs: n.Jobs(),
			})
		}
	}
	s.Facts = []scheduler.Property{
		{Name: "locality", Value: p.options.locality},
		{Name: "node delay", Value: p.limits.Node.String()},
		{Name: "rack delay", Value: p.limits.Rack.String()},
		{Name: "preemption", Value: p.options.preemption},
		{Name: "waiting for locality", Value: strconv.Itoa(len(p.waits))},
	}
	if p.busy.refuser != nil {
		s.Facts = append(s.Facts, scheduler.Property{
			Name: "launchers over their load", Value: fmt.Sprintf("%d of %d", len(p.busy.launchers), len(p.view.Launchers())),
		})
	}
	return s, nil
}
