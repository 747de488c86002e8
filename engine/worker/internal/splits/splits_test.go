package splits

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/job"
)

func randomTask(r *rand.Rand) job.Task {
	numbers := []int64{0, 1, -1, 100, math.MaxInt64, math.MinInt64}
	number := func() int64 { return numbers[r.IntN(len(numbers))] }
	text := func() string { return []string{"", "a", "file:///in/" + fmt.Sprint(r.IntN(9))}[r.IntN(3)] }
	task := make(job.Task, r.IntN(4))
	for i := range task {
		task[i] = job.Split{Path: text(), Offset: number(), Length: number(), Size: number(), Version: text()}
		for range r.IntN(4) {
			task[i].Places = append(task[i].Places, job.Place{Host: text(), Rack: text(), Bytes: number()})
		}
	}
	return task
}

func TestPackedTasksComeBackEqual(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 6 {
		list := make([]job.Task, r.IntN(20)+n%3*(tasksFew+1))
		for i := range list {
			list[i] = randomTask(r)
		}
		packed, err := Pack(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range slices.Concat(slices.Sorted(maps.Keys(maps.Collect(slices.All(list)))), r.Perm(len(list))[:min(len(list), 100)]) {
			if got := packed.Task(i); !reflect.DeepEqual(got, list[i]) {
				t.Fatalf("%+v came back as %+v", list[i], got)
			}
		}
	}
	if packed, err := Pack(nil); packed != nil || err != nil {
		t.Error("a stage that reads nothing has tasks", err)
	}
}

// A worker of a job with very many located splits, each of a file of its own, keeps a few bytes for
// each: for a million that is a small part of a task's memory.
func TestPackedTasksAreSmall(t *testing.T) {
	const splits = 200_000
	r := rand.New(rand.NewPCG(3, 4))
	list := make([]job.Task, splits)
	for i := range list {
		s := job.Split{Path: fmt.Sprintf("hdfs:///in/2026-11-22/part-%07d", i), Length: 1<<27 - r.Int64N(1<<20), Version: fmt.Sprint(1<<40 + int64(i)*7919)}
		s.Size = s.Length
		for range 3 {
			s.Places = append(s.Places, job.Place{Host: fmt.Sprintf("host-%03d.test", r.IntN(500)), Rack: fmt.Sprintf("/rack-%d", r.IntN(20)), Bytes: s.Length})
		}
		list[i] = job.Task{s}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	packed, err := Pack(list)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 48*splits {
		t.Errorf("%d splits take %d bytes", splits, kept)
	}
	// All tasks are in memory while they are packed.
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 48*splits+16<<20 {
		t.Errorf("to pack %d splits takes %d bytes", splits, taken)
	}
	runtime.KeepAlive(list)
	runtime.KeepAlive(packed)
}

// BenchmarkTask reads tasks as one worker of many does: far apart, so that each is in another
// block.
func BenchmarkTask(b *testing.B) {
	list := make([]job.Task, 100*blockTasks)
	for i := range list {
		list[i] = job.Task{{Path: fmt.Sprintf("hdfs:///in/part-%07d", i), Length: 1 << 27, Version: fmt.Sprint(1<<40 + i*7919)}}
	}
	packed, err := Pack(list)
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		packed.Task(i * (blockTasks + 1) % len(list))
	}
}
