package policyhost

import (
	"cmp"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metricsMax bounds the pools that have metrics, one for each kind of slots: those with the most
// demand. Each has six series. A sum of the others would mean nothing: a pool's numbers include
// those of the pools in it.
const metricsMax = 1000

func described(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("hamadryad_pool_"+name, help, []string{"pool", "kind"}, nil)
}

// figures are the metrics of a pool.
var figures = []struct {
	desc *prometheus.Desc
	of   func(p *Pool, at time.Time) float64
}{
	{described("slots_held", "Slots that a pool holds, as the policy told last; nothing is told when that is over a minute old. Of at most 1000 pools, those with most demand."), func(p *Pool, _ time.Time) float64 { return float64(p.Running) }},
	{described("slots_demand", "Slots that a pool holds or wants; as of hamadryad_pool_slots_held."), func(p *Pool, _ time.Time) float64 { return float64(p.Demand) }},
	{described("slots_share", "Slots that are a pool's fair share now; as of hamadryad_pool_slots_held."), func(p *Pool, _ time.Time) float64 { return p.FairShare }},
	{described("slots_minimum", "Slots that a pool is to have at least while it wants them; as of hamadryad_pool_slots_held."), func(p *Pool, _ time.Time) float64 { return float64(p.MinShare) }},
	{described("below_minimum_seconds", "For how long a pool has had less than its minimum share and wanted more; 0 while it has it. As of hamadryad_pool_slots_held."), func(p *Pool, at time.Time) float64 { return lasts(p.BelowMinimum, at) }},
	{described("below_share_seconds", "For how long a pool has lacked a slot at least of its fair share and wanted it; 0 while it has it. As of hamadryad_pool_slots_held."), func(p *Pool, at time.Time) float64 { return lasts(p.BelowShare, at) }},
}

// lasts is for how many seconds a condition has lasted; 0: it does not apply.
func lasts(since, at time.Time) float64 {
	if since.IsZero() {
		return 0
	}
	return at.Sub(since).Seconds()
}

// PoolCollector shows the last view as metrics. Safe for concurrent use.
type PoolCollector struct {
	Cache *PoolCache
	Now   func() time.Time
}

// Describe implements prometheus.Collector.
func (c PoolCollector) Describe(out chan<- *prometheus.Desc) {
	for _, f := range figures {
		out <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (c PoolCollector) Collect(out chan<- prometheus.Metric) {
	v := c.Cache.View()
	if c.Now().Sub(v.At) > StaleAfter {
		return
	}
	for _, p := range mostDemand(v.Pools, metricsMax) {
		for _, f := range figures {
			out <- prometheus.MustNewConstMetric(f.desc, prometheus.GaugeValue, f.of(p, v.At), p.Name, p.Kind)
		}
	}
}

// mostDemand are the most pools with the most demand. A policy may report several pools of one name
// and kind; the first counts, because a series must be unique.
func mostDemand(all []Pool, most int) []*Pool {
	seen := map[[2]string]bool{}
	var list []*Pool
	for i := range all {
		p := &all[i]
		if key := [2]string{p.Name, p.Kind}; !seen[key] && p.Name != "" {
			seen[key] = true
			list = append(list, p)
		}
	}
	slices.SortStableFunc(list, func(a, b *Pool) int { return cmp.Compare(b.Demand, a.Demand) })
	return list[:min(len(list), most)]
}
