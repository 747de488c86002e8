package workload

import (
	"math"
	"testing"
)

// The generator is that by which the published workloads were made.
func TestSplitmixIsThatOfTheWorkloads(t *testing.T) {
	for key, want := range map[uint64]uint64{0: 0xe220a8397b1dcdaf, 1: 0x910a2dec89025cc1} {
		if got := splitmix(key); got != want {
			t.Errorf("splitmix(%d) is %x, not %x", key, got, want)
		}
	}
	for workload, want := range map[uint64]float64{2009: 0.331494340808991, 2010: 0.356494721730591} {
		if got := unit(splitmix(facebookKey(workload, 0, 0))); math.Abs(got-want) > 1e-15 {
			t.Errorf("the first draw of %d is %.15f, not %.15f", workload, got, want)
		}
	}
}

// Our logarithm and power are those of package math, but for the last digits.
func TestLogarithmAndPower(t *testing.T) {
	r := NewRand(1)
	for range 100_000 {
		x := math.Ldexp(0.5+r.Unit(), r.Below(2000)-1000)
		if got, want := logarithm(x), math.Log(x); math.Abs(got-want) > 4e-15*math.Max(math.Abs(want), 0.1) {
			t.Fatalf("the logarithm of %v is %v, not %v", x, got, want)
		}
		y := 1400*r.Unit() - 700
		if got, want := power(y), math.Exp(y); math.Abs(got-want) > 1e-14*want {
			t.Fatalf("e to the %v is %v, not %v", y, got, want)
		}
	}
	if logarithm(1) != 0 || power(0) != 1 || power(1e9) != power(700) {
		t.Error("the logarithm of 1 is 0, e to the 0 is 1, and what is beyond is at the bound")
	}
}

// Draws have the means and deviations that they should, and the same bits on all machines.
func TestDraws(t *testing.T) {
	const n = 200_000
	for _, test := range []struct {
		name            string
		draw            func(*Rand) float64
		mean, deviation float64
		bits            uint64 // of the sum
	}{
		{"even", (*Rand).Unit, 0.5, math.Sqrt(1. / 12), 0x40f874316bf6ce9b},
		{"exponential", (*Rand).Exponential, 1, 1, 0x41087d77c25d12b3},
		{"normal", (*Rand).Normal, 0, 1, 0x4054c0829bfbe9b7},
		{"logarithm of log-normal", func(r *Rand) float64 { return logarithm(r.LogNormal(2)) }, 0, 2, 0x4064c0829bfbe987},
		{"below 7", func(r *Rand) float64 { return float64(r.Below(7)) }, 3, 2, 0x4122505400000000},
		{"pareto", func(r *Rand) float64 { return r.ParetoBelow(1, math.E, 1) }, math.E / (math.E - 1), math.Sqrt(math.E - math.E*math.E/(math.E-1)/(math.E-1)), 0x4113542aa25a6ec9},
	} {
		r := NewRand(7)
		sum, squares := 0.0, 0.0
		for range n {
			x := test.draw(r)
			sum += x
			squares += float64(x * x)
		}
		mean := sum / n
		deviation := math.Sqrt(squares/n - mean*mean)
		if math.Abs(mean-test.mean) > 5*test.deviation/math.Sqrt(n) || math.Abs(deviation-test.deviation) > 0.01*test.deviation {
			t.Errorf("%s: mean %v and deviation %v, not %v and %v", test.name, mean, deviation, test.mean, test.deviation)
		}
		if bits := math.Float64bits(sum); bits != test.bits {
			t.Errorf("%s: the sum has the bits %#x, not %#x", test.name, bits, test.bits)
		}
	}
}
