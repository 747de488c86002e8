package workload

import (
	"math"
	"strings"
	"testing"
	"time"
)

// small is a workload of two jobs, one of which has reduces.
func small() *Workload {
	return &Workload{Name: "small", Jobs: []Job{
		{ID: "a", Class: "short", User: "u", Pool: "p", Stages: []Stage{{Name: "map", Kind: MapKind, Tasks: []Task{
			{Work: time.Second, Input: 100, Places: []Place{{Host: "h1", Rack: "r1"}, {Host: "h2"}}}, {Work: 2 * time.Second, Input: 50},
		}}}},
		{ID: "b", Priority: -1, Submit: time.Minute, Stages: []Stage{
			{Name: "map", Kind: MapKind, Tasks: []Task{{Work: 3, Output: 7}}},
			{Name: "reduce", Kind: ReduceKind, After: []int{0}, SlowStart: 0.05, Memory: 1 << 30, Tasks: []Task{{Work: 1, Shuffle: 7, Output: 3}}},
		}},
	}}
}

func TestCheckTellsWhatMakesAWorkloadNone(t *testing.T) {
	if err := small().Check(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		want  string
		spoil func(*Workload)
	}{
		{"no job", func(w *Workload) { w.Jobs = nil }},
		{"stands there twice", func(w *Workload) { w.Jobs[1].ID = "a" }},
		{"has no id", func(w *Workload) { w.Jobs[1].ID = "" }},
		{"jobs stand in order", func(w *Workload) { w.Jobs[0].Submit = time.Hour }},
		{"times are not negative", func(w *Workload) { w.Jobs[0].Submit = -1 }},
		{"at most", func(w *Workload) { w.Jobs[1].Submit = SubmitMax + 1 }},
		{"has the priority", func(w *Workload) { w.Jobs[1].Priority = PriorityMax + 1 }},
		{"has no stage", func(w *Workload) { w.Jobs[1].Stages = nil }},
		{"stages: at most", func(w *Workload) { w.Jobs[1].Stages = make([]Stage, StagesMax+1) }},
		{"needs a name and a kind", func(w *Workload) { w.Jobs[1].Stages[0].Kind = "" }},
		{"are named", func(w *Workload) { w.Jobs[1].Stages[1].Name = "map" }},
		{"it comes after", func(w *Workload) { w.Jobs[1].Stages[1].After = []int{1} }},
		{"it comes after", func(w *Workload) { w.Jobs[1].Stages[1].After = []int{0, 0} }},
		{"slow-start is NaN", func(w *Workload) { w.Jobs[1].Stages[1].SlowStart = math.NaN() }},
		{"slow-start is 1.5", func(w *Workload) { w.Jobs[1].Stages[1].SlowStart = 1.5 }},
		{"comes after no stage", func(w *Workload) { w.Jobs[0].Stages[0].SlowStart = 0.5 }},
		{"memory is -1", func(w *Workload) { w.Jobs[0].Stages[0].Memory = -1 }},
		{"has no task", func(w *Workload) { w.Jobs[0].Stages[0].Tasks = nil }},
		{"stage \"map\", task 1: it takes -1ns", func(w *Workload) { w.Jobs[0].Stages[0].Tasks[1].Work = -1 }},
		{"it takes 8760h0m0.000000001s", func(w *Workload) { w.Jobs[0].Stages[0].Tasks[1].Work = WorkMax + 1 }},
		{"take more than", func(w *Workload) {
			tasks := make([]Task, 201)
			for i := range tasks {
				tasks[i].Work = WorkMax
			}
			w.Jobs[0].Stages[0].Tasks = tasks
		}},
		{"shuffled input is -1", func(w *Workload) { w.Jobs[1].Stages[1].Tasks[0].Shuffle = -1 }},
		{"all tasks have more than", func(w *Workload) { w.Jobs[0].Stages[0].Tasks[0].Input = math.MaxInt64 - 10 }},
		{"names no host", func(w *Workload) { w.Jobs[0].Stages[0].Tasks[0].Places[1].Host = "" }},
		{"lies on 65 hosts", func(w *Workload) { w.Jobs[0].Stages[0].Tasks[0].Places = make([]Place, PlacesMax+1) }},
		{"no line of text", func(w *Workload) { w.Jobs[0].User = "a\nb" }},
		{"no line of text", func(w *Workload) { w.Jobs[0].Pool = "\xff" }},
		{"has 1025 bytes", func(w *Workload) { w.Jobs[0].ID = strings.Repeat("x", NameBytesMax+1) }},
	} {
		w := small()
		test.spoil(w)
		if err := w.Check(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v\nwant %s", err, test.want)
		}
	}
}

func TestWorkloadAddsUp(t *testing.T) {
	w := small()
	if n, m := w.Tasks(), w.Jobs[1].Tasks(); n != 4 || m != 2 {
		t.Errorf("%d tasks, %d of the second job; 4 and 2 are right", n, m)
	}
	if d := w.Jobs[0].Stages[0].Work(); d != 3*time.Second {
		t.Errorf("the first stage takes %v, not 3 s", d)
	}
	if w.Span() != time.Minute || w.Jobs[1].Stage("reduce") != &w.Jobs[1].Stages[1] || w.Jobs[0].Stage("reduce") != nil {
		t.Error("the span is a minute, and the second job alone has reduces")
	}
}
