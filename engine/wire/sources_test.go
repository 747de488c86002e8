package wire

import (
	"bytes"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// someSources draws sources of a few launchers, each connection's in order.
func someSources(t *rapid.T, least int) (list []*Source) {
	for connection := range uint32(rapid.IntRange(1, 3).Draw(t, "connections")) {
		for from := range uint32(rapid.IntRange(least, 60).Draw(t, "writers")) {
			launcher := rapid.Uint64Range(1, 3).Draw(t, "launcher")
			s := &Source{
				Connection: connection, From: 3 * from, Attempt: rapid.Uint64().Draw(t, "attempt"), Launcher: launcher,
				Address: fmt.Sprint("a", launcher), Host: fmt.Sprint("h", launcher), Rack: "r", LauncherName: fmt.Sprint("n", launcher),
				Token: bytes.Repeat([]byte{byte(from)}, rapid.SampledFrom([]int{32, 32, 16, 0}).Draw(t, "token")),
			}
			if rapid.IntRange(0, 20).Draw(t, "moved") == 0 { // it joined again
				s.Address = "elsewhere"
			}
			list = append(list, s)
		}
	}
	return list
}

func same(t *rapid.T, what string, got, want []*Source) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d sources, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !proto.Equal(got[i], want[i]) {
			t.Fatalf("%s: source %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// throughWire is what arrives of a message.
func throughWire[M proto.Message](t *rapid.T, m M) M {
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	got := m.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(b, got); err != nil {
		t.Fatal(err)
	}
	return got.(M)
}

// withoutSources is a copy of a command without its sources.
func withoutSources(c *Command) *Command {
	c = proto.CloneOf(c)
	if s := c.GetStart(); s != nil {
		s.Sources, s.SourceGroups = nil, nil
	}
	if s := c.GetSources(); s != nil {
		s.Sources, s.Groups = nil, nil
	}
	return c
}

// Sources come out of groups as they went in, for workers that take groups and for those that
// don't. The command that the manager keeps is not changed.
func TestGroupsOfSources(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := someSources(t, GroupedFrom)
		start := &StartAttempt{Attempt: 7, Job: 3, Sources: list, Nodes: []*NodeRef{{Stage: 1}}, JobName: "x", SourcesComplete: true}
		update := &SourcesUpdate{Attempt: 7, Sources: list, Complete: true, Confirm: 9}
		for _, c := range []*Command{{Term: 4, Incarnation: 5, Do: &Command_Start{Start: start}}, {Term: 4, Incarnation: 5, Do: &Command_Sources{Sources: update}}} {
			before := proto.CloneOf(c)
			grouped := throughWire(t, Grouped(c))
			if !proto.Equal(c, before) {
				t.Fatal("the command was changed")
			}
			if rest, want := withoutSources(grouped), withoutSources(c); !proto.Equal(rest, want) {
				t.Fatalf("beside its sources the command is %v, want %v", rest, want)
			}
			if s := grouped.GetStart(); s != nil {
				got, err := AllSources(s.Sources, s.SourceGroups)
				if err != nil || len(s.Sources) > 0 {
					t.Fatal(err, len(s.Sources))
				}
				same(t, "start", got, list)
				plain := Ungrouped(&ToWorker{Do: &ToWorker_Run{Run: &RunGroup{Start: s, Store: "folder"}}})
				if want := (&ToWorker{Do: &ToWorker_Run{Run: &RunGroup{Start: start, Store: "folder"}}}); !proto.Equal(plain, want) {
					t.Fatalf("a worker without groups gets %v, want %v", plain, want)
				}
				continue
			}
			s := grouped.GetSources()
			got, err := AllSources(s.Sources, s.Groups)
			if err != nil || len(s.Sources) > 0 {
				t.Fatal(err, len(s.Sources))
			}
			same(t, "update", got, list)
			plain := Ungrouped(&ToWorker{Do: &ToWorker_Sources{Sources: s}})
			if want := (&ToWorker{Do: &ToWorker_Sources{Sources: update}}); !proto.Equal(plain, want) {
				t.Fatalf("a worker without groups gets %v, want %v", plain, want)
			}
			i := 0
			all := map[SourceNode]int{}
			for connection, from := range EachSource(s.Sources, s.Groups) {
				i++
				all[SourceNode{connection<<16 | from.Node, from.Attempt}]++
			}
			for _, x := range list {
				if all[SourceNode{x.Connection<<16 | x.From, x.Attempt}] == 0 {
					t.Fatalf("%v is not among the sources", x)
				}
			}
			if i != len(list) {
				t.Fatalf("%d sources, want %d", i, len(list))
			}
		}
	})
}

// Few sources stay as they are.
func TestFewSourcesAreNotGrouped(t *testing.T) {
	c := &Command{Do: &Command_Sources{Sources: &SourcesUpdate{Sources: make([]*Source, GroupedFrom-1)}}}
	if Grouped(c) != c {
		t.Error("few sources were grouped")
	}
}

// A group that contradicts itself is an error, and nothing is read beyond its lists.
func TestWrongGroups(t *testing.T) {
	for _, g := range []*SourceGroup{
		{From: []uint32{1, 2}, Attempts: []int64{0}},
		{From: []uint32{1}, Attempts: []int64{0}, TokenBytes: 3, Tokens: []byte("ab")},
		{From: []uint32{1}, Attempts: []int64{0}, Tokens: []byte("ab")},
		{Tokens: []byte("ab"), TokenBytes: 1},
	} {
		if _, err := AllSources(nil, []*SourceGroup{g}); err == nil {
			t.Errorf("%v was taken", g)
		}
		for range EachSource(nil, []*SourceGroup{g}) { //nolint:revive // it must not panic
		}
	}
}

func BenchmarkGroups(b *testing.B) {
	var list []*Source
	for i := range uint32(1000) {
		list = append(list, &Source{
			From: i, Attempt: uint64(1000 + i), Launcher: uint64(i % 4), Address: "127.0.0.1:40000", Host: "localhost", LauncherName: "launcher-1", Token: make([]byte, 32),
		})
	}
	for b.Loop() {
		c := Grouped(&Command{Do: &Command_Sources{Sources: &SourcesUpdate{Sources: list}}})
		m, err := proto.Marshal(c)
		if err != nil {
			b.Fatal(err)
		}
		var got Command
		if err := proto.Unmarshal(m, &got); err != nil {
			b.Fatal(err)
		}
		if _, err := AllSources(nil, got.GetSources().Groups); err != nil {
			b.Fatal(err)
		}
	}
}
