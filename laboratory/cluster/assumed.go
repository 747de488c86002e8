package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/laboratory/workload"
)

// Assumed is the cluster of a workload for which nobody named one, and the reason for its size. A
// workload with a machine gets its processors as slots. One with tasks of other kinds than map and
// reduce gets slots of these kinds, on as many launchers as usual says. Memory does not bound it.
// With hosts, of which each is to have a launcher, it is one group of as many equal launchers.
// nil: the usual launchers with their usual slots suit the workload.
func Assumed(w *workload.Workload, usual Group, hosts int) (groups []Group, why string) {
	if hosts > 0 {
		usual.Count = hosts
	}
	need := needed(w)
	kinds := slices.Sorted(maps.Keys(need.widest))
	if len(kinds) == 1 && w.Machine.Processors > 0 {
		groups, why = ofMachine(w.Machine, kinds[0], need, hosts)
	} else {
		g := Group{Count: usual.Count, Slots: map[string]int{}}
		suits := true
		for _, k := range kinds {
			slots, has := usual.Slots[k]
			if !has {
				slots = slotsOfUnknown
			}
			suits = suits && has
			g.Slots[k] = max(slots, need.widest[k])
		}
		if suits {
			return nil, ""
		}
		groups, why = []Group{g}, "the tasks of the workload need slots of kind "+strings.Join(kinds, ", ")
	}
	var texts []string
	for i := range groups {
		g := &groups[i]
		slots := 0
		for _, n := range g.Slots {
			slots += n
		}
		g.Memory = Size(max(int64(defaultMemory), int64(slots)*max(need.memory, memoryOfUnknown)))
		texts = append(texts, g.words())
	}
	return groups, strings.Join(texts, " and ") + ": " + why
}

const (
	// slotsOfUnknown are the slots of each launcher, of a kind other than map and reduce.
	slotsOfUnknown = 4
	// memoryOfUnknown is more than the memory of a task whose memory the workload does not have.
	memoryOfUnknown = 1 << 30
	// assumedMax bounds the launchers of a machine: several nodes of a larger one are one launcher.
	assumedMax = 10_000
)

// needs are what tasks of a workload need.
type needs struct {
	widest map[string]int // slots of the widest task, by kind
	memory int64          // the most for each slot
	gang   int            // slots of the largest job
}

func needed(w *workload.Workload) needs {
	n := needs{widest: map[string]int{}}
	for i := range w.Jobs {
		job := 0
		for k := range w.Jobs[i].Stages {
			s := &w.Jobs[i].Stages[k]
			slots := max(s.Slots, 1)
			n.widest[s.Kind] = max(n.widest[s.Kind], slots)
			n.memory = max(n.memory, s.Memory/int64(slots))
			job += slots * len(s.Tasks)
		}
		n.gang = max(n.gang, job)
	}
	return n
}

// ofMachine makes launchers of a machine's nodes, or divides its processors among hosts if there are any.
func ofMachine(m workload.Machine, kind string, need needs, hosts int) (groups []Group, why string) {
	processors, nodes := m.Processors, m.Nodes
	why = fmt.Sprintf("the source names %d processors", processors)
	if nodes > 0 {
		why += fmt.Sprintf(" on %d nodes", nodes)
	}
	if m.Seen {
		why = fmt.Sprintf("the source names no machine, and its jobs held %d processors at once", processors)
	}
	if need.gang > processors {
		why += fmt.Sprintf("; its largest job takes %d", need.gang)
		processors = need.gang
	}
	each := need.widest[kind]
	if hosts > 0 {
		return []Group{{Count: hosts, Slots: map[string]int{kind: max(each, (processors+hosts-1)/hosts)}}}, why
	}
	if nodes > 0 {
		each = max(each, (m.Processors+nodes-1)/nodes)
	}
	each = max(each, (processors+assumedMax-1)/assumedMax)
	if n := processors / each; n > 0 {
		groups = append(groups, Group{Count: n, Slots: map[string]int{kind: each}})
	}
	if rest := processors % each; rest > 0 {
		groups = append(groups, Group{Count: 1, Name: "rest", Slots: map[string]int{kind: rest}})
	}
	return groups, why
}

// words are a group in words.
func (g *Group) words() string {
	var slots []string
	for _, k := range slices.Sorted(maps.Keys(g.Slots)) {
		slots = append(slots, fmt.Sprintf("%s=%d", k, g.Slots[k]))
	}
	many := "s"
	if g.Count == 1 {
		many = ""
	}
	return fmt.Sprintf("%d launcher%s with %s", g.Count, many, strings.Join(slots, ", "))
}

// Of is a cluster of groups, whose missing fields are the defaults, with the default model.
func Of(groups []Group) *Cluster {
	c := Blank()
	c.Groups = groups
	for i := range c.Groups {
		c.Groups[i].setDefaults()
	}
	return &c
}
