package app

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/dustin/go-humanize"

	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// memoryFlag collects [STAGE=]SIZE flags.
type memoryFlag plan.Memory

// String implements flag.Value.
func (f *memoryFlag) String() string {
	return byStage(*f, func(bytes int64) string { return humanize.IBytes(uint64(bytes)) })
}

// Set implements flag.Value.
func (f *memoryFlag) Set(s string) error {
	stage, size := cutStage(s)
	bytes, err := humanize.ParseBytes(size)
	if err != nil || bytes == 0 || bytes > memoryMax {
		return fmt.Errorf("%q is no size of memory: write it like 1GiB, or map=1GiB", size)
	}
	return addForStage(f, stage, int64(bytes))
}

// memoryMax bounds a task's memory, in bytes; the manager's own bound may be less.
const memoryMax = 1 << 50

// memoryProperties are Hadoop's names for the memory of tasks, in MiB, and the stages that each
// applies to.
var memoryProperties = map[string]string{"mapreduce.map.memory.mb": "map", "mapreduce.reduce.memory.mb": "reduce"}

// stageMemory returns the memory that flags and properties set for the stages of g, and sets it in
// g. A flag wins over a property.
func (o *options) stageMemory(properties []*wire.Property, g *wire.Graph) (plan.Memory, error) {
	memory := plan.Memory{}
	for _, p := range properties {
		stage, ok := memoryProperties[p.Name]
		if !ok || !slices.ContainsFunc(g.Stages, func(s *wire.Stage) bool { return s.Name == stage }) {
			continue
		}
		mib, err := strconv.ParseInt(p.Value, 10, 64)
		if err != nil || mib < 1 || mib > memoryMax>>20 {
			return nil, fmt.Errorf("property %s is %q: write a number of MiB, 1 or more", p.Name, p.Value)
		}
		memory[stage] = mib << 20
	}
	if _, all := o.memory[""]; all {
		clear(memory)
	}
	maps.Copy(memory, plan.Memory(o.memory))
	return memory, plan.GiveMemory(g, memory)
}
