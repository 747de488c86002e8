package worker

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
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
	for n := range 200 {
		list := make([]job.Task, r.IntN(20)+n%3*blockTasks)
		for i := range list {
			list[i] = randomTask(r)
		}
		packed := packTasks(list)
		for i := range list {
			if got := packed.task(i); !reflect.DeepEqual(got, list[i]) {
				t.Fatalf("%+v came back as %+v", list[i], got)
			}
		}
	}
	if packTasks(nil) != nil {
		t.Error("a stage that reads nothing has tasks")
	}
}

// A worker of a job with very many located splits keeps a few dozen bytes of each.
func TestPackedTasksAreSmall(t *testing.T) {
	const splits = 200_000
	list := make([]job.Task, splits)
	for i := range list {
		s := job.Split{Path: fmt.Sprint("hdfs:///in/", i/1000), Offset: int64(i%1000) << 27, Length: 1 << 27, Size: 1000 << 27}
		for k := range 3 {
			s.Places = append(s.Places, job.Place{Host: fmt.Sprintf("host-%03d.test", (i+37*k)%500), Rack: fmt.Sprintf("/rack-%d", k), Bytes: 1 << 27})
		}
		list[i] = job.Task{s}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	packed := packTasks(list)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 64*splits {
		t.Errorf("%d splits take %d bytes", splits, kept)
	}
	runtime.KeepAlive(list)
	runtime.KeepAlive(packed)
}
