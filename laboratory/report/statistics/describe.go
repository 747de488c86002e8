package statistics

import (
	"math"
	"slices"
)

// Description describes a sample. All fields but Count are 0 for an empty sample.
type Description struct {
	Count                            int
	Mean, Median, P75, P95, P99, Max float64
}

// Describe describes a sample, without changing it.
func Describe(sample []float64) Description {
	sorted := slices.Sorted(slices.Values(sample))
	d := Description{Count: len(sorted), Mean: Mean(sorted)}
	if len(sorted) == 0 {
		return d
	}
	d.Median, d.P75, d.P95, d.P99 = Quantile(sorted, 0.5), Quantile(sorted, 0.75), Quantile(sorted, 0.95), Quantile(sorted, 0.99)
	d.Max = sorted[len(sorted)-1]
	return d
}

// Mean is the arithmetic mean; 0 for an empty sample.
func Mean(sample []float64) float64 {
	if len(sample) == 0 {
		return 0
	}
	sum := 0.0
	for _, x := range sample {
		sum += x
	}
	return sum / float64(len(sample))
}

// Quantile is the q-quantile of a sorted sample that is not empty, interpolated linearly, as R
// (type 7) and NumPy do by default. q is from 0 to 1.
func Quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(math.Floor(at))
	if i >= len(sorted)-1 {
		return sorted[len(sorted)-1]
	}
	part := float64((at - float64(i)) * (sorted[i+1] - sorted[i]))
	return sorted[i] + part
}

// Jain is Jain's index of fairness: the square of the sum over the number times the sum of squares.
// It is 1 when all values are equal, and 1/n when one of n has all. It is 1 for an empty sample,
// and where all values are 0.
func Jain(sample []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range sample {
		sum += x
		squares += float64(x * x)
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(sample)) * squares)
}

// Deviation is the standard deviation of a population, estimated from a sample of two or more; else
// 0.
func Deviation(sample []float64) float64 {
	if len(sample) < 2 {
		return 0
	}
	mean, sum := Mean(sample), 0.0
	for _, x := range sample {
		sum += float64((x - mean) * (x - mean))
	}
	return math.Sqrt(sum / float64(len(sample)-1))
}
