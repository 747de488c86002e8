package app

import (
	"maps"
	"testing"

	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
)

func TestStageMemory(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		flags      []string
		properties map[string]string
		want       map[string]int64 // nil: an error
	}{
		{want: map[string]int64{"map": 0, "reduce": 7}},
		{flags: []string{"1GiB"}, want: map[string]int64{"map": 1024 * mib, "reduce": 1024 * mib}},
		{flags: []string{"1GiB", "map=64MiB"}, want: map[string]int64{"map": 64 * mib, "reduce": 1024 * mib}},
		{properties: map[string]string{"mapreduce.map.memory.mb": "100"}, want: map[string]int64{"map": 100 * mib, "reduce": 7}},
		{flags: []string{"reduce=2MiB"}, properties: map[string]string{"mapreduce.reduce.memory.mb": "100"}, want: map[string]int64{"map": 0, "reduce": 2 * mib}},
		{flags: []string{"3MiB"}, properties: map[string]string{"mapreduce.reduce.memory.mb": "100"}, want: map[string]int64{"map": 3 * mib, "reduce": 3 * mib}},
		{flags: []string{"join=1GiB"}},
		{flags: []string{"0"}},
		{flags: []string{"lots"}},
		{flags: []string{"1GiB", "2GiB"}},
		{properties: map[string]string{"mapreduce.map.memory.mb": "1GiB"}},
	} {
		g := &wire.Graph{Stages: []*wire.Stage{{Name: "map"}, {Name: "reduce", Memory: 7}}}
		memory, err := give(g, c.flags, c.properties)
		got := map[string]int64{}
		for _, s := range g.Stages {
			got[s.Name] = s.Memory
		}
		if (err != nil) != (c.want == nil) || err == nil && !maps.Equal(got, c.want) {
			t.Errorf("%q %v: %v, %v", c.flags, c.properties, got, err)
		}
		// A worker reads the same from the plan.
		blob, err := plan.Encode(&plan.Submission{Name: "j", Memory: memory})
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Decode(blob)
		if err != nil || len(p.Memory) != len(memory) || len(memory) > 0 && !maps.Equal(p.Memory, memory) {
			t.Errorf("%v comes back as %v, %v", memory, p.Memory, err)
		}
	}
}

func give(g *wire.Graph, flags []string, properties map[string]string) (plan.Memory, error) {
	o := &options{}
	for _, f := range flags {
		if err := o.memory.Set(f); err != nil {
			return nil, err
		}
	}
	var all []*wire.Property
	for name, value := range properties {
		all = append(all, &wire.Property{Name: name, Value: value})
	}
	return o.stageMemory(all, g)
}
