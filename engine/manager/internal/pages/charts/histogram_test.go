package charts

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/internal/histogram"
)

// measured is the distribution of running times, as the interface has it.
func measured(stage string, times []time.Duration) restapi.Distribution {
	d := restapi.Distribution{Stage: stage}
	if len(times) == 0 {
		return d
	}
	var h histogram.Histogram
	for _, t := range times {
		h.Add(t)
	}
	for b, n := range h.All() {
		d.Histogram = append(d.Histogram, restapi.Bucket{From: float32(histogram.Low(b).Seconds()), To: float32(histogram.Low(b + 1).Seconds()), Count: int(n)})
	}
	at := func(percent int) float32 { return float32(h.Quantile(percent).Seconds()) }
	d.Running = restapi.Quantiles{Count: h.Len(), Min: float32(slices.Min(times).Seconds()), P50: at(50), P90: at(90), P99: at(99), Max: float32(slices.Max(times).Seconds())}
	return d
}

// Bars hold all attempts, stand side by side at most, and are as high as they hold; lines are where the quantiles are.
func TestAHistogramHoldsAllAttempts(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 7))
	for range 60 {
		times, scale := []time.Duration(nil), 1+r.Float64()*8
		for range 1 + r.IntN(2000) {
			times = append(times, 20+time.Duration(float64(time.Second)*math.Exp(r.NormFloat64()*scale)))
		}
		d := measured("map", times)
		drawn := Histogram(d)
		if drawn != Histogram(d) {
			t.Fatal("the same distribution is drawn in two ways")
		}
		list := parse(t, drawn)
		h := histogramOf(d)
		all, most, end := 0, 0, 0
		bars := of(list, "draw-bar")
		for _, e := range bars {
			var n int
			if _, err := fmt.Sscanf(e.Title, "%d attempt", &n); err != nil {
				t.Fatal(err)
			}
			all, most = all+n, max(most, n)
			if x := e.Integer(t, "x"); x < end-1 { // a bar narrower than a pixel is drawn one pixel wide
				t.Fatalf("a bar at %d begins before %d", x, end)
			}
			end = e.Integer(t, "x") + e.Integer(t, "width")
		}
		if all != len(times) || len(bars) > barsMax {
			t.Fatalf("%d bars have %d attempts, want %d", len(bars), all, len(times))
		}
		for _, e := range bars {
			var n int
			_, _ = fmt.Sscanf(e.Title, "%d", &n)
			if want := plotHeight * n / most; abs(e.Integer(t, "height")-want) > 1 {
				t.Fatalf("%d of %d attempts are %d high, want %d", n, most, e.Integer(t, "height"), want)
			}
		}
		for i, q := range []float32{d.Running.P50, d.Running.P90, d.Running.P99} {
			e := of(list, "draw-quantile")[i]
			if want := fmt.Sprintf("M%d ", h.px(float64(q))); !strings.HasPrefix(e.Attr["d"], want) {
				t.Errorf("the line of %v is at %s, want %s", q, e.Attr["d"], want)
			}
		}
	}
}

// A bucket stays whole, and those that are joined are neighbours.
func TestBarsJoinNeighbours(t *testing.T) {
	var buckets []restapi.Bucket
	for b := range 40 * 16 {
		low, high := histogram.Low(b+16*10), histogram.Low(b+16*10+1)
		buckets = append(buckets, restapi.Bucket{From: float32(low.Seconds()), To: float32(high.Seconds()), Count: 1})
	}
	list := bars(buckets)
	if len(list) > barsMax || len(list) < barsMax/2 {
		t.Fatalf("there are %d bars", len(list))
	}
	for i, b := range list {
		if b.count != 16 || i > 0 && b.from != list[i-1].to || math.Abs(b.to/b.from-2) > 1e-6 {
			t.Errorf("bar %d is %+v", i, b)
		}
	}
	if few := bars(buckets[:32]); len(few) != 32 {
		t.Errorf("32 buckets are %d bars", len(few))
	}
}

func TestAHistogramInWords(t *testing.T) {
	d := restapi.Distribution{
		Stage:     "map",
		Histogram: []restapi.Bucket{{From: 1, To: 1.0625, Count: 1}, {From: 2, To: 2.125, Count: 6}, {From: 128, To: 136, Count: 3}},
		Running:   restapi.Quantiles{Count: 10, Min: 1.03, P50: 2, P90: 128, P99: 130, Max: 135},
	}
	list := parse(t, Histogram(d))
	want := "Running times in stage map, of 10 attempts that finished: 1.03 s to 2.25 min. 50 % ran for at most 2 s. 90 % ran for at most 2.13 min. 99 % ran for at most 2.17 min. " +
		"The highest bar: 6 attempts ran for 2 s to 2.12 s."
	if got := label(t, list); got != want {
		t.Errorf("it says\n%s, want\n%s", got, want)
	}
	var texts []string
	for _, e := range list {
		if e.Name == "text" {
			texts = append(texts, e.Text)
		}
	}
	if want := []string{"0", "2", "4", "6", "1 s", "10 s", "100 s", "16.7 min", "running time; height: attempts", "p50 2 s", "p90 2.13 min", "p99 2.17 min"}; !slices.Equal(texts, want) {
		t.Errorf("it has %q, want %q", texts, want)
	}
}

func TestOddHistograms(t *testing.T) {
	holds(t, label(t, parse(t, Histogram(restapi.Distribution{}))), "(no name): no attempt has finished.")
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, n := range hostile {
		d := restapi.Distribution{Stage: n, Histogram: []restapi.Bucket{{From: nan, To: inf, Count: 3}, {From: -1, To: 0, Count: 1}, {From: 5, To: 1, Count: 2}, {From: 1, To: 2, Count: -7}}}
		d.Running = restapi.Quantiles{P50: nan, P90: inf, P99: -1}
		holds(t, label(t, parse(t, Histogram(d))), " of 6 attempts that finished")
	}
	holds(t, label(t, parse(t, Histogram(measured(hostile[0], []time.Duration{time.Second})))), "Running times in stage "+hostile[0]+", of 1 attempt")
}

func TestLengths(t *testing.T) {
	for s, want := range map[float64]string{0: "0 ns", 1e-9: "1 ns", 12.34e-6: "12.3 µs", 0.35: "350 ms", 1: "1 s", 59.96: "60 s", 100: "100 s", 300: "5 min", 3 * 3600: "3 h", 10 * 24 * 3600: "10 days", 1e12: "11574074 days"} {
		if got := length(s); got != want {
			t.Errorf("%v s are said as %q, want %q", s, got, want)
		}
	}
}
