package workload

import (
	"container/heap"
	"math"
	"testing"

	"github.com/hamadryad/hamadryad/plugins/hfsp/virtual"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// visit is a job that comes to a single server, in seconds.
type visit struct{ at, size float64 }

// visits are the first jobs of a trace as visits of one server: a job's size is what it
// reads and writes on disks, and what it shuffles, which goes over the disk and over a
// network of a quarter of its speed. Sizes are scaled so that the load is 0.9.
func visits(t *testing.T, jobs int) []visit {
	s := DefaultSWIM()
	s.Block, s.ReduceBytes = 1<<50, 1<<50
	w := load(t, "FB-2009_samples_24_times_1hr_0.tsv.gz", Options{SWIM: &s})
	list := make([]visit, jobs)
	work := 0.0
	for i := range list {
		j := &w.Jobs[i]
		disk, shuffled := j.Stages[0].Tasks[0].Input, int64(0)
		last := j.Stages[len(j.Stages)-1].Tasks[0]
		disk += last.Output
		if len(j.Stages) == 2 {
			shuffled = last.Shuffle
		}
		list[i] = visit{j.Submit.Seconds(), float64(disk + 5*shuffled)}
		work += list[i].size
	}
	for i := range list {
		list[i].size *= 0.9 * list[jobs-1].at / work
	}
	return list
}

// The first 50 jobs of FB-2009_0 on a single server, sizes known, at a load of 0.9, have
// the mean sojourn times that are published of the exact disciplines.
func TestExactDisciplinesOnSWIM(t *testing.T) {
	list := visits(t, 50)
	for _, test := range []struct {
		name string
		mean float64
		ends func([]visit) []float64
	}{
		{"FIFO", 553.9013, fifo},
		{"PS", 161.9531, shared},
		{"SRPT", 97.6889, func(l []visit) []float64 { return inOrder(l, func(_ int, left float64) float64 { return left }) }},
		{"FSP", 100.7452, func(l []visit) []float64 {
			ends := shared(l)
			return inOrder(l, func(i int, _ float64) float64 { return ends[i] })
		}},
	} {
		sum := 0.0
		for i, end := range test.ends(list) {
			sum += end - list[i].at
		}
		if mean := sum / float64(len(list)); math.Abs(mean-test.mean) > 0.00006 {
			t.Errorf("%s: the mean sojourn time is %.4f s, not %.4f s", test.name, mean, test.mean)
		}
	}
}

func fifo(list []visit) []float64 {
	ends, now := make([]float64, len(list)), 0.0
	for i, v := range list {
		now = max(now, v.at) + v.size
		ends[i] = now
	}
	return ends
}

// shared is processor sharing: the virtual cluster of HFSP with one slot.
func shared(list []visit) []float64 {
	c := virtual.New(1, 0)
	ends, jobs := make([]float64, len(list)), make([]*virtual.Job, len(list))
	for i, v := range list {
		c.Advance(scheduler.Time(math.Round(v.at * 1e9)))
		jobs[i] = c.Add(virtual.ID{Job: scheduler.JobID(i + 1)}, virtual.Spec{Size: v.size, Weight: 1, Cap: 1}, 0)
	}
	for i, j := range jobs {
		ends[i] = float64(c.Finish(j)) / 1e9
	}
	return ends
}

// inOrder serves the job of the lowest rank until another comes. That is SRPT where the
// rank is what is left of a job. Where it is when sharing would end the job it is FSP: no
// later job changes the order in which two that are there would end.
func inOrder(list []visit, rank func(i int, left float64) float64) []float64 {
	ends := make([]float64, len(list))
	q := &queue{}
	now := 0.0
	for i := 0; i < len(list) || q.Len() > 0; {
		if q.Len() == 0 {
			now = max(now, list[i].at)
		}
		for ; i < len(list) && list[i].at <= now; i++ {
			heap.Push(q, client{i, list[i].size, rank(i, list[i].size)})
		}
		next := math.Inf(1)
		if i < len(list) {
			next = list[i].at
		}
		c := heap.Pop(q).(client)
		if now+c.left <= next {
			now += c.left
			ends[c.visit] = now
			continue
		}
		c.left -= next - now
		c.rank = rank(c.visit, c.left)
		now = next
		heap.Push(q, c)
	}
	return ends
}

type client struct {
	visit      int
	left, rank float64
}

type queue []client

func (q queue) Len() int           { return len(q) }
func (q queue) Less(a, b int) bool { return q[a].rank < q[b].rank }
func (q queue) Swap(a, b int)      { q[a], q[b] = q[b], q[a] }
func (q *queue) Push(c any)        { *q = append(*q, c.(client)) }
func (q *queue) Pop() any {
	c := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return c
}
