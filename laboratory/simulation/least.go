package simulation

import (
	"math"
	"time"

	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// leastTime is a lower bound of the time of a job alone on a cluster, whatever the policy. work is
// the work of a group. It is 0 where a group fits on no launcher, or a bundle on no cluster.
//
// A group works when all its input is there, and never before its bundle starts. A stage takes at
// least its work over the groups that the launchers hold at once, by slots, memory and resources.
// Bundles start whole, so only as many are under way as the cluster holds whole. The work of all
// stages takes at least its slot time over the slots. Starts, distance and transfers are left out.
func leastTime(e *graph.Expanded, c *cluster.Cluster, work func(g *graph.Group) time.Duration) time.Duration {
	l := leastTimes{
		Expanded: e, works: make([]float64, len(e.Groups)), cluster: c, crowds: make([]crowd, len(e.Graph.GetStages())), stages: make([]float64, len(e.Graph.GetStages())),
		took: make([]float64, len(e.Groups)), reads: make([]float64, len(e.Groups)), ends: make([]float64, len(e.Groups)), starts: make([]float64, len(e.Bundles)),
	}
	for i := range e.Groups {
		l.works[i] = work(&e.Groups[i]).Seconds()
	}
	if !l.measure() {
		return 0
	}
	least := l.slotTime()
	// The bounds only grow, and each is a lower bound at any time. Where stages follow in order, the
	// second round changes nothing.
	for range len(l.stages) + 1 {
		if !l.raise() {
			break
		}
	}
	for _, end := range l.stages {
		least = max(least, end)
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return time.Duration(least * float64(time.Second))
}

// leastTimes has lower bounds, in seconds from the job's start.
type leastTimes struct {
	*graph.Expanded
	cluster *cluster.Cluster
	crowds  []crowd
	stages  []float64 // the end of all groups with a node of a stage
	works   []float64 // the work of a group
	took    []float64 // how long it takes on the fastest launcher
	reads   []float64 // when a group's input is there
	ends    []float64 // of groups
	starts  []float64 // of bundles
}

// crowd is the groups with a node of a stage.
type crowd struct {
	groups []int32
	area   float64 // seconds of work over the groups that work at once
	gangs  *gangs  // whose bundles all have one of its groups; nil: none
}

// gangs are the bundles of several groups whose first group is of one stage.
type gangs struct {
	bundles []int
	have    map[int]int                 // by stage, the bundles with a node of it
	needs   map[scheduler.SlotKind]need // the least of all bundles
	takes   float64                     // seconds that they take, one lot after the other
}

// need is what a bundle takes of a kind of slots. most are its groups that the cluster holds.
type need struct{ groups, slots, most int }

// fit is what the launchers hold at once of a group.
type fit struct {
	groups  int
	rate    float64 // seconds of work in a second
	fastest float64 // speed of the fastest launcher
}

// fitOf fits as many of a group as there is room for on each launcher.
func fitOf(g *graph.Group, kinds []scheduler.SlotKind, c *cluster.Cluster) (f fit) {
	for i := range c.Groups {
		on := &c.Groups[i]
		slots := 0
		for _, k := range kinds {
			slots += on.Slots[k] / max(g.Slots, 1)
		}
		if g.Memory > 0 {
			slots = min(slots, int(int64(on.Memory)/g.Memory))
		}
		for _, need := range g.Resources.Counts() {
			slots = min(slots, on.Resources[need.Kind]/max(need.Count, 1))
		}
		if slots > 0 {
			f.groups += slots * on.Count
			f.rate += float64(slots*on.Count) * on.Speed
			f.fastest = max(f.fastest, on.Speed)
		}
	}
	return f
}

// kindsOf are the kinds of slots on which a group may run.
func (l *leastTimes) kindsOf(g *graph.Group) []scheduler.SlotKind {
	if prefers := l.Graph.GetStages()[g.Stage].GetPreferKind(); prefers != "" && prefers != g.Kind {
		return []scheduler.SlotKind{g.Kind, prefers}
	}
	return []scheduler.SlotKind{g.Kind}
}

// measure finds the crowds, and how long groups work. It reports whether the job can run at all.
func (l *leastTimes) measure() bool {
	fits := make([]fit, len(l.Groups))
	type shape struct {
		stage, slots int
		memory       int64
		resources    scheduler.Resources
	}
	known := map[shape]fit{}
	for i := range l.Groups {
		g := &l.Groups[i]
		s := shape{int(g.Stage), g.Slots, g.Memory, g.Resources}
		f, ok := known[s]
		if !ok {
			f = fitOf(g, l.kindsOf(g), l.cluster)
			known[s] = f
		}
		if f.groups == 0 {
			return false
		}
		fits[i], l.took[i] = f, l.works[i]/f.fastest
		last := -1
		for _, n := range g.Nodes {
			if s := l.Node(n).Stage; s != last {
				l.crowds[s].groups = append(l.crowds[s].groups, int32(i)) //nolint:gosec // the graph's bounds hold
				last = s
			}
		}
	}
	for s := range l.crowds {
		l.crowds[s].measure(l, fits)
	}
	return l.findGangs(fits)
}

// measure finds how long a crowd works at least. All its groups count as the smallest does.
func (c *crowd) measure(l *leastTimes, fits []fit) {
	sum, rate := 0.0, 0.0
	for _, i := range c.groups {
		sum, rate = sum+l.works[i], max(rate, fits[i].rate)
	}
	if len(c.groups) > 0 {
		c.area = sum / rate
	}
}

// findGangs finds the bundles of several groups, and how long they take. It reports whether the
// cluster holds each of them whole.
func (l *leastTimes) findGangs(fits []fit) bool {
	all, order := map[int]*gangs{}, []*gangs{}
	slots := l.cluster.Slots()
	for b := range l.Bundles {
		groups := l.Bundles[b].Groups
		if len(groups) == 1 {
			continue
		}
		first := int(l.Groups[groups[0]].Stage)
		g := all[first]
		if g == nil {
			g = &gangs{have: map[int]int{}}
			all[first], order = g, append(order, g)
		}
		shortest := math.Inf(1)
		needs, stages := map[scheduler.SlotKind]need{}, map[int]bool{}
		for _, i := range groups {
			group := &l.Groups[i]
			shortest = min(shortest, l.took[i])
			for _, n := range group.Nodes {
				stages[l.Node(n).Stage] = true
			}
			if len(l.kindsOf(group)) == 1 {
				n := needs[group.Kind]
				needs[group.Kind] = need{n.groups + 1, n.slots + max(group.Slots, 1), max(n.most, fits[i].groups)}
			}
		}
		for kind, n := range needs {
			if n.groups > n.most || n.slots > slots[kind] {
				return false
			}
		}
		for s := range stages {
			g.have[s]++
		}
		g.add(b, needs, shortest)
	}
	for _, g := range order {
		g.takes /= float64(g.atOnce(slots))
		for s := range l.crowds { // the last bundle ends a stage only if it has a node of it
			if g.have[s] == len(g.bundles) {
				l.crowds[s].gangs = g
			}
		}
	}
	return true
}

// add adds a bundle, whose shortest group takes so many seconds.
func (g *gangs) add(b int, needs map[scheduler.SlotKind]need, shortest float64) {
	if g.bundles = append(g.bundles, b); len(g.bundles) == 1 {
		g.needs = needs
	}
	for kind, least := range g.needs {
		n := needs[kind]
		g.needs[kind] = need{min(least.groups, n.groups), min(least.slots, n.slots), max(least.most, n.most)}
	}
	g.takes += shortest
}

// atOnce is how many of the bundles the cluster holds whole at once.
func (g *gangs) atOnce(slots map[scheduler.SlotKind]int) int {
	n := len(g.bundles)
	for kind, needs := range g.needs {
		if needs.groups > 0 {
			n = min(n, needs.most/needs.groups, slots[kind]/needs.slots)
		}
	}
	return n
}

// slotTime is the slot time of all groups of a kind over the slots of that kind, for the kind that
// takes longest.
func (l *leastTimes) slotTime() (longest float64) {
	rates, sums := map[scheduler.SlotKind]float64{}, map[scheduler.SlotKind]float64{}
	for i := range l.cluster.Groups {
		on := &l.cluster.Groups[i]
		for kind, n := range on.Slots {
			rates[kind] += float64(n*on.Count) * on.Speed
		}
	}
	for i := range l.Groups {
		if g := &l.Groups[i]; len(l.kindsOf(g)) == 1 {
			sums[g.Kind] += l.works[i] * float64(max(g.Slots, 1))
		}
	}
	for kind, sum := range sums {
		longest = max(longest, sum/rates[kind])
	}
	return longest
}

// raise raises the bounds of all stages by those of the stages that they read from. It reports
// whether any has changed.
func (l *leastTimes) raise() (changed bool) {
	for s := range l.crowds {
		for c, m := range l.Graph.GetConnections() {
			if int(m.GetToStage()) == s && m.GetKind() == wire.ChannelKind_CHANNEL_KIND_FILE {
				l.await(c, m)
			}
		}
		crowd := &l.crowds[s]
		first, end := math.Inf(1), 0.0
		for _, i := range crowd.groups {
			start := max(l.starts[l.Groups[i].Bundle], l.reads[i])
			l.ends[i] = start + l.took[i]
			first, end = min(first, start), max(end, l.ends[i])
		}
		if len(crowd.groups) > 0 {
			end = max(end, first+crowd.area)
		}
		if g := crowd.gangs; g != nil {
			start := math.Inf(1)
			for _, b := range g.bundles {
				start = min(start, l.starts[b])
			}
			end = max(end, start+g.takes)
		}
		if end > l.stages[s] {
			l.stages[s], changed = end, true
		}
	}
	return changed
}

// await has the readers of a connection wait for their writers. With slow-start a bundle starts
// before they have ended, but a group still works only after that.
func (l *leastTimes) await(c int, m *wire.Connection) {
	from, to := int(m.GetFromStage()), int(m.GetToStage())
	for k := range l.StageNodes(to) {
		ready := 0.0
		if m.GetPattern() == wire.Pattern_PATTERN_ALL_TO_ALL {
			ready = l.stages[from]
		} else {
			r, list := l.Writers(c, k)
			graph.Each(r, list, func(i int) { ready = max(ready, l.ends[l.groupOf(from, i)]) })
		}
		g := l.groupOf(to, k)
		l.reads[g] = max(l.reads[g], ready)
		if slow := m.GetSlowStart(); slow == 0 || slow >= 1 {
			b := l.Groups[g].Bundle
			l.starts[b] = max(l.starts[b], ready)
		}
	}
}

// groupOf is the group of a node.
func (l *leastTimes) groupOf(stage, index int) int {
	return l.GroupOf(l.Number(graph.Node{Stage: stage, Index: index}))
}
