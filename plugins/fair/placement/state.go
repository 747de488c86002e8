package placement

import (
	"maps"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/plugins/fair/shares"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
)

// State is what placement keeps between rounds. The zero value is made ready by Start and
// Configure.
type State struct {
	*shares.State
	// Collect is the bundle for which slots are held back; 0: none.
	Collect scheduler.BundleID
	// Limits are how long jobs wait for locality.
	Limits locality.Limits
	// Placer places the launches of a round together, where the site wants that.
	Placer locality.Placer

	urgent   func(*shares.Job, pooltree.Kind) bool
	selector TaskSelector
	load     LoadManager // nil: what is offered may be taken
	busy     busy

	touched []*shares.Job // jobs launched in the last round: what they hold is tentative
	visited []*shares.Job // passed over in this round
	before  []*shares.Job // visited in the round before
	waits   map[scheduler.JobID]*shares.Job
}

// Start begins with the jobs of a state. urgent says which jobs take any slot of a kind,
// regardless of locality.
func (p *State) Start(s *shares.State, urgent func(*shares.Job, pooltree.Kind) bool) {
	p.State, p.urgent, p.waits = s, urgent, map[scheduler.JobID]*shares.Job{}
}

// Configure applies new settings, after the shares' state has. Waits for locality from a
// checkpoint apply to the jobs that still exist.
func (p *State) Configure(heartbeat time.Duration, known map[scheduler.JobID]locality.Wait) {
	c := p.Config
	p.selector, p.load = selector(c), loadManager(c)
	p.busy.start(p.load, p.View)
	p.Limits = c.Locality.Limits(heartbeat)
	p.touched, p.visited = nil, nil
	for id, w := range known {
		if j := p.Jobs[id]; j != nil {
			j.Wait = w
		}
	}
	clear(p.waits)
	for _, v := range p.View.Jobs() {
		j := p.Jobs[v.ID()]
		if j.Wait != (locality.Wait{}) {
			p.waits[v.ID()] = j
		}
		if j.Wait.Skipped { // unless it is passed over again, its clock is to stop
			p.visited = append(p.visited, j)
		}
	}
}

// Begin starts a round, in which the events have the outcomes of the last one's
// launches.
func (p *State) Begin() {
	for _, j := range p.touched {
		p.Mark(j)
	}
	p.touched = p.touched[:0]
}

// Launcher checks again a launcher that came, went, or has a new load.
func (p *State) Launcher(id scheduler.LauncherID) { p.busy.changed(p.View, id) }

// Forget drops a job that ended.
func (p *State) Forget(id scheduler.JobID) { delete(p.waits, id) }

// PassOver records that a job was asked in this round and launched nothing, and why. Of several
// kinds of slots it keeps the reason for which slots stay free. A delay for locality has
// precedence: its clock runs.
func (p *State) PassOver(j *shares.Job, why scheduler.WaitReason) {
	if j.PassedOver == scheduler.WaitNone {
		p.visited = append(p.visited, j)
	}
	if weight(why) >= weight(j.PassedOver) {
		j.PassedOver = why
	}
}

func weight(why scheduler.WaitReason) int {
	switch why {
	case scheduler.WaitNone:
		return 0
	case scheduler.WaitHeld, scheduler.WaitAtLimit:
		return 2
	case scheduler.WaitLocality, scheduler.WaitPreempting:
		return 3
	}
	return 1
}

// Touched walks the jobs that this round's or the last round's launches may have changed.
func (p *State) Touched(visit func(*shares.Job)) {
	for _, list := range [][]*shares.Job{p.before, p.visited, p.touched} {
		for _, j := range list {
			visit(j)
		}
	}
}

// NextWake is when the next job may take slots further away; 0: never.
func (p *State) NextWake() (next scheduler.Time) {
	now := p.View.Now()
	for _, j := range p.visited {
		if t, more := j.Wait.Next(now, p.Limits); more {
			if t = max(t, now+1); next == 0 || t < next {
				next = t
			}
		}
	}
	return next
}

// Waits lists, in order of id, the jobs that have waited for locality since the last save.
func (p *State) Waits() []scheduler.JobID { return slices.Sorted(maps.Keys(p.waits)) }

// WaitsCount is how many jobs Waits lists.
func (p *State) WaitsCount() int { return len(p.waits) }

// Save lists the waits for locality; nil: none. If there are too many it keeps those of the jobs
// that came first.
func (p *State) Save(most int) map[scheduler.JobID]locality.Wait {
	for id, j := range p.waits {
		if j.Wait == (locality.Wait{}) {
			delete(p.waits, id)
		}
	}
	if len(p.waits) == 0 {
		return nil
	}
	ids := p.Waits()
	waits := make(map[scheduler.JobID]locality.Wait, min(len(ids), most))
	for _, id := range ids[:min(len(ids), most)] {
		waits[id] = p.waits[id].Wait
	}
	return waits
}

// Withheld says which free slots of a kind are withheld from all jobs because machines are busy;
// "": none.
func (p *State) Withheld(kind scheduler.SlotKind) string { return p.busy.detail(p.View, kind) }

// Refused is how many launchers get nothing because their machines are busy, and false
// where that is not looked at.
func (p *State) Refused() (int, bool) { return len(p.busy.launchers), p.busy.refuser != nil }
