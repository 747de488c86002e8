package virtual

import (
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/heap"
)

import "math"

// class is the jobs of one ratio of cap to weight. The cap of all of them binds at the same level.
// So, by weight, they always make progress at one speed: the level while they share, and the ratio
// while their cap binds. Their clock counts that progress, in slot-seconds by weight. A job's tag
// is what the clock shows when it finishes. It stays, and the order of the jobs with it, whatever
// the level does; a class whose cap starts or stops to bind is changed as one.
type class struct {
	ratio           float64
	jobs            heap.Heap[*Job]              // by tag
	virtuallyActive []*Job                       // those of its jobs that are virtual jobs
	weight, caps    int64                        // of all together; weights in units
	gone            struct{ weight, caps int64 } // of the virtual jobs

	bound bool // the caps bind
	// The clock showed base at from, which is in the level's integral while the class
	// shares, and in seconds of the cluster while it is bound.
	from, base float64
	due        float64 // when the first of jobs finishes, in what from is in
	changed    bool    // since it was saved

	byRatio, byDue int // where it lies in the heaps of its side
	ahead          ahead
}

// side is the classes that are bound, or those that share.
type side struct {
	byRatio     heap.Heap[*class] // first the one that changes sides first
	byDue       heap.Heap[*class] // first the one of which a job finishes first; only those with jobs
	virtualJobs *virtualJobs      // of all
}

func newSide(before func(a, b *class) bool) side {
	return side{
		byRatio: heap.Heap[*class]{Before: before, Moved: func(k *class, i int) { k.byRatio = i }},
		byDue: heap.Heap[*class]{
			Before: func(a, b *class) bool {
				return a.due < b.due || a.due == b.due && a.first().compare(b.first()) < 0
			},
			Moved: func(k *class, i int) { k.byDue = i },
		},
	}
}

// add takes in a class, and remove lets it go, with all that is in it.
func (s *side) add(k *class) {
	s.byRatio.Push(k)
	if len(k.jobs.Items) > 0 {
		k.due = k.when(k.first().tag)
		s.byDue.Push(k)
	}
	for _, j := range k.virtuallyActive {
		s.virtualJobs = s.virtualJobs.insert(k.virtualJob(j))
	}
}

func (s *side) remove(k *class) {
	s.byRatio.Remove(k.byRatio)
	if len(k.jobs.Items) > 0 {
		s.byDue.Remove(k.byDue)
	}
	for _, j := range k.virtuallyActive {
		s.virtualJobs = s.virtualJobs.remove(k.when(j.tag), j)
	}
}

func newClass(ratio float64) *class {
	return &class{ratio: ratio, jobs: heap.Heap[*Job]{Before: earlier, Moved: func(j *Job, i int) { j.place = i }}}
}

func earlier(a, b *Job) bool {
	return a.tag < b.tag || a.tag == b.tag && a.compare(b) < 0
}

func (k *class) first() *Job { return k.jobs.Items[0] }

// clock reads the clock at x, which is in what from is in.
func (k *class) clock(x float64) float64 {
	if k.bound {
		return k.base + float64(k.ratio*(x-k.from))
	}
	return k.base + (x - k.from)
}

// when says when the clock shows a tag.
func (k *class) when(tag float64) float64 {
	if k.bound {
		return reach(k.from, tag-k.base, k.ratio)
	}
	return k.from + (tag - k.base)
}

// virtual job makes one of a virtually active job.
func (k *class) virtualJob(j *Job) *virtualJobs {
	if k.bound {
		return newVirtualJob(j, k.when(j.tag), float64(j.spec.Cap))
	}
	return newVirtualJob(j, k.when(j.tag), j.spec.Weight)
}

// empty says whether the class has neither jobs nor virtual jobs.
func (k *class) empty() bool { return len(k.jobs.Items)+len(k.virtuallyActive) == 0 }

// reach is where something is, having been at from, when it has gone a way at a speed.
func reach(from, way, speed float64) float64 {
	if speed == 0 {
		return math.Inf(1)
	}
	return from + way/speed
}
