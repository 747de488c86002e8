package layout_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/internal/failure"
	"github.com/hamadryad/hamadryad/engine/worker/layout"
	"github.com/hamadryad/hamadryad/sdk/job"
)

func nothing(context.Context, *job.Node) error { return nil }

// built counts the calls of a builder that builds a different graph each time.
var built int

var definitions = []job.Definition{
	{Name: "shuffle", Build: func(g *job.Graph, _ []string) error {
		maps, reduces := g.Stage("map", 3, nothing), g.Stage("reduce", 2, nothing)
		g.AllToAll(maps.Out("out"), reduces.In("in"), job.Channel{Kind: job.File})
		return nil
	}},
	{Name: "moody", Build: func(g *job.Graph, _ []string) error {
		built++
		g.Stage("s", built, nothing)
		return nil
	}},
	{Name: "panics", Build: func(g *job.Graph, _ []string) error {
		if built++; built > 1 {
			panic("no such thing")
		}
		g.Stage("s", 1, nothing)
		return nil
	}},
}

// setup is the setup message of a worker of a job.
func setup(t *testing.T, name string) *wire.WorkerSetup {
	t.Helper()
	built = 0
	p := &plan.Submission{Name: name}
	g, err := plan.Build(definitions, p)
	if err != nil {
		t.Fatal(err)
	}
	w, err := plan.Graph(g)
	if err != nil {
		t.Fatal(err)
	}
	blob, err := plan.Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "plan")
	if err := os.WriteFile(path, blob, 0o600); err != nil {
		t.Fatal(err)
	}
	return &wire.WorkerSetup{JobName: name, PlanPath: path, Fingerprint: plan.Fingerprint(w)}
}

// A layout contains the readers and writers that the builder declared.
func TestBuild(t *testing.T) {
	l, err := layout.Build(definitions, setup(t, "shuffle"))
	if err != nil {
		t.Fatal(err)
	}
	c := l.Connections()[0]
	if !slices.Equal(l.Readers(c.Index, 1), []int{0, 1}) || !slices.Equal(l.Writers(c.Index, 1), []int{0, 1, 2}) || l.Partition(c.Index, 2, 1) != 1 {
		t.Errorf("node 1 is read by %v and reads %v", l.Readers(c.Index, 1), l.Writers(c.Index, 1))
	}
	if !l.Has(0, 2) || l.Has(0, 3) || l.Has(2, 0) || l.StageName(1) != "reduce" || l.StageName(2) != "" {
		t.Error("it has other nodes")
	}
	if name := l.EdgeName(c, 2, 1); name != "channel map.2 to reduce.1" {
		t.Error(name)
	}
	if l.Task(0, 1) != nil || l.Large() || len(l.Outputs()) > 0 {
		t.Error("nodes that read nothing have tasks")
	}
}

// The error of a failed build names its cause.
func TestWhatCannotBeBuilt(t *testing.T) {
	damaged := setup(t, "shuffle")
	blob, err := os.ReadFile(damaged.PlanPath)
	if err != nil {
		t.Fatal(err)
	}
	blob[len(blob)-1] ^= 1
	if err := os.WriteFile(damaged.PlanPath, blob, 0o600); err != nil {
		t.Fatal(err)
	}
	gone := setup(t, "shuffle")
	gone.PlanPath += ".gone"
	strange := setup(t, "shuffle")
	strange.Environment = []*wire.Property{{Name: "file-codec", Value: "rot13"}}
	for _, c := range []struct {
		setup func() *wire.WorkerSetup
		says  string
		lost  bool
	}{
		{func() *wire.WorkerSetup { return setup(t, "moody") }, "another graph the second time", false},
		{func() *wire.WorkerSetup { return setup(t, "panics") }, "its builder panicked: no such thing", false},
		{func() *wire.WorkerSetup { return gone }, "read its plan", true},
		{func() *wire.WorkerSetup { return damaged }, damaged.PlanPath, true},
		{func() *wire.WorkerSetup { return strange }, "file-codec=rot13", false},
	} {
		_, err := layout.Build(definitions, c.setup())
		if err == nil || !strings.Contains(err.Error(), c.says) || failure.IsLost(err) != c.lost {
			t.Errorf("%v, want %q, lost: %t", err, c.says, c.lost)
		}
	}
}
