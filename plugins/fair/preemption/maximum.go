package preemption

import (
	"slices"

	"github.com/hamadryad/hamadryad/plugins/fair/shares"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
)

// fullPool is a pool at its maximum share, above a starved one. The starved pool takes slots back
// from the pools in it, and from no others.
type fullPool struct {
	of    *pooltree.Schedulable
	kind  scheduler.SlotKind
	lacks int // slots that must become free in it before the bundle may start
}

// full lists the pools above a starved one without room for that much more of a job's work, the
// innermost first. It returns false if the job's own pool, or a pool inside the starved one, has
// no room: these give nothing back for their own work.
func (t *taking) full(x *shares.Pool, j *shares.Job, needs []scheduler.SlotCount) (all []fullPool, possible bool) {
	own := true
	for n := j.Node.Parent; n != nil; n = n.Parent {
		for _, need := range needs {
			s := n.Of(t.World.Kind(need.Kind))
			switch lacks := t.over(s, need.Count); {
			case lacks <= 0:
			case own:
				return nil, false
			default:
				all = append(all, fullPool{s, need.Kind, lacks})
			}
		}
		own = own && n != x.Node
	}
	return all, true
}

// over returns by how many slots a pool would exceed its maximum with that many more. Slots
// being taken from it count as gone, and slots on their way to it as held.
func (t *taking) over(s *pooltree.Schedulable, slots int) int {
	if s.Max == 0 {
		return 0
	}
	return s.Running - t.freed[s] + t.coming[s] + slots - s.Max
}

// outside says whether a victim is useless because it is outside the pool at its maximum. The
// innermost such pool lies in all others.
func (f *finding) outside(v victim) bool {
	return len(f.full) > 0 && !contains(f.full[0].of.Node, v.job.Node)
}

// makeRoom says whether some victims free as much as the pools at their maximum lack.
func (f *finding) makeRoom(taken []victim, places []int) bool {
	return !slices.ContainsFunc(f.full, func(p fullPool) bool {
		lacks := p.lacks
		for _, place := range places {
			if v := taken[place]; contains(p.of.Node, v.job.Node) {
				for _, need := range needsOf(v) {
					if need.Kind == p.kind {
						lacks -= need.Count
					}
				}
			}
		}
		return lacks > 0
	})
}
