package workload

import (
	"math"
	"sort"
)

// splitmix is the generator of Steele, Lea and Flood: a pseudo-random number that depends on its
// key alone.
func splitmix(key uint64) uint64 {
	z := key + 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// unit converts a number to one from 0 to below 1.
func unit(h uint64) float64 { return float64(h>>11) / (1 << 53) }

// Rand is a stream of numbers that depends on its seed alone. Its numbers, and values computed from
// them here, are the same on all machines. Products are rounded before they are added, unless they
// are exact, as with powers of two. Logarithms and powers are our own, because those of package
// math differ by machine.
type Rand struct{ state uint64 }

// NewRand begins the stream of some keys, such as a seed and a purpose. Streams of different keys
// are independent.
func NewRand(keys ...uint64) *Rand {
	h := uint64(0x6861_6d61_6472_7961)
	for _, k := range keys {
		h = splitmix(h ^ k)
	}
	return &Rand{h}
}

// Uint64 draws a number.
func (r *Rand) Uint64() uint64 {
	h := splitmix(r.state)
	r.state += 0x9E3779B97F4A7C15
	return h
}

// Unit draws evenly from 0 to below 1.
func (r *Rand) Unit() float64 { return unit(r.Uint64()) }

// Below draws uniformly from 0 to below n, which is at least 1.
func (r *Rand) Below(n int) int {
	bound := uint64(n)
	for { // the remainder would favour small numbers
		if v := r.Uint64(); v < math.MaxUint64-math.MaxUint64%bound {
			return int(v % bound)
		}
	}
}

// Exponential draws with mean 1.
func (r *Rand) Exponential() float64 { return -logarithm(1 - r.Unit()) }

// Normal draws with mean 0 and deviation 1, by Marsaglia's polar method.
func (r *Rand) Normal() float64 {
	for {
		a, b := 2*r.Unit()-1, 2*r.Unit()-1
		s := float64(a*a) + float64(b*b)
		if s > 0 && s < 1 {
			return a * math.Sqrt(-2*logarithm(s)/s)
		}
	}
}

// LogNormal draws with median 1; sigma is the deviation of the logarithm.
func (r *Rand) LogNormal(sigma float64) float64 { return power(sigma * r.Normal()) }

// The logarithm of 2 in two parts: products of the first with small whole numbers are exact.
const (
	ln2High = 6.93147180369123816490e-01
	ln2Low  = 1.90821492927058770002e-10
)

// logarithm is the natural logarithm of a positive number.
func logarithm(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	t := (m - 1) / (m + 1)
	square, sum := float64(t*t), 0.0
	for k := 23; k >= 1; k -= 2 {
		sum = float64(sum*square) + 1/float64(k)
	}
	k := float64(e)
	return float64(k*ln2High) + (float64(2*t*sum) + float64(k*ln2Low))
}

// power is e to the x, with x limited to -700 to 700.
func power(x float64) float64 {
	x = min(max(x, -700), 700)
	k := math.Floor(float64(x/(ln2High+ln2Low)) + 0.5)
	r := (x - float64(k*ln2High)) - float64(k*ln2Low)
	sum := 1.0
	for n := 18.0; n >= 1; n-- {
		sum = 1 + float64(float64(r/n)*sum)
	}
	return math.Ldexp(sum, int(k))
}

// ParetoBelow draws from low to high, both above 0. A value x is exceeded in proportion to x to the
// -exponent, which is above 0: the continuous form of Zipf's law.
func (r *Rand) ParetoBelow(low, high, exponent float64) float64 {
	if high <= low {
		return low
	}
	rest := 1 - float64(r.Unit()*(1-Power(low/high, exponent)))
	return min(float64(low*Power(rest, -1/exponent)), high)
}

// Power is x to the y, for x above 0.
func Power(x, y float64) float64 { return power(y * logarithm(x)) }

// Odds are cumulative chances, in any unit.
type Odds []float64

// Draw draws an index, each as often as its chance says.
func (o Odds) Draw(r *Rand) int {
	u := r.Unit() * o[len(o)-1]
	return min(sort.Search(len(o), func(i int) bool { return o[i] > u }), len(o)-1)
}

// Zipf are the chances of so many numbers by Zipf's law: the k-th has 1/k to the skew of the first.
func Zipf(count int, skew float64) Odds {
	sum, o := 0.0, make(Odds, count)
	for i := range o {
		sum += Power(float64(i+1), -skew)
		o[i] = sum
	}
	return o
}
