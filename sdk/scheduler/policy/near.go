package policy

import (
	"iter"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// walkMax bounds the bundles of a job that one LaunchNear looks at beside those whose input is near free slots.
const walkMax = 1000

// LaunchNear launches what it can of a job, and returns how many bundles. Each launcher with free slots first gets
// work whose input it holds. The rest waits shortly for such launchers: 1.5 heartbeats for one on a host with its
// input, then as long for one in the rack, then it takes any. The delay begins anew with each launch near the input
// (delay scheduling: Zaharia and others, EuroSys 2010, section 4.3). Work without located input, gangs, and what has
// slots reserved for it do not wait. Second attempts come last.
//
// The package keeps the delays in the policy's checkpoint and asks for a pass when one ends. A job that waits so
// has the reason scheduler.WaitLocality.
func (p *Pass[O, S]) LaunchNear(j *view.Job) (launched int) {
	p.ask(j)
	before := len(p.decisions.Launch)
	n := nearPass[O, S]{Pass: p, job: j, delay: p.driver.delays[j.ID()], limits: locality.Automatic(p.driver.env.Heartbeat)}
	if p.driver.view.Capacity.Reserved(j.ID()) {
		n.each(p.Ready(Filter{Job: j}), p.driver.view.FitReserved)
	}
	if j.GangCount() > 0 {
		n.each(p.Ready(Filter{Job: j, Gang: true}), p.driver.view.Fit)
	}
	for _, kind := range j.Kinds() {
		if p.driver.view.Capacity.FreeSlots(kind) > 0 && j.LaunchableFirst(kind) > 0 {
			n.kind(kind)
		}
	}
	n.each(p.Seconds(Filter{Job: j}), p.driver.view.Fit)
	n.end()
	return len(p.decisions.Launch) - before
}

// nearPass is the work of one LaunchNear.
type nearPass[O, S any] struct {
	*Pass[O, S]
	job    *view.Job
	delay  locality.Wait
	limits locality.Limits
	waits  bool // work was kept from slots that are far from its input
}

// each launches those of the bundles that fit, until too many did not.
func (n *nearPass[O, S]) each(bundles iter.Seq[*view.Bundle], fit locality.FitFunc) {
	misses := 0
	for b := range bundles {
		if where, ok := fit(b); ok {
			n.launch(b, where)
		} else if misses++; misses == locality.MissesMax {
			return
		}
	}
}

// kind launches single groups that need a kind of slots.
func (n *nearPass[O, S]) kind(kind scheduler.SlotKind) {
	v := &n.driver.view
	if n.job.Located() {
		near := locality.Pass{View: v, Job: n.job, Kind: kind, LeaveFull: true, Launch: n.place, May: func(b *view.Bundle) bool {
			return b.Groups[0].Kind == kind
		}}
		near.Full = func() bool { return !near.Open() }
		near.Near(min(n.delay.Allowed(v.Now(), n.limits), scheduler.RackLocal))
	}
	misses, walked := 0, 0
	for b := range n.Ready(Filter{Job: n.job, Kind: kind}) {
		if walked++; walked > walkMax || misses == locality.MissesMax || v.Capacity.FreeSlots(kind) == 0 {
			return
		}
		switch {
		case len(b.Groups) > 1: // tried before
		case v.HasNear(b) && n.delay.Allowed(v.Now(), n.limits) < scheduler.Remote:
			n.waits = true
		default:
			if where, ok := v.Fit(b); ok {
				n.place(b, where)
			} else {
				misses++
			}
		}
	}
}

// place launches a single group, and notes how near to its input.
func (n *nearPass[O, S]) place(b *view.Bundle, where []scheduler.LauncherID) {
	if v := &n.driver.view; v.HasNear(b) {
		n.delay.Launched(view.Locality(v.Launcher(where[0]), &b.Groups[0]))
	}
	n.launch(b, where)
}

// end notes the job's delay, and when more will be allowed.
func (n *nearPass[O, S]) end() {
	now, id := n.Now(), n.job.ID()
	if !n.waits {
		n.delay.Pause(now)
		n.driver.setDelay(id, n.delay)
		return
	}
	n.delay.Skip(now)
	n.driver.setDelay(id, n.delay)
	n.delayed[id] = true
	if at, more := n.delay.Next(now, n.limits); more {
		n.WakeAt(max(at, now+1))
	}
	n.driver.setReason(n.job, reason{why: scheduler.WaitLocality, detail: "free slots are far from its input; it takes them after a short delay"})
}

// stopDelays stops the delays of jobs that LaunchNear was not called for: nobody passed them over.
func (p *Pass[O, S]) stopDelays() {
	for id, w := range p.driver.delays {
		if w.Skipped && !p.delayed[id] {
			w.Pause(p.Now())
			p.driver.setDelay(id, w)
		}
	}
}
