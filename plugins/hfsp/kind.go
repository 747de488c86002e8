package hfsp

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/plugins/hfsp/virtual"
	"github.com/hamadryad/hamadryad/plugins/hfsp/work"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// kind is all that concerns one kind of slot. Its lists are in order of job and stage.
type kind struct {
	name    scheduler.SlotKind
	slots   int // on launchers that are neither draining nor excluded
	parked  int // stages for which the virtual cluster has no slot
	dealt   dealt
	cluster *virtual.Cluster

	all      []*stage // that came and are not over
	training []*stage // of those, that are not trained
	waiting  []*stage // with something to launch
	soft     []*stage // that hold something that can be taken off
	leaving  []*stage // of which something is being taken off
	// urgent have something to launch or resume, and no place in the virtual cluster: stages that
	// are to run again after they were over.
	urgent []*stage
	early  []*stage // that are early, with something to launch, resume or take off
}

// dealt is what deal went by when it was called last.
type dealt struct {
	slots   int
	lates   uint64 // of the cluster
	changed bool   // something else is not as it was then
}

func compare(a, b *stage) int { return work.Compare(a.Stage, b.Stage) }

// set puts a stage into a list in order, or takes it out.
func set(list []*stage, s *stage, in bool) []*stage {
	i, found := slices.BinarySearchFunc(list, s, compare)
	switch {
	case in && !found:
		return slices.Insert(list, i, s)
	case !in && found:
		return slices.Delete(list, i, i+1)
	}
	return list
}

// deal says which stages have slots in the virtual cluster where there are fewer slots than stages.
// Those of the highest weight get one each, and of these those of the fewest tasks (section 3.3,
// "Resource Allocation"). Late stages take no part. It sorts all stages, but only then, and only
// where some came, ended, became late or changed in what they are compared by.
func (p *Policy) deal(k *kind) {
	now := dealt{slots: k.slots, lates: k.cluster.Lates()}
	if k.dealt == now || len(k.all) <= k.slots && k.parked == 0 {
		return
	}
	k.dealt = now
	sharing := make([]*stage, 0, len(k.all))
	for _, s := range k.all {
		if s.job != nil && !s.job.Late() && s.cap() > 0 {
			sharing = append(sharing, s)
		} else {
			s.parked = false
		}
	}
	if len(sharing) > k.slots && k.slots > 0 {
		slices.SortFunc(sharing, func(a, b *stage) int {
			return cmp.Or(cmp.Compare(b.Job.Info.Priority, a.Job.Info.Priority), cmp.Compare(a.cap(), b.cap()), compare(a, b))
		})
	}
	k.parked = 0
	for i, s := range sharing {
		parked := i >= k.slots && k.slots > 0
		if parked {
			k.parked++
		}
		if s.parked != parked {
			s.parked = parked
			k.cluster.Set(s.job, p.spec(s))
		}
	}
}

// kindOf returns what there is of a kind, and makes it.
func (p *Policy) kindOf(name scheduler.SlotKind) *kind {
	i, found := slices.BinarySearchFunc(p.kinds, name, func(k *kind, name scheduler.SlotKind) int { return cmp.Compare(k.name, name) })
	if !found {
		k := &kind{name: name, slots: p.view.OpenSlots()[name]}
		k.cluster = virtual.New(k.slots, p.view.Now())
		p.kinds = slices.Insert(p.kinds, i, k)
	}
	return p.kinds[i]
}

// countSlots takes over which launchers there are.
func (p *Policy) countSlots() {
	slots := p.view.OpenSlots()
	for _, k := range p.kinds {
		k.slots = slots[k.name]
		k.cluster.SetCapacity(k.slots)
	}
}
