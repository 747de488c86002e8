package placement

import (
	"github.com/hamadryad/hamadryad/plugins/fair/shares"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// overMax says whether a bundle would take a pool over its maximum share, counting slots
// reserved for other jobs. Otherwise a pool would use the room that another pool under the same
// maximum has just taken back.
func (a *assignment) overMax(j *shares.Job, b *view.Bundle) bool {
	if a.OverMax(j, b) {
		return true
	}
	if len(a.World.Reserved) == 0 {
		return false
	}
	for _, need := range gangs.Needs(b) {
		k := a.World.Kind(need.Kind)
		own := a.View.Capacity.ReservedSlots(j.ID(), need.Kind)
		for n := j.Node; n != nil; n = n.Parent {
			if s := n.Of(k); s.Max > 0 && s.Running+need.Count+a.reservedIn(s, k)-own > s.Max {
				return true
			}
		}
	}
	return false
}

// reservedIn is how many slots are reserved for jobs in a pool, less what the round gave away.
func (a *assignment) reservedIn(s *pooltree.Schedulable, k pooltree.Kind) (slots int) {
	for id := range a.World.Reserved { // a sum, in any order
		if j := a.Jobs[id]; j != nil {
			for n := j.Node; n != nil; n = n.Parent {
				if n == s.Node {
					slots += a.View.Capacity.ReservedSlots(id, a.World.Kinds[k])
				}
			}
		}
	}
	return slots
}
