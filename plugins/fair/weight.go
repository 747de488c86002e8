package fair

import (
	"math"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// WeightAdjuster changes the weights of jobs: an extension point of the original (design
// document, section 5). It must be a function of its arguments.
type WeightAdjuster interface {
	// Adjust returns the weight of a job at a time, given what it would be, and the
	// time at which it is to be asked again; 0 for never.
	Adjust(j *scheduler.Job, weight float64, now scheduler.Time) (float64, scheduler.Time)
}

// adjusters are the weight adjusters by name, made from the settings.
var adjusters = map[string]func(*options) WeightAdjuster{
	"none":          func(*options) WeightAdjuster { return nil },
	"new-job-boost": func(o *options) WeightAdjuster { return newJobBoost{o.boostFactor, o.boostFor} },
}

// newJobBoost makes jobs heavier for a while after submission, so that short ones
// end soon.
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

// sizeWeight grows with the logarithm of what a job wants, so that large jobs get
// more and small ones still end first.
func sizeWeight(demand int) float64 { return math.Log2(1 + float64(demand)) }
