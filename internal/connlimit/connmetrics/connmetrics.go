// Package connmetrics shows the tables of package connlimit as metrics. It is separate, because
// applications link connlimit into their workers and need no Prometheus client.
package connmetrics

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Figures returns how full a table is, and its counters since it began: connlimit.Table.Figures.
type Figures func() (waiting, waitingMax, open, openMax int, closed, refused uint64)

// NewCollector shows tables, by the names of their ports, as metrics that begin with a prefix.
func NewCollector(prefix string, tables map[string]Figures) prometheus.Collector {
	describe := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(prefix+"_connections_"+name, help, []string{"port"}, nil)
	}
	return collector{
		tables,
		describe("waiting", "Connections that have not proved who opened them, or have no request under way, by port."),
		describe("max_waiting", "Bound of connections_waiting: beyond it the one that waited longest is closed."),
		describe("open", "Connections that are proved (gRPC), or requests under way (HTTP), by port."),
		describe("max_open", "Bound of connections_open: what comes beyond it is refused."),
		describe("closed_total", "Waiting connections that were closed since their address, or all, had too many, by port."),
		describe("refused_total", "Connections and requests refused since their principal, address, or all, had too many, by port."),
	}
}

type collector struct {
	tables                                              map[string]Figures
	waiting, waitingMax, open, openMax, closed, refused *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.waiting, c.waitingMax, c.open, c.openMax, c.closed, c.refused} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	for _, port := range slices.Sorted(maps.Keys(c.tables)) {
		waiting, waitingMax, open, openMax, closed, refused := c.tables[port]()
		for d, value := range map[*prometheus.Desc]int{c.waiting: waiting, c.waitingMax: waitingMax, c.open: open, c.openMax: openMax} {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), port)
		}
		to <- prometheus.MustNewConstMetric(c.closed, prometheus.CounterValue, float64(closed), port)
		to <- prometheus.MustNewConstMetric(c.refused, prometheus.CounterValue, float64(refused), port)
	}
}
