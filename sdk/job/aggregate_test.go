package job_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/job"
)

func TestWrongAggregatesNameTheRemedy(t *testing.T) {
	nothing := func(context.Context, *job.Node) error { return nil }
	good := job.Channel{Kind: job.File, Aggregate: job.Aggregate{By: job.Machine, Bytes: 1}}
	for want, change := range map[string]func(c, out *job.Channel){
		"":                        func(c, _ *job.Channel) {},
		"only all-to-all":         func(c, _ *job.Channel) { c.Kind = job.TCP },
		"leave slow-start":        func(c, _ *job.Channel) { c.SlowStart = 0.5 },
		"give Aggregate.By":       func(c, _ *job.Channel) { c.Aggregate.By = 0 },
		"give Aggregate.Bytes":    func(c, _ *job.Channel) { c.Aggregate.Bytes = -1 },
		"make it all-to-all":      func(_, out *job.Channel) { out.SlowStart = 0.5 },
		"without SlowStart, Adap": func(_, out *job.Channel) { out.Adapt = job.Adapt{Partitions: 1, Bytes: 1} },
	} {
		c, out := good, job.Channel{Kind: job.File}
		change(&c, &out)
		_, err := job.Build(job.Definition{Name: "j", Build: func(g *job.Graph, _ []string) error {
			a, b, r := g.Stage("a", 3, nothing), g.Stage("b", 2, nothing), g.Stage("c", 2, nothing)
			g.AllToAll(a.Out("o"), b.In("i"), c)
			g.AllToAll(b.Out("o"), r.In("i"), out)
			return nil
		}}, nil, nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want something with %q", err, want)
		}
	}
	_, err := job.Build(job.Definition{Name: "j", Build: func(g *job.Graph, _ []string) error {
		a, b := g.Stage("a", 3, nothing), g.Stage("b", 2, nothing)
		g.AllToAll(a.Out("o"), b.In("i"), good)
		return nil
	}}, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "1 inputs and 0 outputs: give it one connection to the final consumers") {
		t.Errorf("without an output: %v", err)
	}
}
