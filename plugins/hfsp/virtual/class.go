package virtual

import (
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/heap"
)

import "math"

// class is the jobs of one ratio of cap to weight: the cap of all of them binds at the same level.
// Divided by weight, they make progress at one speed: the level while they share, and the ratio
// while their cap binds. The class's clock counts that progress, in slot-seconds per weight. A
// job's tag is what the clock shows when it finishes. Tags, and so the order of the jobs, stay
// whatever the level does. A class whose cap starts or stops to bind is changed as one.
type class struct {
	ratio           float64
	jobs            heap.Heap[*Job]              // by tag
	virtuallyActive []*Job                       // the virtually active jobs of the class
	weight, caps    int64                        // sums over all its jobs; weights in units
	gone            struct{ weight, caps int64 } // sums over the virtually active jobs

	bound bool // the caps bind
	// The clock showed base at from. While the class shares, from is a value of the level's
	// integral; while it is bound, it is in seconds of the cluster.
	from, base float64
	due        float64 // when the first of jobs finishes, in from's unit
	changed    bool    // since the last save

	byRatio, byDue int // its places in the heaps of its side
	ahead          ahead
}

// side is all bound classes, or all classes that share.
type side struct {
	byRatio     heap.Heap[*class] // the class that changes sides first comes first
	byDue       heap.Heap[*class] // the class whose job finishes first comes first; only classes with jobs
	virtualJobs *virtualJobs      // of all its classes
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

// add adds a class with its jobs, and remove removes it.
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

// clock reads the clock at x, in from's unit.
func (k *class) clock(x float64) float64 {
	if k.bound {
		return k.base + float64(k.ratio*(x-k.from))
	}
	return k.base + (x - k.from)
}

// when returns when the clock shows a tag, in from's unit.
func (k *class) when(tag float64) float64 {
	if k.bound {
		return reach(k.from, tag-k.base, k.ratio)
	}
	return k.from + (tag - k.base)
}

// virtualJob returns the tree node of a virtually active job.
func (k *class) virtualJob(j *Job) *virtualJobs {
	if k.bound {
		return newVirtualJob(j, k.when(j.tag), float64(j.spec.Cap))
	}
	return newVirtualJob(j, k.when(j.tag), j.spec.Weight)
}

// empty reports whether the class has no jobs at all.
func (k *class) empty() bool { return len(k.jobs.Items)+len(k.virtuallyActive) == 0 }

// reach returns when the distance way is covered at a speed, having begun at from.
func reach(from, way, speed float64) float64 {
	if speed == 0 {
		return math.Inf(1)
	}
	return from + way/speed
}
