package charts

import (
	"math"
	"strconv"
)

// length says a time in seconds, to three digits.
func length(seconds float64) string {
	for _, u := range []struct {
		upTo, unit float64
		name       string
	}{{1e-6, 1e-9, " ns"}, {1e-3, 1e-6, " µs"}, {1, 1e-3, " ms"}, {120, 1, " s"}, {7200, 60, " min"}, {48 * 3600, 3600, " h"}} {
		if seconds < u.upTo {
			return digits(seconds/u.unit) + u.name
		}
	}
	return digits(seconds/(24*3600)) + " days"
}

// digits writes a number with three digits at least, and no exponent.
func digits(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// rounded writes a number to a hundredth.
func rounded(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) }
