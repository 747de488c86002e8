package job

import "fmt"

// Counters are the sums of a node's or a job's counters by name, for engines.
type Counters map[string]int64

// Add adds to a counter. If an int64 can't hold the sum, it returns an error and the counter stays
// as it is: an overflowed sum would look right.
func (c Counters) Add(name string, delta int64) error {
	sum, ok := AddInt64(c[name], delta)
	if !ok {
		return Permanent(fmt.Errorf("the counter %q is %d and can't hold %d more: a counter goes from -2^63 to 2^63-1; count in a larger unit",
			name, c[name], delta))
	}
	c[name] = sum
	return nil
}

// AddInt64 adds two numbers, and reports whether an int64 holds their sum.
func AddInt64(a, b int64) (sum int64, ok bool) {
	sum = a + b
	return sum, (sum > a) == (b > 0)
}
