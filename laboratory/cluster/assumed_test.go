package cluster

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/workload"
)

// wide is a workload of a job with a stage of tasks that take slots of a kind.
func wide(kind string, tasks, slots int, m workload.Machine) *workload.Workload {
	s := workload.Stage{Name: "work", Kind: kind, Slots: slots, Memory: 100 << 40, Tasks: make([]workload.Task, tasks)}
	for i := range s.Tasks {
		s.Tasks[i].Work = time.Second
	}
	return &workload.Workload{Jobs: []workload.Job{{ID: "a", Stages: []workload.Stage{s}}}, Machine: m}
}

// A workload gets the machine that its source names, or one on which its largest job fits, and else
// the usual launchers with slots of its kinds.
func TestAssumed(t *testing.T) {
	usual := Default(100, map[string]int{"map": 4, "reduce": 2}).Groups[0]
	for _, c := range []struct {
		name string
		w    *workload.Workload
		want string
	}{
		{"nodes", wide("default", 8, 1, workload.Machine{Nodes: 32, Processors: 128}), "32 launchers with default=4: the source names 128 processors on 32 nodes"},
		{"the last node is smaller", wide("default", 8, 1, workload.Machine{Nodes: 3, Processors: 8}), "2 launchers with default=3 and 1 launcher with default=2: the source names 8 processors on 3 nodes"},
		{"processors", wide("default", 8, 2, workload.Machine{Processors: 17}), "8 launchers with default=2 and 1 launcher with default=1: the source names 17 processors"},
		{"a larger job", wide("default", 8, 4, workload.Machine{Processors: 16}), "8 launchers with default=4: the source names 16 processors; its largest job takes 32"},
		{"none named", wide("default", 8, 1, workload.Machine{Processors: 9, Seen: true}), "9 launchers with default=1: the source names no machine, and its jobs held 9 processors at once"},
		{"a large one", wide("default", 8, 1, workload.Machine{Nodes: 40_000, Processors: 160_000}), "10000 launchers with default=16: the source names 160000 processors on 40000 nodes"},
		{"another kind", wide("default", 2, 1, workload.Machine{}), "100 launchers with default=4: the tasks of the workload need slots of kind default"},
		{"wide tasks", wide("gpu", 2, 32, workload.Machine{}), "100 launchers with gpu=32: the tasks of the workload need slots of kind gpu"},
		{"MapReduce", wide("map", 2, 1, workload.Machine{}), ""},
	} {
		groups, why := Assumed(c.w, usual, 0)
		if why != c.want {
			t.Errorf("%s: %q, want %q", c.name, why, c.want)
		}
		if c.want == "" {
			continue
		}
		on := Of(groups)
		if err := on.Check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if m := on.Machines()[0]; m.Memory < 100<<40 {
			t.Errorf("%s: memory for a slot's task is missing: %d", c.name, m.Memory)
		}
	}
}

// Given hosts share the processors of the source, so that its largest job fits on them.
func TestAssumedOnHosts(t *testing.T) {
	usual := Default(100, map[string]int{"map": 4, "reduce": 2}).Groups[0]
	hosts := []workload.Place{{Host: "a", Rack: "1"}, {Host: "b", Rack: "1"}, {Host: "c", Rack: "2"}}
	for _, c := range []struct {
		w    *workload.Workload
		want string
	}{
		{wide("default", 8, 1, workload.Machine{Nodes: 32, Processors: 128}), "3 launchers with default=43: the source names 128 processors on 32 nodes"},
		{wide("default", 8, 2, workload.Machine{Processors: 2}), "3 launchers with default=6: the source names 2 processors; its largest job takes 16"},
		{wide("gpu", 2, 1, workload.Machine{}), "3 launchers with gpu=4: the tasks of the workload need slots of kind gpu"},
		{wide("map", 2, 1, workload.Machine{}), ""},
	} {
		groups, why := Assumed(c.w, usual, len(hosts))
		if why != c.want {
			t.Errorf("%q, want %q", why, c.want)
		}
		on := Default(100, map[string]int{"map": 4, "reduce": 2})
		if groups != nil {
			if lacks := on.Lacks(c.w); len(lacks) != 1 {
				t.Errorf("%q: the usual launchers lack %v", c.want, lacks)
			}
			on = Of(groups)
		}
		if err := on.OnHosts(hosts); err != nil || on.Launchers() != 3 || len(on.Lacks(c.w)) != 0 {
			t.Errorf("%q: %d launchers, without slots of %v: %v", c.want, on.Launchers(), on.Lacks(c.w), err)
		}
	}
}
