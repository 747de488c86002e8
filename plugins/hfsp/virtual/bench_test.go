package virtual

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// busy is a cluster with so many jobs of 1 to 200 tasks on twice as many slots: the caps
// of the small ones bind.
type busy struct {
	*Cluster
	rng  *rand.Rand
	last scheduler.JobID
}

func newBusy(jobs, slots int) *busy {
	b := &busy{Cluster: New(slots, 0), rng: rand.New(rand.NewPCG(1, 2))}
	for range jobs {
		b.come()
	}
	return b
}

func (b *busy) come() {
	b.last++
	tasks := 1 << b.rng.IntN(8)
	tasks += b.rng.IntN(tasks)
	b.Add(ID{Job: b.last}, Spec{float64(tasks) * (10 + 100*b.rng.Float64()), 1, tasks}, 0)
}

// ask takes from the order as many jobs as fill the slots.
func (b *busy) ask() (n int) {
	for range b.Allot(int(b.capacity), Sharing, (*Job).Cap) {
		n++
	}
	return n
}

// task ends a task of the job that comes first, as if all slots worked on it: so far
// its tasks took a little longer, or less, than was thought. When the job ends another
// comes.
func (b *busy) task() {
	var first *Job
	for first = range b.Order() {
		break
	}
	s := first.Spec()
	b.Advance(b.Now() + scheduler.Time(1e9*s.Size/float64(s.Cap)/float64(b.capacity)))
	n, _ := first.Owner.(int)
	if n++; n < s.Cap {
		first.Owner = n
		s.Size *= 0.99 + 0.02*b.rng.Float64()
		b.Set(first, s)
		return
	}
	b.Retire(first, s.Size)
	b.come()
}

func BenchmarkTask(b *testing.B) {
	for _, jobs := range []int{100, 1000, 10_000} {
		for _, perJob := range []float64{0.1, 2, 30} {
			slots := int(perJob * float64(jobs))
			b.Run(fmt.Sprintf("jobs=%d/slots=%d", jobs, slots), func(b *testing.B) {
				c := newBusy(jobs, slots)
				for range 30 * jobs {
					c.task()
				}
				b.ResetTimer()
				asked, bound := 0, 0
				for range b.N {
					c.task()
					asked += c.ask()
					for _, k := range c.bound.byRatio.items {
						bound += len(k.jobs.items)
					}
				}
				b.ReportMetric(float64(asked)/float64(b.N), "asked/op")
				b.ReportMetric(float64(bound)/float64(b.N), "bound/op")
				b.ReportMetric(float64(c.retired), "retired")
				b.ReportMetric(float64(c.late.Len()), "late")
				b.ReportMetric(float64(len(c.classes)), "classes")
			})
		}
	}
}
