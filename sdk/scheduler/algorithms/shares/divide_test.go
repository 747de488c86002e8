package shares

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

func ExampleDivide() {
	fmt.Println(Divide(60, []Sharer{{Weight: 1, Demand: 100}, {Weight: 2, Demand: 100}}))
	fmt.Println(Divide(60, []Sharer{{Weight: 1, Demand: 100}, {Weight: 2, Demand: 30}}))
	fmt.Println(Divide(10, []Sharer{{Weight: 1, Demand: 100, Min: 15}, {Weight: 9, Demand: 100, Min: 5}}))
	// Output:
	// [20 40]
	// [30 30]
	// [7.5 2.5]
}

// TestVectors runs the original systems' cases; none is left out.
func TestVectors(t *testing.T) {
	var file struct {
		Vectors []struct {
			ID, Variant  string
			TotalSlots   float64
			Tolerance    float64
			Schedulables []struct{ Demand, MinShare, Weight, MaxShare float64 }
			Expected     []float64
		}
	}
	data, err := os.ReadFile("testdata/fair-shares.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	for _, v := range file.Vectors {
		t.Run(v.ID, func(t *testing.T) {
			var sharers []Sharer
			for _, s := range v.Schedulables {
				sharers = append(sharers, Sharer{Demand: s.Demand, Min: s.MinShare, Max: s.MaxShare, Weight: s.Weight})
			}
			got := Divide(v.TotalSlots, sharers)
			for i, want := range v.Expected {
				if v.Variant == "yarn-int" {
					got[i] = math.Trunc(got[i])
				}
				if math.Abs(got[i]-want) > v.Tolerance {
					t.Errorf("shares %v, want %v", got, v.Expected)
				}
			}
		})
	}
}

// random draws sharers: whole demands and minimums, some without weight, minimum,
// maximum or demand.
func random(rng *rand.Rand) (float64, []Sharer) {
	sharers := make([]Sharer, 1+rng.IntN(12))
	for i := range sharers {
		c := Sharer{Demand: float64(rng.IntN(60)), Weight: float64(1+rng.IntN(40)) / 10}
		if rng.IntN(3) == 0 {
			c.Min = float64(rng.IntN(15))
		}
		if rng.IntN(4) == 0 {
			c.Max = float64(1 + rng.IntN(30))
		}
		sharers[i] = c
	}
	return float64(rng.IntN(200)), sharers
}

// TestDivideKeepsItsPromises: ten thousand clusters.
func TestDivideKeepsItsPromises(t *testing.T) {
	for seed := range uint64(10_000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		total, sharers := random(rng)
		shares := Divide(total, sharers)
		sum, most, floors := 0.0, 0.0, 0.0
		for i, c := range sharers {
			sum += shares[i]
			most += c.ceiling()
			floors += c.floor()
			if shares[i] > c.ceiling()+1e-9 {
				t.Fatalf("seed %d: share %v of %+v is above what it can take", seed, shares[i], c)
			}
		}
		if math.Abs(sum-min(total, most)) > 1e-6 {
			t.Fatalf("seed %d: shares %v of %v add up to %v, want %v", seed, shares, sharers, sum, min(total, most))
		}
		for i, c := range sharers {
			if floors <= total && shares[i] < c.floor()-1e-9 {
				t.Fatalf("seed %d: share %v of %+v is below its minimum", seed, shares[i], c)
			}
		}
		i := rng.IntN(len(sharers))
		before := shares[i]
		sharers[i].Weight *= 2
		if after := Divide(total, sharers)[i]; after < before-1e-9 {
			t.Fatalf("seed %d: twice the weight made share %d of %v smaller: %v, then %v", seed, i, sharers, before, after)
		}
	}
}

// TestDivideAgainstServingOneByOne holds shares against what the serving order
// gives when it fills an empty cluster slot by slot: they differ by less than a
// slot each where weights are equal, and by rounding in general.
func TestDivideAgainstServingOneByOne(t *testing.T) {
	for seed := range uint64(2_000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		total, sharers := random(rng)
		floors := 0.0
		for i := range sharers {
			sharers[i].Weight = 1
			floors += sharers[i].floor()
		}
		if floors > total {
			continue
		}
		given := serve(int(total), sharers)
		for i, s := range Divide(total, sharers) {
			if math.Abs(s-given[i]) >= 1+1e-9 {
				t.Fatalf("seed %d: sharer %d of %v over %v slots has share %v, and %v when served one by one", seed, i, sharers, total, s, given[i])
			}
		}
	}
}

func serve(total int, sharers []Sharer) []float64 {
	given := make([]float64, len(sharers))
	for range total {
		best, at := Rank{}, -1
		for i, c := range sharers {
			s := Rank{Running: given[i], Demand: c.ceiling(), Min: c.Min, Weight: c.Weight, Start: int64(i)}
			if given[i]+1 <= c.ceiling() && (at < 0 || CompareFair(s, best) < 0) {
				best, at = s, i
			}
		}
		if at < 0 {
			break
		}
		given[at]++
	}
	return given
}

func TestDivideTakesAnything(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		total   float64
		sharers []Sharer
		want    []float64
	}{
		{10, nil, []float64{}},
		{-3, []Sharer{{Demand: 5, Weight: 1}}, []float64{0}},
		{nan, []Sharer{{Demand: 5, Weight: 1}}, []float64{0}},
		{10, []Sharer{{Demand: 5, Weight: nan}, {Demand: 5, Weight: -1, Min: 2}, {Demand: nan, Weight: 1}}, []float64{0, 2, 0}},
		{10, []Sharer{{Demand: math.Inf(1), Weight: 1}, {Demand: math.Inf(1), Weight: 1e-300}}, []float64{10, 0}},
	} {
		got := Divide(c.total, c.sharers)
		for i := range c.want {
			if math.Abs(got[i]-c.want[i]) > 1e-9 {
				t.Errorf("Divide(%v, %+v) = %v, want %v", c.total, c.sharers, got, c.want)
			}
		}
	}
}

func BenchmarkDivide(b *testing.B) {
	sharers := make([]Sharer, 1000)
	for i := range sharers {
		sharers[i] = Sharer{Demand: float64(i), Weight: 1 + float64(i%7), Min: float64(i % 5)}
	}
	shares := make([]float64, len(sharers))
	for b.Loop() {
		DivideInto(shares, 50_000, sharers)
	}
}
