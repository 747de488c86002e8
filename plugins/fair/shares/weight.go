package shares

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/plugins/fair/allocation"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
)

// WeightAdjuster changes the weights of jobs: an extension point of the original (design
// document, section 5). It must be a function of its arguments. A policy is one goroutine's.
type WeightAdjuster interface {
	// Adjust returns the weight of a job at a time, given its weight without the adjuster. It also
	// returns the time of the next call, 0 for never.
	Adjust(j *scheduler.Job, weight float64, now scheduler.Time) (float64, scheduler.Time)
}

// NewAdjuster makes a weight adjuster from the settings; nil: weights stay as they are. It is
// called for each new version of the settings.
type NewAdjuster func(*allocation.Config) WeightAdjuster

// WeightAdjusters are the weight adjusters by name. Register adds another one.
var WeightAdjusters = settings.NewChoices("weights.adjuster", map[string]NewAdjuster{
	allocation.AdjusterNone: func(*allocation.Config) WeightAdjuster { return nil },
	allocation.NewJobBoost:  func(o *allocation.Config) WeightAdjuster { return newJobBoost{o.BoostFactor, o.BoostFor} },
})

// adjuster makes the weight adjuster that the checked settings name.
func adjuster(c *allocation.Config) WeightAdjuster {
	made, _ := WeightAdjusters.Named(c.Adjuster)
	return made(c)
}

// newJobBoost makes jobs heavier for a while after submission, so that short jobs end soon.
type newJobBoost struct {
	factor float64
	last   time.Duration
}

func (b newJobBoost) Adjust(j *scheduler.Job, weight float64, now scheduler.Time) (float64, scheduler.Time) {
	until := j.Submitted.Add(b.last)
	if now < until {
		return float64(weight * b.factor), until
	}
	return weight, 0
}

// Priorities beyond these weigh as much as these.
const priorityMax = 30

// priorityWeight doubles with each level (design document, section 3.5).
func priorityWeight(p scheduler.Priority) float64 {
	return math.Ldexp(1, int(min(max(p, -priorityMax), priorityMax)))
}

// sizeWeight grows with the logarithm of a job's demand, so that large jobs get more and small
// ones still end first.
func sizeWeight(demand int) float64 { return math.Log2(1 + float64(demand)) }

// weight computes a job's weight for a kind of which it demands so much.
func (s *State) weight(j *Job, demand int) float64 {
	w := priorityWeight(j.Info.Priority)
	if s.Config.SizeBasedWeight {
		w = float64(w * sizeWeight(demand))
	}
	if s.adjuster == nil {
		return w
	}
	w, until := s.adjuster.Adjust(&j.Info, w, s.View.Now())
	if until > 0 {
		s.alarms.set(j.ID(), until)
	}
	return w
}

// alarms are the times at which weights change by themselves, the earliest first.
type alarms []alarm

type alarm struct {
	at  scheduler.Time
	job scheduler.JobID
}

func (a *alarms) set(job scheduler.JobID, at scheduler.Time) {
	x := alarm{at, job}
	i, found := slices.BinarySearchFunc(*a, x, func(a, b alarm) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.job, b.job)) })
	if !found {
		*a = slices.Insert(*a, i, x)
	}
}

// ring marks the jobs whose weight changes now.
func (a *alarms) ring(s *State) {
	n := 0
	for n < len(*a) && (*a)[n].at <= s.View.Now() {
		s.Mark(s.Jobs[(*a)[n].job])
		n++
	}
	*a = slices.Delete(*a, 0, n)
}
