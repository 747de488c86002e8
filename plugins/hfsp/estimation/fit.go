package estimation

import (
	"fmt"
	"math"
	"slices"
)

// Distribution is the name of a family of distributions of task lengths.
type Distribution string

// The families of distributions.
const (
	Uniform     Distribution = "uniform"
	Normal      Distribution = "normal"
	Exponential Distribution = "exponential"
)

// Distributions lists the names of all families.
func Distributions() []Distribution { return []Distribution{Uniform, Normal, Exponential} }

// family is a family of distributions in its standard form: x = origin + scale·quantile(p).
type family struct {
	quantile func(p float64) float64
	mean     float64 // the mean of the standard form
	origin   bool    // false: the origin is fixed at 0
}

var families = map[Distribution]family{
	Uniform:     {func(p float64) float64 { return p }, 0.5, true},
	Normal:      {func(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }, 0, true},
	Exponential: {func(p float64) float64 { return -math.Log1p(-p) }, 1, false},
}

// Mean fits the distribution to the empirical distribution of lengths and returns the mean of the
// result, or 0 without lengths. The i-th of n lengths, sorted, belongs to the probability (i−½)/n.
// The fit minimises the sum of squared distances between each length and the distribution's
// quantile there. If all lengths are equal, Mean returns that length.
//
// For a family with a fitted origin (uniform, normal), the result is the mean of the lengths; for
// the exponential one it is not.
func (d Distribution) Mean(lengths []float64) float64 {
	f, ok := families[d]
	if !ok {
		panic(fmt.Sprintf("no distribution is called %q", d)) // settings are checked
	}
	x := make([]float64, len(lengths))
	for i, l := range lengths {
		x[i] = length(l)
	}
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	if x[0] == x[len(x)-1] {
		return x[0]
	}
	n := float64(len(x))
	q := make([]float64, len(x))
	for i := range x {
		q[i] = f.quantile((float64(i) + 0.5) / n)
	}
	if !f.origin {
		return length(dot(x, q) / dot(q, q) * f.mean)
	}
	mx, mq := mean(x), mean(q)
	for i := range q {
		q[i] -= mq
	}
	return length(mx + float64(dot(x, q)/dot(q, q)*(f.mean-mq)))
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

func dot(x, y []float64) float64 {
	sum := 0.0
	for i := range x {
		sum += float64(x[i] * y[i])
	}
	return sum
}
