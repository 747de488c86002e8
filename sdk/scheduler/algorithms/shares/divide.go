package shares

import "math"

// Sharer is one of the parties among whom slots are divided. Negative numbers and NaN count as 0.
type Sharer struct {
	Demand float64 // slots it could use now: running and waiting
	Min    float64 // slots it gets before others get more, as far as it can use them
	Max    float64 // slots it may have at most; 0: no limit
	Weight float64 // its part of what is left; 0: its minimum and no more
}

// ceiling is the most that the sharer can take.
func (c Sharer) ceiling() float64 {
	d := positive(c.Demand)
	if m := positive(c.Max); m > 0 {
		d = min(d, m)
	}
	return d
}

// floor is the sharer's share at ratio 0.
func (c Sharer) floor() float64 { return min(positive(c.Min), c.ceiling()) }

// at is the sharer's share at a ratio.
func (c Sharer) at(r float64) float64 {
	return min(c.ceiling(), max(float64(r*positive(c.Weight)), positive(c.Min)))
}

// positive returns x, or 0 if x is negative or NaN.
func positive(x float64) float64 {
	if x > 0 {
		return x
	}
	return 0
}

// precision is the number of halvings of the search. The document takes 25. With 64 the bracket is
// as narrow as float64 allows, for one more addition per sharer and step.
const precision = 64

// Divide returns the share of each sharer of total slots, in the order of the sharers. Rounding
// apart, the shares add up to total, or to all that the sharers can take if that is less. A sharer
// of weight 0 takes only its minimum. It takes linear time.
func Divide(total float64, sharers []Sharer) []float64 {
	return DivideInto(make([]float64, len(sharers)), total, sharers)
}

// DivideInto is Divide with the result in shares, which must be as long as sharers.
func DivideInto(shares []float64, total float64, sharers []Sharer) []float64 {
	total = positive(total)
	floors, most := 0.0, 0.0
	for _, c := range sharers {
		floors += c.floor()
		if c.Weight > 0 {
			most += c.ceiling()
		} else {
			most += c.floor()
		}
	}
	if floors > total {
		for i, c := range sharers {
			shares[i] = float64(c.floor() * (total / floors))
		}
		return shares
	}
	r := math.Inf(1)
	if most > total {
		r = ratio(total, sharers)
	}
	for i, c := range sharers {
		switch {
		case c.Weight > 0 && math.IsInf(r, 1):
			shares[i] = c.ceiling()
		case c.Weight > 0:
			shares[i] = c.at(r)
		default:
			shares[i] = c.floor()
		}
	}
	return shares
}

// ratio finds r with used(r) = total, which exists because used(0) ≤ total and
// more than total could be used.
func ratio(total float64, sharers []Sharer) float64 {
	high := 1.0
	for used(high, sharers) < total && !math.IsInf(high, 1) {
		high *= 2
	}
	low := 0.0
	for range precision {
		mid := low + (high-low)/2
		if used(mid, sharers) < total {
			low = mid
		} else {
			high = mid
		}
	}
	return exact(total, high, sharers)
}

func used(r float64, sharers []Sharer) float64 {
	sum := 0.0
	for _, c := range sharers {
		sum += c.at(r)
	}
	return sum
}

// exact solves for r, given which sharers are proportional at the ratio that the search found. So
// thirds add up, and a share of 16 is not 15.999.
func exact(total, r float64, sharers []Sharer) float64 {
	weights := 0.0
	for _, c := range sharers {
		part := float64(r * positive(c.Weight))
		if part >= positive(c.Min) && part <= c.ceiling() && part > 0 {
			weights += c.Weight
		} else {
			total -= c.at(r)
		}
	}
	if weights == 0 {
		return r
	}
	return total / weights
}
