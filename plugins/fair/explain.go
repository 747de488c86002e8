package fair

import (
	"fmt"
	"strconv"

	"github.com/hamadryad/hamadryad/plugins/fair/allocation"
	"github.com/hamadryad/hamadryad/plugins/fair/preemption"
	"github.com/hamadryad/hamadryad/plugins/fair/shares"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/queueorder"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
)

// explainWaits reports why jobs wait, if the reason changed. It checks jobs that were touched,
// passed over now or before, or expect slots.
func (p *Policy) explainWaits(d *scheduler.Decisions) {
	tell := func(j *shares.Job) {
		if j.Node == nil {
			return
		}
		if why := p.why(j); why != j.Reported {
			d.Waiting = append(d.Waiting, scheduler.Waiting{Job: j.ID(), Reason: why, Detail: p.detail(j, why)})
			j.Reported = why
		}
	}
	for _, j := range p.shares.Synced {
		tell(j)
	}
	p.shares.Synced = p.shares.Synced[:0]
	p.placement.Touched(tell)
	p.preemption.Expecting(func(id scheduler.JobID) {
		if j := p.shares.Jobs[id]; j != nil {
			tell(j)
		}
	})
}

// why says why a job waits. It depends only on the present round, so that a restarted policy
// gives the same reason.
func (p *Policy) why(j *shares.Job) scheduler.WaitReason {
	waits := false
	for _, k := range p.shares.World.Order {
		waits = waits || j.Node.Has(k) && j.Node.Of(k).Ready() > 0
	}
	switch {
	case j.PassedOver == scheduler.WaitPreempting:
		return j.PassedOver
	case !j.Runnable && j.LaunchableCount() > 0:
		return scheduler.WaitAtLimit
	case !waits:
		return scheduler.WaitNone
	case p.preemption.Expects(j.ID()):
		return scheduler.WaitPreempting
	case j.PassedOver != scheduler.WaitNone:
		return j.PassedOver
	}
	return scheduler.WaitTurn
}

// detail says in numbers why a job waits.
func (p *Policy) detail(j *shares.Job, why scheduler.WaitReason) string {
	if why == scheduler.WaitNone {
		return ""
	}
	s := append(p.appendPool(p.text[:0], j), ": "...)
	for _, k := range p.shares.World.Order {
		if !j.Node.Has(k) {
			continue
		}
		x, n := j.Pool.Node.Of(k), j.Node.Of(k)
		s = fmt.Appendf(s, "%d %s slots held of %d wanted, by the job %d and %d", x.Running, p.shares.World.Kinds[k], x.Demand(), n.Running, n.Demand())
		if x.Max > 0 {
			s = fmt.Appendf(s, ", at most %d", x.Max)
		}
		s = append(s, "; "...)
		s = append(s, p.placement.Withheld(p.shares.World.Kinds[k])...)
	}
	switch why {
	case scheduler.WaitAtLimit:
		if limit := j.AtUserLimit(); j.Runnable && limit != "" {
			s = append(s, limit...)
		} else if !j.Runnable {
			s = fmt.Appendf(s, "as many jobs run as the pool (%s) and the user (%s) may",
				limitText(p.config.Table.JobsMax(j.Pool.Spec)), limitText(p.config.Table.UserMax(j.Info.User)))
		} else {
			s = append(s, "the pool's maximum share leaves no room; work that needs more than all of it never starts: raise max-share, or ask for less"...)
		}
	case scheduler.WaitLocality:
		s = fmt.Appendf(s, "passed over for %s for want of a slot near its input (node %s, then rack %s)",
			j.Wait.Total(p.view.Now()), p.placement.Limits.Node, p.placement.Limits.Rack)
	case scheduler.WaitHeld:
		s = fmt.Appendf(s, "slots are held back by the load manager %s (load.manager)", p.config.LoadManager)
	default:
		s = append(s, why.String()...)
	}
	p.text = s
	return string(s)
}

// appendPool names a job's pool. It says why that differs from the pool it was moved to, and
// whether the pool may be a mistake.
func (p *Policy) appendPool(s []byte, j *shares.Job) []byte {
	s = append(append(s, "pool "...), j.Pool.Spec.Path...)
	switch {
	case j.Refused != "":
		s = fmt.Appendf(s, " (it stays there: pool %q is not declared, and placement.undeclared is %s)", j.Refused, p.config.Undeclared)
	case j.Undeclared:
		s = append(s, " (which is not declared: the job came while the policy was down, or before its settings changed; it may be moved)"...)
	}
	return s
}

func limitText(n int) string {
	if n == allocation.Unlimited {
		return "no limit"
	}
	return strconv.Itoa(n)
}

