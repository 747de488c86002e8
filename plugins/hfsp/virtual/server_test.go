package virtual

import (
	"math"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// visit is a job that comes to a server. Times are in seconds, work in slot-seconds.
type visit struct {
	at, size, estimate, weight float64
	cap                        int
}

func at(seconds float64) scheduler.Time { return after(0, seconds) }

// share is processor sharing of true sizes, which is the virtual cluster itself: it
// returns when each job finishes.
func share(slots int, visits []visit) []float64 {
	c := New(slots, 0)
	jobs := make([]*Job, len(visits))
	for i, v := range visits {
		c.Advance(at(v.at))
		jobs[i] = c.Add(ID{Job: scheduler.JobID(i + 1)}, Spec{v.size, v.weight, v.cap}, 0)
	}
	ends := make([]float64, len(visits))
	for i, j := range jobs {
		ends[i] = float64(c.Finish(j)) / 1e9
	}
	return ends
}

// serve serves jobs on real slots in the order that the virtual cluster gives to their
// estimates: it returns when each finishes. Slots are whole; what is to be shared by
// parts needs as many of them as it has parts.
func serve(slots int, late Rule, visits []visit) []float64 {
	type client struct {
		visit
		job   *Job
		left  float64
		given int
	}
	c := New(slots, 0)
	ends := make([]float64, len(visits))
	var here []*client
	for come, done := 0, 0; done < len(visits); {
		for ; come < len(visits) && at(visits[come].at) <= c.Now(); come++ {
			v := visits[come]
			x := &client{visit: v, left: v.size}
			x.job = c.Add(ID{Job: scheduler.JobID(come + 1)}, Spec{v.estimate, v.weight, v.cap}, 0)
			x.job.Owner = x
			here = append(here, x)
		}
		next := math.Inf(1)
		if come < len(visits) {
			next = visits[come].at
		}
		for j := range c.Order() {
			if !j.Late() {
				next = min(next, float64(c.Finish(j))/1e9) // it will be late
			}
			j.Owner.(*client).given = 0
		}
		now := float64(c.Now()) / 1e9
		for j, n := range c.Allot(slots, late, (*Job).Cap) {
			x := j.Owner.(*client)
			x.given = n
			next = min(next, now+x.left/float64(n))
		}
		c.Advance(at(next))
		passed := float64(c.Now())/1e9 - now
		stay := here[:0]
		for _, x := range here {
			if x.left -= passed * float64(x.given); x.left > nanosecond*float64(x.cap) {
				stay = append(stay, x)
				continue
			}
			ends[x.job.ID().Job-1] = float64(c.Now()) / 1e9
			done++
			c.FinishReal(x.job, x.estimate)
		}
		here = stay
	}
	return ends
}
