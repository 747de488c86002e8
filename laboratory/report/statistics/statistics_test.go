package statistics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// The values are those of the printed tables of the distribution: between -t and t lies
// the share.
func TestStudentIsThePublishedTable(t *testing.T) {
	for _, c := range []struct {
		degrees int
		share   float64
		t       float64
	}{
		{1, 0.95, 12.706},
		{2, 0.95, 4.303},
		{3, 0.95, 3.182},
		{4, 0.95, 2.776},
		{5, 0.95, 2.571},
		{6, 0.95, 2.447},
		{7, 0.95, 2.365},
		{8, 0.95, 2.306},
		{9, 0.95, 2.262},
		{10, 0.95, 2.228},
		{11, 0.95, 2.201},
		{15, 0.95, 2.131},
		{19, 0.95, 2.093},
		{20, 0.95, 2.086},
		{25, 0.95, 2.060},
		{29, 0.95, 2.045},
		{30, 0.95, 2.042},
		{40, 0.95, 2.021},
		{60, 0.95, 2.000},
		{120, 0.95, 1.980},
		{1000, 0.95, 1.962},
		{1, 0.99, 63.657},
		{2, 0.99, 9.925},
		{9, 0.99, 3.250},
		{30, 0.99, 2.750},
		{1, 0.5, 1.000},
		{2, 0.5, 0.816},
		{10, 0.9, 1.812},
	} {
		if got := Student(c.degrees, c.share); math.Abs(got-c.t) > 0.0005001 {
			t.Errorf("%d degrees, %v: %.5f, and the table has %.3f", c.degrees, c.share, got, c.t)
		}
	}
}

// The mean of normal samples is in its interval as often as the interval claims.
func TestIntervalsHoldTheMean(t *testing.T) {
	const tries = 4000
	r := rand.New(rand.NewPCG(1, 17))
	for _, n := range []int{2, 3, 5, 10} {
		held := 0
		for range tries {
			sample := make([]float64, n)
			for i := range sample {
				sample[i] = 7 + 3*r.NormFloat64()
			}
			if e := Of(sample); math.Abs(e.Mean-7) <= e.Half {
				held++
			}
		}
		if share := float64(held) / tries; math.Abs(share-Confidence) > 0.015 {
			t.Errorf("of samples of %d, %.3f held the mean", n, share)
		}
	}
	if e := Of([]float64{4}); e != (Estimate{1, 4, 0}) {
		t.Errorf("of one: %+v", e)
	}
}

// A description of random samples is what its definitions say, counted out.
func TestDescribeAgainstDirectComputation(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 17))
	for range 500 {
		sample := make([]float64, 1+r.IntN(60))
		for i := range sample {
			sample[i] = math.Floor(r.ExpFloat64() * 20) // with ties
		}
		before := slices.Clone(sample)
		d := Describe(sample)
		if !slices.Equal(sample, before) {
			t.Fatal("the sample was changed")
		}
		n, sum, squares := float64(len(sample)), 0.0, 0.0
		for _, x := range sample {
			sum, squares = sum+x, squares+x*x
		}
		if d.Count != len(sample) || !near(d.Mean, sum/n) || d.Max != slices.Max(sample) {
			t.Errorf("%v: %+v", sample, d)
		}
		for q, got := range map[float64]float64{0.5: d.Median, 0.75: d.P75, 0.95: d.P95, 0.99: d.P99} {
			if want := quantile(sample, q); !near(got, want) {
				t.Errorf("quantile %v of %v is %v, want %v", q, sample, got, want)
			}
		}
		if want := sum * sum / n / squares; squares > 0 && !near(Jain(sample), want) {
			t.Errorf("Jain's index of %v is %v, want %v", sample, Jain(sample), want)
		}
		// The variance once more, from the pairs.
		pairs := 0.0
		for _, x := range sample {
			for _, y := range sample {
				pairs += (x - y) * (x - y)
			}
		}
		if want := math.Sqrt(pairs / 2 / n / max(n-1, 1)); !near(Deviation(sample), want) {
			t.Errorf("the deviation of %v is %v, want %v", sample, Deviation(sample), want)
		}
	}
}

// quantile walks along the line through all (i/(n-1), i-th value), found by counting.
func quantile(sample []float64, q float64) float64 {
	value := func(rank int) float64 { // the value that so many are below, at most
		for _, x := range sample {
			below, same := 0, 0
			for _, y := range sample {
				if y < x {
					below++
				} else if y == x {
					same++
				}
			}
			if below <= rank && rank < below+same {
				return x
			}
		}
		panic("no such rank")
	}
	for i := range len(sample) - 1 {
		from, to := float64(i)/float64(len(sample)-1), float64(i+1)/float64(len(sample)-1)
		if q >= from && q <= to {
			return value(i) + (value(i+1)-value(i))*(q-from)/(to-from)
		}
	}
	return value(len(sample) - 1)
}

func TestEdges(t *testing.T) {
	if d := Describe(nil); d != (Description{}) {
		t.Errorf("of none: %+v", d)
	}
	if Jain(nil) != 1 || Jain([]float64{0, 0}) != 1 || Jain([]float64{3, 3, 3}) != 1 || Jain([]float64{5, 0, 0, 0}) != 0.25 {
		t.Error("Jain's index is not 1 of what is alike and 1/n of what one has")
	}
	// NumPy 2 by default, and R's quantile(c(1, 2, 4, 8), …).
	if s := []float64{1, 2, 4, 8}; Quantile(s, 0) != 1 || Quantile(s, 0.5) != 3 || Quantile(s, 0.75) != 5 || Quantile(s, 1) != 8 {
		t.Error("quantiles between neighbours are not in proportion")
	}
}
