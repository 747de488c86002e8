package statistics

import "math"

// Estimate is a mean with its confidence interval of 95 %. The population's mean lies within Half
// of Mean in 95 of 100 cases, if the population is about normal. Half is 0 for a sample of one,
// which has no interval.
type Estimate struct {
	Count      int
	Mean, Half float64
}

// Confidence is the level of the intervals.
const Confidence = 0.95

// Of makes an estimate by Student's t distribution.
func Of(sample []float64) Estimate {
	e := Estimate{Count: len(sample), Mean: Mean(sample)}
	if len(sample) > 1 {
		e.Half = Student(len(sample)-1, Confidence) * Deviation(sample) / math.Sqrt(float64(len(sample)))
	}
	return e
}

// Student is the t such that a share of Student's distribution, above 0 and below 1, lies within -t
// and t. degrees of freedom are at least 1.
func Student(degrees int, share float64) float64 {
	// The share grows with the angle: bisect.
	low, high := 0.0, math.Pi/2
	for range 100 {
		middle := (low + high) / 2
		if within(degrees, middle) < share {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Tan((low+high)/2) * math.Sqrt(float64(degrees))
}

// within is the share of the distribution between -t and t. angle is the angle whose tangent is t
// over the root of the degrees of freedom. For whole degrees it is a finite sum: Abramowitz and
// Stegun, 26.7.3 and 26.7.4.
func within(degrees int, angle float64) float64 {
	sin, cos := math.Sincos(angle)
	odd := degrees % 2
	// term runs through cos^odd, cos^(odd+2)·(odd+1)/(odd+2), and so on.
	term, sum := 1.0, 0.0
	if odd == 1 {
		term = cos
	}
	for k := odd; k <= degrees-2; k += 2 {
		sum += term
		term *= float64(cos * cos * float64(k+1) / float64(k+2))
	}
	if odd == 1 {
		return 2 / math.Pi * (angle + float64(sin*sum))
	}
	return sin * sum
}
