package report

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
)

// powered is a launcher of 100 to 300 W at 3.6 an hour, and one of 50 W and 30 W for each held slot.
func powered(t *testing.T) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Parse("c.yaml", []byte(`launchers:
- {name: a, count: 1, slots: {map: 2}, power: {idle: 100, full: 300}, price: 3.6}
- {name: b, count: 1, slots: {map: 1}, power: {idle: 50, slot: 30}}
`))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The first launcher is busy half of an hour, on the average with one and a half of its slots. The
// second is there half an hour, and idle.
func TestEnergyByHand(t *testing.T) {
	e := newEnergies(powered(t), []simulation.Use{
		{Up: time.Hour, Busy: 30 * time.Minute, Held: 45 * time.Minute},
		{Up: 30 * time.Minute},
	})
	want := map[Measure]float64{
		{"energy", KilowattHours, ofCluster}:                  0.2,
		{"energy in busy time", KilowattHours, ofCluster}:     0.125, // 100 W × 0.5 h + 100 W × 0.75 slot h
		{"energy in idle time", KilowattHours, ofCluster}:     0.075, // 100 W × 0.5 h + 50 W × 0.5 h
		{"cost", "", ofCluster}:                               3.6,
		{"cost of busy time", "", ofCluster}:                  1.8,
		{"cost of idle time", "", ofCluster}:                  1.8,
		{"energy", KilowattHours, "launchers a"}:              0.175,
		{"energy in busy time", KilowattHours, "launchers a"}: 0.125,
		{"energy in idle time", KilowattHours, "launchers a"}: 0.05,
		{"cost", "", "launchers a"}:                           3.6,
		{"energy in idle time", KilowattHours, "launchers b"}: 0.025,
		{"cost", "", "launchers b"}:                           0,
		{"energy in busy time", KilowattHours, "launchers b"}: 0,
		{"cost of idle time", "", "launchers b"}:              0,
		{"cost of busy time", "", "launchers b"}:              0,
		{"cost of busy time", "", "launchers a"}:              1.8,
		{"cost of idle time", "", "launchers a"}:              1.8,
		{"energy", KilowattHours, "launchers b"}:              0.025,
	}
	list := e.measures()
	for _, m := range list {
		if w, ok := want[m.Measure]; !ok || math.Abs(m.value-w) > 1e-12 {
			t.Errorf("%+v is %v, want %v", m.Measure, m.value, w)
		}
	}
	if len(list) != len(want) {
		t.Errorf("there are %d measures, want %d", len(list), len(want))
	}
}

// The sum of all launchers is the whole, and each draws its idle power at least and its full power
// at most. Without a power and a price nothing is said of either.
func TestEnergyOfRuns(t *testing.T) {
	for seed := range uint64(3) {
		w, c := random(seed)
		result, _ := play(t, w, c, 2, nil)
		if r := NewRun("hfsp", seed, w, c, result, nil); r.HasEnergy() {
			t.Error("launchers without a power have energy")
		}
		c.Groups[0].Power, c.Groups[0].Price = &cluster.Power{Idle: 80, Full: 200}, 2
		r := NewRun("hfsp", seed, w, c, result, nil)
		var sum Energy
		for _, l := range r.Summary.Energy.launchers {
			sum.add(l.Energy)
			if drawn, up := l.Busy+l.Idle, l.use.Up.Hours()/1000; drawn < 80*up-1e-12 || drawn > 200*up+1e-12 {
				t.Errorf("seed %d: %s drew %v kWh in %v", seed, l.name, drawn, l.use.Up)
			}
			if cost := l.BusyCost + l.IdleCost; math.Abs(cost-2*l.use.Up.Hours()) > 1e-9 {
				t.Errorf("seed %d: %s cost %v in %v", seed, l.name, cost, l.use.Up)
			}
		}
		all := r.Summary.Energy.All
		for _, d := range []float64{sum.Busy - all.Busy, sum.Idle - all.Idle, sum.BusyCost - all.BusyCost, sum.IdleCost - all.IdleCost} {
			if math.Abs(d) > 1e-9 {
				t.Errorf("seed %d: the launchers make %+v, and all are %+v", seed, sum, all)
			}
		}
		var table bytes.Buffer
		if err := r.EnergyCSV(&table); err != nil || strings.Count(table.String(), "\r\n") != 1+c.Launchers() {
			t.Errorf("error %v, table:\n%s", err, table.String())
		}
	}
}
