package wire

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// GroupedFrom is the number of sources from which a message has them in groups.
const GroupedFrom = 16

// Grouped returns a command with its sources in groups; the command itself if it has few. It shares
// everything else with the command, which it does not change.
func Grouped(c *Command) *Command {
	switch do := c.Do.(type) {
	case *Command_Start:
		if len(do.Start.Sources) >= GroupedFrom {
			start := &StartAttempt{}
			shareFields(start.ProtoReflect(), do.Start.ProtoReflect())
			start.Sources, start.SourceGroups = nil, append(start.SourceGroups, groupSources(do.Start.Sources)...)
			return &Command{Incarnation: c.Incarnation, Term: c.Term, Do: &Command_Start{Start: start}}
		}
	case *Command_Sources:
		if len(do.Sources.Sources) >= GroupedFrom {
			u := do.Sources
			return &Command{Incarnation: c.Incarnation, Term: c.Term, Do: &Command_Sources{Sources: &SourcesUpdate{
				Attempt: u.Attempt, Groups: append(slices.Clip(u.Groups), groupSources(u.Sources)...), Complete: u.Complete, Confirm: u.Confirm,
			}}}
		}
	}
	return c
}

// Ungrouped returns a message with its sources one by one, for a worker whose program takes no
// groups; the message itself if it has none. A group whose lists do not fit each other stays as it
// is.
func Ungrouped(m *ToWorker) *ToWorker {
	switch do := m.Do.(type) {
	case *ToWorker_Run:
		if list, err := AllSources(do.Run.GetStart().GetSources(), do.Run.GetStart().GetSourceGroups()); err == nil && len(do.Run.GetStart().GetSourceGroups()) > 0 {
			start, run := &StartAttempt{}, &RunGroup{}
			shareFields(start.ProtoReflect(), do.Run.Start.ProtoReflect())
			start.Sources, start.SourceGroups = list, nil
			shareFields(run.ProtoReflect(), do.Run.ProtoReflect())
			run.Start = start
			return &ToWorker{Do: &ToWorker_Run{Run: run}}
		}
	case *ToWorker_Sources:
		u := do.Sources
		if list, err := AllSources(u.GetSources(), u.GetGroups()); err == nil && len(u.GetGroups()) > 0 {
			return &ToWorker{Do: &ToWorker_Sources{Sources: &SourcesUpdate{Attempt: u.Attempt, Sources: list, Complete: u.Complete, Confirm: u.Confirm}}}
		}
	}
	return m
}

// shareFields sets the fields of a message to those of another, without a copy of what they hold.
func shareFields(to, from protoreflect.Message) {
	from.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		to.Set(f, v)
		return true
	})
	to.SetUnknown(from.GetUnknown())
}

// groupsNear is how many of the last groups are looked through before all are.
const groupsNear = 8

// groupSources puts sources into groups. Groups are in the order of their first sources, and each
// has its sources in the given order.
func groupSources(list []*Source) (groups []*SourceGroup) {
	type place struct {
		connection uint32
		launcher   uint64
	}
	newest := map[place]*SourceGroup{}
	groupOf := func(at place) *SourceGroup {
		for i := len(groups) - 1; i >= 0 && i >= len(groups)-groupsNear; i-- { // quicker than the map
			if g := groups[i]; g.Connection == at.connection && g.Launcher == at.launcher {
				return g
			}
		}
		return newest[at]
	}
	for _, s := range list {
		at := place{s.Connection, s.Launcher}
		g := groupOf(at)
		if g == nil || g.Address != s.Address || g.Host != s.Host || g.Rack != s.Rack || g.LauncherName != s.LauncherName || int(g.TokenBytes) != len(s.Token) {
			g = &SourceGroup{
				Connection: s.Connection, Launcher: s.Launcher, Address: s.Address, Host: s.Host, Rack: s.Rack, LauncherName: s.LauncherName,
				Attempt: s.Attempt, TokenBytes: uint32(len(s.Token)),
			}
			newest[at] = g
			groups = append(groups, g)
		}
		g.From = append(g.From, s.From)
		g.Attempts = append(g.Attempts, int64(s.Attempt-g.Attempt))
		g.Tokens = append(g.Tokens, s.Token...)
	}
	return groups
}

