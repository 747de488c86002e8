package policyhost

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The policy's last status is shown, and for how long pools have been short; old data is not.
func TestMetrics(t *testing.T) {
	start := time.Unix(1000, 0)
	b := &PoolCache{}
	told := scheduler.Status{Pools: []scheduler.PoolStatus{
		{Name: "idle", Kind: "map", FairShare: 2},
		{Name: "short", Kind: "map", FairShare: 4, MinShare: 3, Demand: 9, Running: 1},
		{Name: "idle", Kind: "map", FairShare: 9}, // reported twice
		{Name: "short", Kind: "reduce", FairShare: 1, Demand: 1, Running: 1},
	}}
	b.UpdateStatus("fair", 1, start, told)
	now := start.Add(30 * time.Second)
	b.UpdateStatus("fair", 1, now, told)
	c := PoolCollector{Cache: b, Now: func() time.Time { return now }}
	want := `# HELP hamadryad_pool_below_minimum_seconds For how long a pool has had less than its minimum share and wanted more; 0 while it has it. As of hamadryad_pool_slots_held.
# TYPE hamadryad_pool_below_minimum_seconds gauge
hamadryad_pool_below_minimum_seconds{kind="map",pool="idle"} 0
hamadryad_pool_below_minimum_seconds{kind="map",pool="short"} 30
hamadryad_pool_below_minimum_seconds{kind="reduce",pool="short"} 0
`
	if err := testutil.CollectAndCompare(c, strings.NewReader(want), "hamadryad_pool_below_minimum_seconds"); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]float64{"slots_held": 2, "slots_demand": 10, "slots_share": 7, "slots_minimum": 3, "below_share_seconds": 30} {
		if got := sum(t, c, "hamadryad_pool_"+name); got != want {
			t.Errorf("%s of all is %v, want %v", name, got, want)
		}
	}
	now = now.Add(StaleAfter + time.Second)
	if n := testutil.CollectAndCount(c); n != 0 {
		t.Errorf("what the policy told long ago has %d series", n)
	}
}

// sum adds up the series of a metric.
func sum(t *testing.T, c prometheus.Collector, name string) (all float64) {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(c)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.Metric {
				all += m.GetGauge().GetValue()
			}
		}
	}
	return all
}

// Of many pools those with the most demand have metrics.
func TestMetricsAreBounded(t *testing.T) {
	b, told := &PoolCache{}, scheduler.Status{}
	for i := range metricsMax + 10 {
		told.Pools = append(told.Pools, scheduler.PoolStatus{Name: fmt.Sprintf("pool-%d", i), Kind: "default", Demand: i})
	}
	now := time.Unix(1000, 0)
	b.UpdateStatus("fair", 1, now, told)
	c := PoolCollector{Cache: b, Now: func() time.Time { return now }}
	if n := testutil.CollectAndCount(c); n != metricsMax*len(figures) {
		t.Errorf("there are %d series", n)
	}
	most := metricsMax + 9
	if got, want := sum(t, c, "hamadryad_pool_slots_demand"), float64(most*(most+1)/2-9*10/2); got != want {
		t.Errorf("the demand of those shown is %v, want %v", got, want)
	}
}
