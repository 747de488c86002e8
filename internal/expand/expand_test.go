package expand_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/internal/expand"
	"github.com/hamadryad/hamadryad/sdk/job"
)

func nothing(context.Context, *job.Node) error { return nil }

// built makes a graph of three stages of two nodes: read, sort and write.
func built(t *testing.T, connect func(g *job.Graph, read, sort, write *job.Stage)) expand.Graph {
	t.Helper()
	g, err := job.Build(job.Definition{Name: "j", Build: func(g *job.Graph, _ []string) error {
		connect(g, g.Stage("read", 2, nothing), g.Stage("sort", 2, nothing).Memory(7), g.Stage("write", 2, nothing).Slots(3))
		return nil
	}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return expand.Of(g)
}

// TestGroupsAndBundles of a graph as an author makes it: by what it is joined.
func TestGroupsAndBundles(t *testing.T) {
	e, err := expand.Expand(built(t, func(g *job.Graph, read, sort, write *job.Stage) {
		g.OneToOne(read.Out("r"), sort.In("r"), job.Channel{Kind: job.SHM})
		g.Connect(sort.Out("s"), write.In("s"), job.Channel{Kind: job.TCP}, []job.Edge{{From: 1, To: 0}})
		g.AllToAll(read.Out("f"), write.In("f"), job.Channel{Kind: job.TCP})
	}), 100, expand.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var nodes [][]int32
	var memory []int64
	for _, g := range e.Groups {
		nodes, memory = append(nodes, g.Nodes), append(memory, g.Memory)
	}
	if want := [][]int32{{0, 2}, {1, 3}, {4}, {5}}; !reflect.DeepEqual(nodes, want) || len(e.Bundles) != 1 || !e.Bundles[0].TCP {
		t.Errorf("groups have nodes %v in %d bundles, want %v in one", nodes, len(e.Bundles), want)
	}
	if want := []int64{107, 107, 100, 100}; !reflect.DeepEqual(memory, want) || e.Groups[2].Slots != 3 {
		t.Errorf("groups have %v bytes and the third %d slots, want %v and 3", memory, e.Groups[2].Slots, want)
	}
	if _, list := e.Writers(1, 0); fmt.Sprint(list) != "[1]" {
		t.Errorf("node 0 of write reads from %v, want [1]", list)
	}
}

// TestWhatCannotBe: a run in one process and a cluster refuse the same graphs.
func TestWhatCannotBe(t *testing.T) {
	for want, connect := range map[string]func(g *job.Graph, read, sort, write *job.Stage){
		"a file channel inside a bundle": func(g *job.Graph, read, sort, write *job.Stage) {
			g.OneToOne(read.Out("r"), sort.In("r"), job.Channel{Kind: job.TCP})
			g.OneToOne(read.Out("f"), sort.In("f"), job.Channel{Kind: job.File})
		},
		"the graph has a cycle": func(g *job.Graph, read, sort, write *job.Stage) {
			g.OneToOne(read.Out("r"), sort.In("r"), job.Channel{Kind: job.File})
			g.OneToOne(sort.Out("s"), read.In("s"), job.Channel{Kind: job.File})
		},
		"between slot kinds": func(g *job.Graph, read, sort, write *job.Stage) {
			g.OneToOne(read.Out("r"), sort.Kind("gpu").In("r"), job.Channel{Kind: job.SHM})
		},
		"twice": func(g *job.Graph, read, sort, write *job.Stage) {
			g.Connect(read.Out("r"), sort.In("r"), job.Channel{Kind: job.File}, []job.Edge{{}, {}})
		},
	} {
		if _, err := expand.Expand(built(t, connect), 1, expand.Limits{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want something with %q", err, want)
		}
	}
}
