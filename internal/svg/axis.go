package svg

import (
	"math"
	"strconv"
	"time"
)

// Axis is an axis of a drawing: its title, range and ticks.
type Axis struct {
	Title    string
	From, To float64
	Log      bool
	Ticks    []Tick
}

// Tick is a round value of an axis.
type Tick struct {
	At    float64
	Label string
}

// Part is the position of a value, from 0 to 1.
func (a *Axis) Part(v float64) float64 {
	from, to := a.From, a.To
	if a.Log {
		v, from, to = math.Log10(max(v, a.From)), math.Log10(from), math.Log10(to)
	}
	if to <= from {
		return 0
	}
	return min(max((v-from)/(to-from), 0), 1)
}

// Linear is an axis from 0 with at most most ticks above it.
func Linear(title string, to float64, most int) Axis { return scaled(title, to, 1, most) }

// scaled returns an axis whose labels count units.
func scaled(title string, to, unit float64, most int) Axis {
	if !(to > 0) {
		to = unit
	}
	a := Axis{Title: title, To: to}
	every := step(to/unit, most)
	for i := 0; float64(i)*every <= to/unit*(1+1e-9); i++ {
		a.Ticks = append(a.Ticks, Tick{float64(i) * every * unit, strconv.FormatFloat(float64(i)*every, 'g', 6, 64)})
	}
	return a
}

// step is 1, 2 or 5 times a power of ten, so that at most most steps make up the whole.
func step(whole float64, most int) float64 {
	power := math.Pow(10, math.Floor(math.Log10(whole/float64(most))))
	for _, n := range []float64{1, 2, 5, 10} {
		if whole/(power*n) <= float64(most)*(1+1e-9) {
			return power * n
		}
	}
	return 20 * power
}

// Times is an axis of times from 0, in seconds, minutes, hours or days.
func Times(title string, to time.Duration) Axis {
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

// Logarithmic is an axis between powers of ten.
func Logarithmic(title string, from, to float64) Axis {
	low, high := math.Floor(math.Log10(from)), math.Ceil(math.Log10(max(from, to)))
	a := Axis{Title: title, From: math.Pow(10, low), To: math.Pow(10, max(high, low+1)), Log: true}
	for e := low; e <= max(high, low+1); e++ {
		a.Ticks = append(a.Ticks, Tick{math.Pow(10, e), strconv.FormatFloat(math.Pow(10, e), 'g', 6, 64)})
	}
	return a
}
