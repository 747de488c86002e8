package simcluster

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/loop"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The example of textbooks: a flow over both of two links of 10 and 4, and one over each alone. The
// link of 4 gives 2 to each of its flows, and the other one's second flow gets the rest.
func TestRatesAreMaxMinFair(t *testing.T) {
	wide, narrow := &link{speed: 10}, &link{speed: 4}
	flows := []*flow{{links: []*link{wide, narrow}}, {links: []*link{wide}}, {links: []*link{narrow}}}
	for range 2 { // computing leaves nothing behind
		shareRates(flows)
		var rates []float64
		for _, f := range flows {
			rates = append(rates, f.rate)
		}
		if want := []float64{2, 8, 2}; !slices.Equal(rates, want) {
			t.Errorf("the rates are %v, not %v", rates, want)
		}
	}
}

// hosts are launchers on a network of 10 bytes a second for each host and 15 for each rack.
func hosts(l *loop.Loop) (*network, map[string]*Launcher) {
	c := &Cluster{Loop: l, Links: Links{Host: 10, Rack: 15}}
	all := map[string]*Launcher{}
	for name, rack := range map[string]string{"a": "r1", "b": "r1", "c": "r1", "x": "r2", "y": "r2"} {
		all[name] = c.Add(Machine{Name: name, Host: name, Rack: rack}, Hooks{})
	}
	return c.connect(), all
}

func TestTransfersByHand(t *testing.T) {
	type fetch struct {
		at    float64 // seconds
		to    string
		from  map[string]float64 // bytes
		ends  float64            // seconds; 0: at once
		until float64            // it is cancelled then; 0: never
	}
	for name, fetches := range map[string][]fetch{
		"alone":         {{to: "b", from: map[string]float64{"a": 50}, ends: 5}},
		"its own host":  {{to: "a", from: map[string]float64{"a": 50}}},
		"nothing":       {{to: "b", from: map[string]float64{"a": 0}}},
		"two sources":   {{to: "c", from: map[string]float64{"a": 20, "b": 40}, ends: 6}}, // 5 and 5 for 4 s, and then 10 for 20 bytes
		"its own in it": {{to: "c", from: map[string]float64{"a": 20, "c": 1000}, ends: 2}},
		// Both have 5 a second for 2 s; then the second has 10 for its other 20 bytes.
		"a shared source": {{to: "b", from: map[string]float64{"a": 10}, ends: 2}, {to: "c", from: map[string]float64{"a": 30}, ends: 4}},
		// The first has 10 a second for 1 s, both 5 for 4 s, and the second 10 for 1 s.
		"one comes later": {{to: "b", from: map[string]float64{"a": 30}, ends: 5}, {at: 1, to: "c", from: map[string]float64{"a": 30}, ends: 6}},
		// Two flows leave the rack, at 7.5 a second each.
		"racks": {{to: "x", from: map[string]float64{"a": 75}, ends: 10}, {to: "y", from: map[string]float64{"b": 75}, ends: 10}},
		// Within the rack 10 a second do not touch the rack's link.
		"in the rack": {{to: "x", from: map[string]float64{"a": 100}, ends: 10}, {to: "c", from: map[string]float64{"b": 100}, ends: 10}},
		// The first is cancelled after 2 s of 5 a second; the second has 10 for its other 20 bytes.
		"cancelled": {{to: "b", from: map[string]float64{"a": 90}, ends: -1, until: 2}, {to: "c", from: map[string]float64{"a": 30}, ends: 4}},
	} {
		l := &loop.Loop{}
		n, all := hosts(l)
		ends := make([]float64, len(fetches))
		for i, f := range fetches {
			reader := &Attempt{On: all[f.to]}
			l.At(scheduler.Time(f.at*1e9), func() {
				var list []transfer
				for _, from := range []string{"a", "b", "c"} {
					if bytes, ok := f.from[from]; ok {
						list = append(list, transfer{all[from], all[f.to], bytes})
					}
				}
				ends[i] = -1
				if !n.fetch(reader, list, func() { ends[i] = float64(l.Now()) / 1e9 }) {
					ends[i] = float64(l.Now()) / 1e9
				}
			})
			if f.until > 0 {
				l.At(scheduler.Time(f.until*1e9), func() { n.cancel(reader) })
			}
		}
		for l.Next() { //nolint:revive // each event has its effect
		}
		for i, f := range fetches {
			if math.Abs(ends[i]-f.ends) > 1e-6 {
				t.Errorf("%s: transfer %d ends after %v s, not %v", name, i, ends[i], f.ends)
			}
		}
		if len(n.flows)+len(n.open) > 0 {
			t.Errorf("%s: %d flows of %d readers are left", name, len(n.flows), len(n.open))
		}
	}
}

// No link carries more than its speed, and each flow has a link that is full, on which no flow is
// faster: that is max-min fairness.
func TestRandomRatesAreMaxMinFair(t *testing.T) {
	state := uint64(7)
	below := func(n int) int {
		state = state*6364136223846793005 + 1442695040888963407
		return int(state>>33) % n
	}
	for round := range 200 {
		links := make([]*link, 1+below(8))
		for i := range links {
			links[i] = &link{speed: float64(1 + below(100))}
		}
		flows := make([]*flow, 1+below(30))
		for i := range flows {
			flows[i] = &flow{links: []*link{links[below(len(links))]}}
			if k := links[below(len(links))]; k != flows[i].links[0] {
				flows[i].links = append(flows[i].links, k)
			}
		}
		shareRates(flows)
		sum, fastest := map[*link]float64{}, map[*link]float64{}
		for _, f := range flows {
			for _, l := range f.links {
				sum[l] += f.rate
				fastest[l] = max(fastest[l], f.rate)
			}
		}
		for i, f := range flows {
			fair := false
			for _, l := range f.links {
				fair = fair || sum[l] > l.speed*(1-1e-6) && f.rate > fastest[l]*(1-1e-6)
				if sum[l] > l.speed*(1+1e-6) {
					t.Fatalf("round %d: a link of %v carries %v", round, l.speed, sum[l])
				}
			}
			if !fair {
				t.Fatalf("round %d: flow %d could be faster than %v", round, i, f.rate)
			}
		}
	}
}

// A suspended reader fetches on, and works when it is resumed.
func TestSuspendedReaderFetches(t *testing.T) {
	l := &loop.Loop{}
	n, all := hosts(l)
	worked := time.Duration(-1)
	a := &Attempt{On: all["b"]}
	a.clock = clock{now: l.Now, after: a.after}
	n.fetch(a, []transfer{{all["a"], all["b"], 50}}, func() { a.Later(0, func() { worked = time.Duration(l.Now()) }) })
	l.At(scheduler.Time(time.Second), func() {
		a.clock.stop()
		a.clock.change(suspends, suspended, 0, func() {})
	})
	l.Pass(scheduler.Time(20 * time.Second))
	if worked >= 0 {
		t.Fatalf("it worked after %v, while it was suspended", worked)
	}
	a.clock.change(resumes, awake, 0, a.clock.goOn)
	for l.Next() { //nolint:revive // each event has its effect
	}
	if worked != 20*time.Second {
		t.Errorf("it works after %v, not after 20 s", worked)
	}
}
