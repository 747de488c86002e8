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
	slots   int // on launchers that are neither draining nor blamed
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

// kindOf returns what there is of a kind, and makes it.
func (p *Policy) kindOf(name scheduler.SlotKind) *kind {
	i, found := slices.BinarySearchFunc(p.kinds, name, func(k *kind, name scheduler.SlotKind) int { return cmp.Compare(k.name, name) })
	if !found {
		k := &kind{name: name, slots: p.slotsOf(name)}
		k.cluster = virtual.New(k.slots, p.view.Now())
		p.kinds = slices.Insert(p.kinds, i, k)
	}
	return p.kinds[i]
}

func (p *Policy) slotsOf(kind scheduler.SlotKind) (n int) {
	for _, l := range p.view.Launchers() {
		if !l.Closed() {
			n += l.Total(kind)
		}
	}
	return n
}

// countSlots takes over which launchers there are.
func (p *Policy) countSlots() {
	for _, k := range p.kinds {
		k.slots = p.slotsOf(k.name)
		k.cluster.SetCapacity(k.slots)
	}
}
