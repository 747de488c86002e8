package virtual

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// busy is a cluster in the middle of its work: jobs of 1 to 255 tasks were served as the
// cluster said, each by as many slots as it has tasks at most, and when one ended another
// came. So many are virtually active as that gives.
type busy struct {
	*Cluster
	rng  *rand.Rand
	jobs []*Job
	last scheduler.JobID
}

type worker struct {
	left  float64
	index int
}

func newBusy(jobs, slots, ends int) *busy {
	b := &busy{Cluster: New(slots, 0), rng: rand.New(rand.NewPCG(1, 2))}
	for range jobs {
		b.come()
	}
	for range ends {
		var first *Job
		step := math.Inf(1)
		for j, n := range b.Allot(slots, Sharing, (*Job).Cap) {
			if t := j.Owner.(*worker).left / float64(n); t < step {
				first, step = j, t
			}
		}
		for j, n := range b.Allot(slots, Sharing, (*Job).Cap) {
			j.Owner.(*worker).left -= step * float64(n)
		}
		b.Advance(after(b.Now(), step))
		w := first.Owner.(*worker)
		b.jobs[w.index] = b.jobs[len(b.jobs)-1]
		b.jobs[w.index].Owner.(*worker).index = w.index
		b.jobs = b.jobs[:len(b.jobs)-1]
		b.FinishReal(first, first.Spec().Size)
		b.come()
	}
	return b
}

func (b *busy) come() {
	b.last++
	tasks := 1 << b.rng.IntN(8)
	tasks += b.rng.IntN(tasks)
	size := float64(tasks) * (10 + 100*b.rng.Float64())
	j := b.Add(ID{Job: b.last}, Spec{size, 1, tasks}, 0)
	j.Owner = &worker{size, len(b.jobs)}
	b.jobs = append(b.jobs, j)
}

// estimate changes what is thought of some job a little later.
func (b *busy) estimate() {
	b.Advance(b.Now() + 1000)
	j := b.jobs[b.rng.IntN(len(b.jobs))]
	s := j.Spec()
	s.Size *= 0.99 + 0.02*b.rng.Float64()
	b.Set(j, s)
}

// BenchmarkCluster measures an event, by which the estimate of some job changes; with the
// job that comes first being asked for; and with all slots being given out anew.
func BenchmarkCluster(b *testing.B) {
	for _, load := range []struct {
		name        string
		jobs, slots int
	}{
		{"heavy", 1000, 100},
		{"heavy", 10_000, 1000},
		{"middle", 1000, 2000},
		{"middle", 10_000, 20_000},
		{"light", 1000, 20_000},
		{"light", 2000, 40_000},
	} {
		name := fmt.Sprintf("%s/jobs=%d", load.name, load.jobs)
		busy := sync.OnceValue(func() *busy { return newBusy(load.jobs, load.slots, load.jobs) })
		b.Run("event/"+name, func(b *testing.B) {
			c, bound := busy(), 0
			for b.Loop() {
				c.estimate()
			}
			for _, k := range c.bound.byRatio.Items {
				bound += len(k.jobs.Items)
			}
			b.ReportMetric(float64(c.virtuallyActive), "virtually-active")
			b.ReportMetric(float64(bound), "bound")
		})
		b.Run("first/"+name, func(b *testing.B) {
			c := busy()
			for b.Loop() {
				c.estimate()
				for range c.Order() {
					break
				}
			}
		})
		b.Run("allot/"+name, func(b *testing.B) {
			c, asked := busy(), 0
			for b.Loop() {
				c.estimate()
				for range c.Allot(load.slots, Sharing, (*Job).Cap) {
					asked++
				}
			}
			b.ReportMetric(float64(asked)/float64(b.N), "jobs/op")
		})
	}
}

// BenchmarkBind has the caps of all jobs start and stop to bind, as a slot comes and goes.
func BenchmarkBind(b *testing.B) {
	for _, jobs := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprintf("jobs=%d", jobs), func(b *testing.B) {
			c := New(jobs, 0)
			for i := range jobs {
				c.Add(ID{Job: scheduler.JobID(i)}, Spec{100 + float64(i), 1, 1}, 0)
			}
			for i := 0; b.Loop(); i++ {
				c.SetCapacity(jobs - i%2)
				for range c.Order() {
					break
				}
			}
		})
	}
}

// BenchmarkLate gives out slots among jobs all of which are late.
func BenchmarkLate(b *testing.B) {
	for _, jobs := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprintf("jobs=%d", jobs), func(b *testing.B) {
			c := newBusy(jobs, 2*jobs, 0)
			c.Advance(1e18)
			for b.Loop() {
				for range c.Allot(2*jobs, Sharing, (*Job).Cap) {
				}
			}
		})
	}
}
