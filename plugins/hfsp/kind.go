package hfsp

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/plugins/hfsp/virtual"
	"github.com/hamadryad/hamadryad/plugins/hfsp/work"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// kind is the state of one kind of slot. Its lists are in order of job and stage.
type kind struct {
	name    scheduler.SlotKind
	slots   int // on launchers that are neither draining nor excluded
	parked  int // stages for which the virtual cluster has no slot
	dealt   dealt
	cluster *virtual.Cluster

	all      []*stage // that came and are not over
	training []*stage // those of all that are not trained
	waiting  []*stage // with bundles to launch
	soft     []*stage // that hold preemptible slots
	leaving  []*stage // with slots being preempted
	// urgent have something to launch or resume, and no place in the virtual cluster: stages that
	// run again after they were over.
	urgent []*stage
	early  []*stage // with incomplete input, and something to launch, resume or preempt

	entitled []entitlement // of the current round
}

// dealt is the state that deal last worked with.
type dealt struct {
	slots   int
	lates   uint64 // the number of times that a job of the cluster became late
	changed bool   // something else changed since
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

// deal decides which stages have slots in the virtual cluster when there are fewer slots than
// stages. Stages of the highest weight get one each, and among those the ones with the fewest tasks
// (section 3.3, "Resource Allocation"). Late stages take no part. It sorts all stages, but only if
// some came, ended, became late or changed a value that the order uses.
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

// kindOf returns the state of a kind, and creates it if needed.
func (p *Policy) kindOf(name scheduler.SlotKind) *kind {
	i, found := slices.BinarySearchFunc(p.kinds, name, func(k *kind, name scheduler.SlotKind) int { return cmp.Compare(k.name, name) })
	if !found {
		k := &kind{name: name, slots: p.view.Capacity.OpenSlots()[name]}
		k.cluster = virtual.New(k.slots, p.view.Now())
		p.kinds = slices.Insert(p.kinds, i, k)
	}
	return p.kinds[i]
}

// countSlots updates the number of slots of each kind.
func (p *Policy) countSlots() {
	slots := p.view.Capacity.OpenSlots()
	for _, k := range p.kinds {
		k.slots = slots[k.name]
		k.cluster.SetCapacity(k.slots)
	}
}
