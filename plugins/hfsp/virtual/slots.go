package virtual

import "cmp"

// Sharer is one of those among whom slots are divided.
type Sharer struct {
	Cap    int     // slots that it can use at most
	Weight float64 // its part in comparison with others; as Spec.Weight
}

// Slots divides whole slots by max-min fairness: round by round, the smallest sharers
// first (section 3.3, "Resource Allocation"). Each slot goes to who is farthest below
// its share, which is who has the least (slots + ½) / weight; ties go to the smaller
// cap, then to who stands first. The slots that nobody can use are left over.
func Slots(total int, sharers []Sharer) []int {
	given := make([]int, len(sharers))
	for range total {
		best := -1
		for i, s := range sharers {
			if given[i] >= s.Cap {
				continue
			}
			if best < 0 || cmp.Or(
				cmp.Compare((float64(given[i])+0.5)/s.Weight, (float64(given[best])+0.5)/sharers[best].Weight),
				cmp.Compare(s.Cap, sharers[best].Cap),
			) < 0 {
				best = i
			}
		}
		if best < 0 {
			break
		}
		given[best]++
	}
	return given
}
