package preemption

import (
	"cmp"
	"time"

	"github.com/hamadryad/hamadryad/plugins/fair/allocation"
	"github.com/hamadryad/hamadryad/plugins/fair/shares"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
)

// Since is since when a pool is below its shares of one kind of slot; 0: it is not. Only updates
// set it.
type Since struct {
	Min  scheduler.Time // its minimum share
	Fair scheduler.Time // the part of its fair share that the threshold says
}

// Slack keeps rounding errors from turning a share of 2 into one slot.
const Slack = 1e-6

// of identifies one kind of slot of a pool.
type of struct {
	pool *shares.Pool
	kind pooltree.Kind
}

// State holds the starved pools, and what was taken back for which job. The zero value is made
// ready by Start and Configure.
type State struct {
	*shares.State
	// Advanced is the time up to which deficits are counted.
	Advanced scheduler.Time
	// NoSuspend says that a launcher can't suspend: it said so, or the manager refused a suspension
	// there. Victims are then killed everywhere.
	NoSuspend bool
	// Spared are the bundles that were preempted.
	Spared map[scheduler.BundleID]Spared
	// Leaving are the attempts that are being stopped, by the job they are stopped for.
	Leaving map[scheduler.JobID][]scheduler.AttemptID

	limits   scheduler.Limits // the manager's bounds
	timeouts bool             // some pool may take slots back
	starved  map[of]Since     // of those kinds of which a pool is; pools that went stay until the next update
	expected expected
}

// Start begins with no pool starved; Restore adds the pools from a checkpoint.
func (p *State) Start(s *shares.State, limits scheduler.Limits) {
	p.State, p.limits = s, limits
}

// Joined records that a launcher is there, and whether it can suspend.
func (p *State) Joined(noSuspend bool) {
	if noSuspend && !p.NoSuspend {
		p.NoSuspend, p.Changed = true, true // it may be lost before the policy starts again
	}
}

// Configure applies new settings, after the shares' state has. All pools are new, and none is
// starved yet: see Restore.
func (p *State) Configure() {
	p.timeouts, p.starved = p.Config.Table.AnyTimeout(), map[of]Since{}
}

// Update computes the fair shares of all pools and finds those below. It never
// looks at jobs.
func (p *State) Update() {
	now := p.View.Now()
	p.Tree.Advance(now.Sub(p.Advanced))
	p.Advanced, p.Changed = now, true
	was := p.starved
	p.starved = make(map[of]Since, len(was))
	for _, k := range p.World.Order {
		p.Tree.Divide(k, p.World.Total[k])
		p.Tree.Guarantee(k)
		for _, n := range p.Tree.Pools() {
			at := of{p.Pools[n.Path], k}
			if is := since(n.Of(k), was[at], now, p.Config.Threshold); is != (Since{}) {
				p.starved[at] = is
			}
		}
	}
}

// since says from when on a pool is starved (design document, section 4.5).
func since(s *pooltree.Schedulable, was Since, now scheduler.Time, threshold float64) (is Since) {
	if belowMin(s) {
		is.Min = cmp.Or(was.Min, now)
	}
	if belowFair(s, threshold) {
		is.Fair = cmp.Or(was.Fair, now)
	}
	return is
}

func belowMin(s *pooltree.Schedulable) bool { return s.Running < s.Guaranteed() }

// belowFair says whether a pool has less than a part of its fair share, and lacks at least one
// whole slot of it. The original rounds the part down, so that a share of less than two slots is
// allocation.Never missed.
func belowFair(s *pooltree.Schedulable, threshold float64) bool {
	return float64(s.Running) < float64(threshold*s.Share)-Slack && s.Running < WholeShare(s)
}

// WholeShare returns the whole slots of a fair share: what a pool may take back, and what it
// keeps when others preempt.
func WholeShare(s *pooltree.Schedulable) int { return s.Whole() }

// Due returns how many slots of a kind a pool may take back now. It is what the pool has lacked to
// its minimum share, or to its fair share, for longer than the timeout.
func (p *State) Due(x *shares.Pool, k pooltree.Kind) int { return p.lack(x, k).all }

// lack is how many slots a pool may take back.
type lack struct {
	all     int
	minimum int // those of them that it lacks to its minimum share: for these no job is spared
}

// less returns the lack with that many more slots on their way.
func (l lack) less(slots int) lack { return lack{l.all - slots, l.minimum - slots} }

func (p *State) lack(x *shares.Pool, k pooltree.Kind) (l lack) {
	s, since := x.Node.Of(k), p.starved[of{x, k}]
	minTimeout, fairTimeout := p.Config.Table.Timeouts(x.Spec)
	if p.overdue(since.Min, minTimeout) {
		l.minimum = max(s.Guaranteed()-s.Running, 0)
	}
	if p.overdue(since.Fair, fairTimeout) {
		l.all = WholeShare(s) - s.Running
	}
	l.all = max(l.all, l.minimum)
	return l
}

// overdue says whether something has lasted longer than a timeout.
func (p *State) overdue(since scheduler.Time, timeout time.Duration) bool {
	return since != 0 && timeout != allocation.Never && p.View.Now().Sub(since) > timeout
}

// Urgent says whether slots may be taken back for a job's pool or one above it. Then the job
// does not wait for locality either.
func (p *State) Urgent(j *shares.Job, k pooltree.Kind) bool {
	if !p.May() || len(p.starved) == 0 {
		return false
	}
	for x := j.Pool; x != nil; x = p.Pools[x.Spec.Parent] {
		minTimeout, fairTimeout := p.Config.Table.Timeouts(x.Spec)
		if since := p.starved[of{x, k}]; p.overdue(since.Min, minTimeout) || p.overdue(since.Fair, fairTimeout) {
			return true
		}
	}
	return false
}

// May says whether any pool may preempt.
func (p *State) May() bool { return p.Config.Preemption != allocation.PreemptOff && p.timeouts }

// Starved is a pool that is starved of a kind of slot.
type Starved struct {
	Pool  string
	Kind  scheduler.SlotKind
	Since Since
}

// List lists the starved pools, in order of the tree and of kind.
func (p *State) List() []Starved {
	if len(p.starved) == 0 {
		return nil
	}
	var all []Starved
	for _, n := range p.Tree.Pools() {
		for _, k := range p.World.Order {
			if since, is := p.starved[of{p.Pools[n.Path], k}]; is {
				all = append(all, Starved{n.Path, p.World.Kinds[k], since})
			}
		}
	}
	return all
}

// Restore restores which of the existing pools were starved.
func (p *State) Restore(all []Starved) {
	for _, s := range all {
		if x := p.Pools[s.Pool]; x != nil {
			p.starved[of{x, p.World.Kind(s.Kind)}] = s.Since
		}
	}
}