// Explain says why a job waits, as of the last round, with its pool's numbers.
func (p *Policy) Explain(id scheduler.JobID) (scheduler.Explanation, error) {
	j := p.shares.Jobs[id]
	if j == nil {
		return scheduler.Explanation{}, fmt.Errorf("%w: %s", scheduler.ErrUnknownJob, id)
	}
	why := p.why(j)
	x := scheduler.Explanation{Reason: why, Detail: p.detail(j, why)}
	if why == scheduler.WaitNone {
		x.Detail = fmt.Sprintf("%s: nothing of the job waits, %d attempts are live", p.appendPool(nil, j), len(j.Attempts()))
	}
	x.Detail += p.placement.Placer.Over()
	fairShares := p.fairShares()
	for _, k := range p.shares.World.Order {
		if !j.Node.Has(k) {
			continue
		}
		n := j.Node.Of(k)
		if n.Ready() > 0 {
			x.Detail += p.exhausted(j, k)
		}
		name := p.shares.World.Kinds[k]
		x.Facts = append(x.Facts,
			scheduler.Property{Name: name + " running", Value: strconv.Itoa(n.Running)},
			scheduler.Property{Name: name + " demand", Value: strconv.Itoa(n.Demand())},
			scheduler.Property{Name: name + " weight", Value: strconv.FormatFloat(n.Weight, 'g', 4, 64)},
			scheduler.Property{Name: name + " pool share", Value: strconv.FormatFloat(fairShares(j.Pool.Node, k), 'f', 2, 64)},
		)
	}
	x.Facts = append(x.Facts,
		scheduler.Property{Name: "pool", Value: j.Pool.Spec.Path},
		scheduler.Property{Name: "runnable", Value: strconv.FormatBool(j.Runnable)},
	)
	return x, nil
}

// exhausted says why slots are not taken back that a job's pool, or a pool above it, may take
// back.
func (p *Policy) exhausted(j *shares.Job, k pooltree.Kind) string {
	for x := j.Pool; x != nil; x = p.shares.Pools[x.Spec.Parent] {
		if why := p.preemption.Exhausted(x, k); why != "" {
			return fmt.Sprintf("; pool %s %s", x.Spec.Path, why)
		}
	}
	return ""
}

// fairShares computes the current fair shares, apart from those that updates use.
func (p *Policy) fairShares() func(*pooltree.Node, pooltree.Kind) float64 {
	saved := map[*pooltree.Schedulable]float64{}
	now := map[*pooltree.Schedulable]float64{}
	for _, k := range p.shares.World.Order {
		for _, n := range p.shares.Tree.Pools() {
			saved[n.Of(k)] = n.Of(k).Share
		}
		p.shares.Tree.Divide(k, p.shares.World.Total[k])
		for _, n := range p.shares.Tree.Pools() {
			s := n.Of(k)
			now[s], s.Share = s.Share, saved[s]
		}
	}
	return func(n *pooltree.Node, k pooltree.Kind) float64 { return now[n.Of(k)] }
}

// queue lists the waiting jobs in the order in which they would be served.
func (p *Policy) queue(fairShares func(*pooltree.Node, pooltree.Kind) float64) []scheduler.Queued {
	var l queueorder.List
	p.placement.Turns(&l, func(j *shares.Job, k pooltree.Kind) string { return p.compared(j, k, fairShares(j.Pool.Node, k)) })
	return l.Queue()
}

// compared explains a job's place: what its pool and the job hold, and the values they are
// compared by.
func (p *Policy) compared(j *shares.Job, k pooltree.Kind, share float64) string {
	path, pool, kind := j.Pool.Spec.Path, j.Pool.Node.Of(k), p.shares.World.Kinds[k]
	if !j.Runnable {
		return fmt.Sprintf("as many jobs run as pool %s (%s) and the user (%s) may", path,
			limitText(p.config.Table.JobsMax(j.Pool.Spec)), limitText(p.config.Table.UserMax(j.Info.User)))
	}
	held, of := 0, fmt.Sprintf("share of %.1f", share)
	if j.Node.Has(k) {
		held = j.Node.Of(k).Running
	}
	switch {
	case pool.Rank().Needy():
		of = fmt.Sprintf("minimum share of %d", pool.Min)
		if share < float64(min(pool.Min, pool.Demand()))-preemption.Slack {
			of += fmt.Sprintf(", scaled down to %.1f,", share)
		}
	case pool.Max > 0 && pool.Running >= pool.Max:
		of = fmt.Sprintf("maximum share of %d", pool.Max)
	}
	return fmt.Sprintf("pool %s holds %d of its %s %s slots, the job %d", path, pool.Running, of, kind, held)
}

// Status shows every pool for every kind of slot.
func (p *Policy) Status() (scheduler.Status, error) {
	fairShares := p.fairShares()
	s := scheduler.Status{AllPools: len(p.shares.World.Order) > 0} // without slots no pool has a row
	for _, n := range p.shares.Tree.Pools() {
		for _, k := range p.shares.World.Order {
			x := n.Of(k)
			s.Pools = append(s.Pools, scheduler.PoolStatus{
				Name: n.Path, Parent: n.Parent.Path, Kind: p.shares.World.Kinds[k], Weight: x.Weight, MinShare: x.Min, MaxShare: x.Max,
				FairShare: fairShares(n, k), Demand: x.Demand(), Running: x.Running, Jobs: n.Jobs(),
			})
		}
	}
	s.Queue = p.queue(fairShares)
	s.Facts = append(p.placement.Placer.Facts(&p.config.Locality), []scheduler.Property{
		{Name: "node delay", Value: p.placement.Limits.Node.String()},
		{Name: "rack delay", Value: p.placement.Limits.Rack.String()},
		{Name: "preemption", Value: p.config.Preemption},
		{Name: "waiting for locality", Value: strconv.Itoa(p.placement.WaitsCount())},
	}...)
	if n, looks := p.placement.Refused(); looks {
		s.Facts = append(s.Facts, scheduler.Property{
			Name: "launchers over their load", Value: fmt.Sprintf("%d of %d", n, len(p.view.Launchers())),
		})
	}
	return s, nil
}
