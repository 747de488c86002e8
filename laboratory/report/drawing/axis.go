package drawing

import (
	"math"
	"strconv"
	"time"
)

// axis is what stands along a side.
type axis struct {
	title    string
	from, to float64
	log      bool
	ticks    []tick
}

type tick struct {
	at    float64
	label string
}

// part is where a value stands, from 0 to 1.
func (a *axis) part(v float64) float64 {
	from, to := a.from, a.to
	if a.log {
		v, from, to = math.Log10(max(v, a.from)), math.Log10(from), math.Log10(to)
	}
	if to <= from {
		return 0
	}
	return min(max((v-from)/(to-from), 0), 1)
}

// linear is an axis from 0 with at most so many ticks above it.
func linear(title string, to float64, most int) axis { return scaled(title, to, 1, most) }

// scaled is one whose labels count units.
func scaled(title string, to, unit float64, most int) axis {
	if !(to > 0) {
		to = unit
	}
	a := axis{title: title, to: to}
	every := step(to/unit, most)
	for i := 0; float64(i)*every <= to/unit*(1+1e-9); i++ {
		a.ticks = append(a.ticks, tick{float64(i) * every * unit, strconv.FormatFloat(float64(i)*every, 'g', 6, 64)})
	}
	return a
}

// step is 1, 2 or 5 times some power of ten, of which at most so many make up the whole.
func step(whole float64, most int) float64 {
	power := math.Pow(10, math.Floor(math.Log10(whole/float64(most))))
	for _, n := range []float64{1, 2, 5, 10} {
		if whole/(power*n) <= float64(most)*(1+1e-9) {
			return power * n
		}
	}
	return 20 * power
}

// times is an axis of times from 0, in seconds, minutes, hours or days.
func times(title string, to time.Duration) axis {
	for _, u := range []struct {
		name string
		unit time.Duration
		upTo time.Duration
	}{{"s", time.Second, 5 * time.Minute}, {"min", time.Minute, 5 * time.Hour}, {"h", time.Hour, 5 * 24 * time.Hour}} {
		if to <= u.upTo {
			return scaled(title+" ("+u.name+")", to.Seconds(), u.unit.Seconds(), 10)
		}
	}
	return scaled(title+" (days)", to.Seconds(), 24*3600, 10)
}

// logarithmic is an axis between powers of ten.
func logarithmic(title string, from, to float64) axis {
	low, high := math.Floor(math.Log10(from)), math.Ceil(math.Log10(max(from, to)))
	a := axis{title: title, from: math.Pow(10, low), to: math.Pow(10, max(high, low+1)), log: true}
	for e := low; e <= max(high, low+1); e++ {
		a.ticks = append(a.ticks, tick{math.Pow(10, e), strconv.FormatFloat(math.Pow(10, e), 'g', 6, 64)})
	}
	return a
}
