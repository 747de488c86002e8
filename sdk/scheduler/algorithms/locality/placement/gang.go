package placement

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// singlyMax is up to how many partly placed bundles are given up one at a time. Of more, half
	// are given up at once, so that the number of passes stays small.
	singlyMax = 16
	// retriesMax bounds how many bundles that were given up are tried again, before all others.
	retriesMax = 8
)

// recall restores the bundles that the last Solve removed, anchored or put first.
func (n *Network) recall() {
	for _, b := range n.gangs {
		if b.seats != nil && b.anchor == nil && !b.first {
			continue
		}
		n.exit(b)
		b.anchor, b.first = nil, false
		n.enter(b)
	}
}

// place solves the flows until no bundle is placed in part.
func (n *Network) place(limit int, limited bool) {
	n.leaveLarge()
	solve := func() {
		if limited {
			n.again()
		}
		n.flows(limit)
	}
	n.flows(limit)
	var given []*bundle
	for {
		part := n.inPart()
		if len(part) == 0 {
			break
		}
		k := 1
		if len(part) > singlyMax {
			k = len(part) / 2
		}
		for _, b := range part[:k] {
			n.exit(b)
		}
		given = append(given, part[:k]...)
		solve()
	}
	slices.SortFunc(given, func(a, b *bundle) int { return cmp.Compare(a.ID, b.ID) })
	for _, b := range given[:min(len(given), retriesMax)] {
		if b.Unscheduled != 0 {
			continue // its caller prefers that it waits
		}
		slots, cost := n.use()
		b.first = true
		n.enter(b)
		solve()
		nowSlots, nowCost := n.use()
		if len(n.inPart()) > 0 || nowSlots < slots || nowSlots == slots && nowCost >= cost {
			n.exit(b)
			solve()
		}
	}
}

// use returns the slots that the seated groups take, and their cost.
func (n *Network) use() (slots int, cost int64) {
	for _, nd := range n.needs {
		for _, seated := range nd.flow.seated {
			slots += len(seated) * nd.slots
			for _, g := range seated {
				cost += nd.flow.groups[g].cost
			}
		}
	}
	return slots, cost
}

// again rebuilds the flows without the bundles that were given up.
func (n *Network) again() {
	n.needs = nil
	for _, b := range n.bundles {
		if b.seats != nil {
			n.enter(b)
		}
	}
}

// leaveLarge removes the bundles that need more slots of a kind than are free.
func (n *Network) leaveLarge() {
	if len(n.gangs) == 0 {
		return
	}
	n.room()
	for _, b := range n.gangs {
		if b.seats != nil && !n.enough(b) {
			n.exit(b)
		}
	}
}

// enough says whether the free slots add up to what a bundle needs.
func (n *Network) enough(b *bundle) bool {
	for i := range b.Groups {
		kind, slots := b.Groups[i].Kind, 0
		for k := range b.Groups {
			if b.Groups[k].Kind == kind {
				slots += b.Groups[k].Slots
			}
		}
		for _, free := range n.free[kind] {
			slots -= int(free)
		}
		if slots > 0 {
			return false
		}
	}
	return true
}

// inPart lists the bundles that are placed in part: the smallest part first, then
// the latest.
func (n *Network) inPart() []*bundle {
	var part []*bundle
	share := map[*bundle]float64{}
	for _, b := range n.gangs {
		if k := b.seated(); k > 0 && k < len(b.Groups) {
			part = append(part, b)
			share[b] = float64(k) / float64(len(b.Groups))
		}
	}
	slices.SortFunc(part, func(a, b *bundle) int {
		return cmp.Or(cmp.Compare(share[a], share[b]), cmp.Compare(b.ID, a.ID))
	})
	return part
}

// draw gives each placed bundle of several groups an anchor: a host, and its rack, that attract its
// groups, as if NeighbourBytes of the input of each lay there. It returns whether there is any.
func (n *Network) draw() bool {
	any := false
	for _, b := range n.gangs {
		if len(b.seats) == 0 || b.seated() < len(b.Groups) {
			continue
		}
		any = true
		at := n.launchers[n.anchor(b)]
		n.exit(b)
		b.anchor = &scheduler.Place{Host: at.Host, Rack: at.Rack, Bytes: n.options.NeighbourBytes}
		n.enter(b)
	}
	return any
}

// anchor returns the launcher around which most of a bundle can be: in its rack, then on itself.
// Ties go to the launcher where groups save most by being at their input, then to the one where
// most groups already are.
func (n *Network) anchor(b *bundle) int32 {
	f := b.seats[0].need.flow
	own, saved := make([]int64, len(n.launchers)), make([]int64, len(n.launchers))
	inRack := make([]int64, len(f.rackIdle))
	for _, s := range b.seats {
		m := &s.need.flow.groups[s.group]
		own[m.at]++
		saved[m.at] += m.far - m.cost
		inRack[n.t.launchers[m.at].rack]++
	}
	size := int64(len(b.Groups))
	score := func(l int) [4]int64 {
		rack := n.t.launchers[l].rack
		var near int64
		if rack > 0 {
			near = min(size, inRack[rack]+int64(f.rackIdle[rack]))
		}
		return [4]int64{near, min(size, own[l]+int64(f.idle[l])), saved[l], own[l]}
	}
	best, bestScore := 0, [4]int64{-1}
	for l := range n.launchers {
		if s := score(l); slices.Compare(s[:], bestScore[:]) > 0 {
			best, bestScore = l, s
		}
	}
	return int32(best)
}
