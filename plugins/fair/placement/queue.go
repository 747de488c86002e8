package placement

import (
	"slices"

	"github.com/hamadryad/hamadryad/plugins/fair/shares"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/queueorder"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Turns lists the waiting jobs in the order in which they would start work if slots of each kind
// came free one by one. Pools and jobs take turns as in a round. A job that has reached a limit
// comes after all others. Delays for locality, and room, are ignored.
func (p *State) Turns(l *queueorder.List, why func(*shares.Job, pooltree.Kind) string) {
	for _, k := range p.World.Order {
		l.BeginKind()
		p.turns(k, l, why)
	}
	if len(p.World.Order) == 0 || l.Full() {
		return // there are no slots, so no pool and no job has a row
	}
	var held []*shares.Job
	for id, j := range p.Jobs { // in any order: they are sorted
		if !l.Knows(id) && p.left(j) {
			held = append(held, j)
		}
	}
	slices.SortFunc(held, shares.InLine)
	l.BeginUnserved()
	for _, j := range held {
		l.Add(j.ID(), why(j, p.firstKind(j)))
	}
}

func (p *State) turns(k pooltree.Kind, l *queueorder.List, why func(*shares.Job, pooltree.Kind) string) {
	line, name := p.Tree.Line(k), p.World.Kinds[k]
	work := map[*shares.Job]*view.Walk{}
	for starts := 0; l.Count() < scheduler.QueueMax; starts++ {
		next := line.Next()
		if next == nil {
			return
		}
		j := next.Owner.(*shares.Job)
		if work[j] == nil {
			w := j.Launchable(name, 0)
			work[j] = &w
		}
		b := work[j].Next()
		if b == nil || next.AtMax(gangs.Slots(b, name)) { // what is ready counts for another kind, or is too large
			next.Leave()
			continue
		}
		if !l.Has(j.ID()) {
			l.Add(j.ID(), why(j, k))
		}
		if starts < queueorder.StartsMax {
			next.Take(gangs.Slots(b, name))
		} else {
			next.Leave()
		}
	}
}

// left says whether a job has work to launch that the last round left.
func (p *State) left(j *shares.Job) bool {
	for range j.Launchable("", 0).All() {
		return true
	}
	return false
}

// firstKind is the first kind of slots that a job's ready work needs.
func (p *State) firstKind(j *shares.Job) pooltree.Kind {
	for _, k := range p.World.Order {
		if j.LaunchableFirst(p.World.Kinds[k]) > 0 {
			return k
		}
	}
	return 0 // which is there, as some kind of slots is
}