// SourceNode is the producing node of a source, and the attempt that made it.
type SourceNode struct {
	Node    uint32
	Attempt uint64
}

// EachSource ranges over the sources of a list and of groups, by connection.
func EachSource(list []*Source, groups []*SourceGroup) iter.Seq2[uint32, SourceNode] {
	return func(yield func(uint32, SourceNode) bool) {
		for _, s := range list {
			if !yield(s.Connection, SourceNode{s.From, s.Attempt}) {
				return
			}
		}
		for _, g := range groups {
			for i, from := range g.From[:min(len(g.From), len(g.Attempts))] {
				if !yield(g.Connection, SourceNode{from, g.Attempt + uint64(g.Attempts[i])}) {
					return
				}
			}
		}
	}
}

// AllSources returns the sources of a list and of groups, in order of connection and producing node
// if there are groups. So readers of many launchers' outputs don't read one launcher after the
// other. It fails if the lengths of a group's lists do not match.
func AllSources(list []*Source, groups []*SourceGroup) ([]*Source, error) {
	if len(groups) == 0 {
		return list, nil
	}
	n := 0
	for _, g := range groups {
		if len(g.From) != len(g.Attempts) || uint64(len(g.From))*uint64(g.TokenBytes) != uint64(len(g.Tokens)) {
			return nil, fmt.Errorf("a group of sources has %d producing nodes, %d attempts and %d bytes of tokens of %d: the manager sent a wrong message",
				len(g.From), len(g.Attempts), len(g.Tokens), g.TokenBytes)
		}
		n += len(g.From)
	}
	all, room := make([]*Source, 0, len(list)+n), make([]Source, n)
	all = append(all, list...)
	add := func(g *SourceGroup, i int) {
		s, size := &room[0], int(g.TokenBytes)
		room = room[1:]
		s.Connection, s.From, s.Attempt = g.Connection, g.From[i], g.Attempt+uint64(g.Attempts[i])
		s.Address, s.Host, s.Rack, s.Launcher, s.LauncherName = g.Address, g.Host, g.Rack, g.Launcher, g.LauncherName
		s.Token = g.Tokens[i*size : (i+1)*size : (i+1)*size]
		all = append(all, s)
	}
	if len(list) == 0 && len(groups) <= mergedGroups && ascending(groups) {
		mergeGroups(groups, n, add)
		return all, nil
	}
	for _, g := range groups {
		for i := range g.From {
			add(g, i)
		}
	}
	slices.SortFunc(all, func(a, b *Source) int {
		return cmp.Or(cmp.Compare(a.Connection, b.Connection), cmp.Compare(a.From, b.From))
	})
	return all, nil
}

// mergedGroups is up to how many groups are merged. The sources of more groups are sorted.
const mergedGroups = 16

// ascending reports whether each group has its producing nodes in order, as the manager sends them.
func ascending(groups []*SourceGroup) bool {
	return !slices.ContainsFunc(groups, func(g *SourceGroup) bool { return !slices.IsSorted(g.From) })
}

// mergeGroups calls add for the n sources of groups, in order of connection and producing node.
func mergeGroups(groups []*SourceGroup, n int, add func(g *SourceGroup, i int)) {
	at := make([]int, len(groups))
	for range n {
		first := -1
		for i, g := range groups {
			if at[i] == len(g.From) {
				continue
			}
			if first < 0 || cmp.Or(cmp.Compare(g.Connection, groups[first].Connection), cmp.Compare(g.From[at[i]], groups[first].From[at[first]])) < 0 {
				first = i
			}
		}
		add(groups[first], at[first])
		at[first]++
	}
}
