package policyhost

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hamadryad/hamadryad/engine/wire"
)

func ofShadow(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("hamadryad_shadow_"+name, help, []string{"policy"}, nil)
}

// shadowFigures are the metrics of a shadow.
var shadowFigures = []struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(x *wire.PolicyShadow) float64
}{
	{ofShadow("following", "1 while a shadow decides on the current rounds, else 0."), prometheus.GaugeValue, func(x *wire.PolicyShadow) float64 {
		if x.State == ShadowFollowing {
			return 1
		}
		return 0
	}},
	{ofShadow("restarts_total", "Starts of a shadow from a new snapshot, after the first."), prometheus.CounterValue, func(x *wire.PolicyShadow) float64 { return float64(x.Restarts) }},
	{ofShadow("rounds_total", "Rounds that a shadow answered."), prometheus.CounterValue, func(x *wire.PolicyShadow) float64 { return float64(x.Rounds) }},
	{ofShadow("rounds_joined_total", "Rounds that came to a shadow as one with a later round, and are not compared."), prometheus.CounterValue, func(x *wire.PolicyShadow) float64 { return float64(x.RoundsJoined) }},
	{ofShadow("rounds_dropped_total", "Rounds that a shadow did not get, since it was behind or did not run."), prometheus.CounterValue, func(x *wire.PolicyShadow) float64 { return float64(x.RoundsDropped) }},
	{ofShadow("launches", "Launches of the policy in force, in rounds that the shadow decided on, too."), prometheus.GaugeValue, func(x *wire.PolicyShadow) float64 { return float64(x.Launches) }},
	{ofShadow("launches_same", "Of hamadryad_shadow_launches, those that the shadow decided too."), prometheus.GaugeValue, func(x *wire.PolicyShadow) float64 { return float64(x.Same) }},
	{ofShadow("launches_only", "Launches that the shadow alone decided."), prometheus.GaugeValue, func(x *wire.PolicyShadow) float64 { return float64(x.Only) }},
	{ofShadow("victims", "Attempts that the policy in force preempted in these rounds."), prometheus.GaugeValue, func(x *wire.PolicyShadow) float64 { return float64(x.Victims) }},
	{ofShadow("victims_same", "Of hamadryad_shadow_victims, those that the shadow decided to preempt too."), prometheus.GaugeValue, func(x *wire.PolicyShadow) float64 { return float64(x.VictimsSame) }},
	{ofShadow("victims_only", "Attempts that the shadow alone decided to preempt."), prometheus.GaugeValue, func(x *wire.PolicyShadow) float64 { return float64(x.VictimsOnly) }},
	{ofShadow("memory_bytes", "Memory of a shadow's processes."), prometheus.GaugeValue, func(x *wire.PolicyShadow) float64 { return float64(x.Memory) }},
}

// ShadowCollector shows the shadows as metrics. Safe for concurrent use.
type ShadowCollector struct{ Supervisor *Supervisor }

// Describe implements prometheus.Collector.
func (c ShadowCollector) Describe(out chan<- *prometheus.Desc) {
	for _, f := range shadowFigures {
		out <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (c ShadowCollector) Collect(out chan<- prometheus.Metric) {
	for _, x := range c.Supervisor.shadows.replies() {
		for _, f := range shadowFigures {
			out <- prometheus.MustNewConstMetric(f.desc, f.kind, f.of(x), x.Name)
		}
	}
}
