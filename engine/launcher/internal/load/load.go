// Package load measures how busy the machine is, with all that runs on it.
//
//	m := load.New(ctx)
//	measured := m.Now(time.Now())
package load

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/mem"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// spanMin is the least time over which the CPU's load is measured: the system counts in ticks of
// about 10 ms, so less is mostly noise. A call within that time returns the last measurement.
const spanMin = 200 * time.Millisecond

// Machine holds the last measured load of this machine. Safe for concurrent use.
type Machine struct {
	ctx context.Context // for gopsutil: may carry another path of the system's files

	mu     sync.Mutex
	since  time.Time // start of the current span; zero when there is no earlier reading
	before cpu.TimesStat
	cpu    *float64 // of the last span, 0 to 1; nil: not known
	memory *float64 // likewise, at the last reading
}

// New begins to measure.
func New(ctx context.Context) *Machine {
	m := &Machine{ctx: ctx}
	m.Now(time.Now())
	return m
}

// Now reads the CPU's load since the previous call, and the memory's load now. Figures that the
// system does not provide are left out.
func (m *Machine) Now(now time.Time) *wire.MachineLoad {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.since.IsZero() || now.Sub(m.since) >= spanMin {
		m.measure(now)
	}
	m.memory = nil
	if v, err := mem.VirtualMemoryWithContext(m.ctx); err == nil && v.Total > 0 {
		m.memory = part(1 - float64(v.Available)/float64(v.Total))
	}
	return &wire.MachineLoad{Cpu: m.cpu, Memory: m.memory}
}

func (m *Machine) measure(now time.Time) {
	list, err := cpu.TimesWithContext(m.ctx, false)
	if err != nil || len(list) == 0 {
		m.since, m.cpu = time.Time{}, nil
		return
	}
	m.cpu = nil
	if !m.since.IsZero() {
		m.cpu = busy(m.before, list[0])
	}
	m.since, m.before = now, list[0]
}

// busy returns the part of all processors' time between two readings that was not idle, or nil when
// no time passed. Waiting for a disk counts as idle, because it leaves the processor to others.
// Steal time counts as busy, because nobody here could use it. Guest time is part of user time
// already.
func busy(before, after cpu.TimesStat) *float64 {
	idle := func(t cpu.TimesStat) float64 { return t.Idle + t.Iowait }
	used := func(t cpu.TimesStat) float64 { return t.User + t.Nice + t.System + t.Irq + t.Softirq + t.Steal }
	worked := used(after) - used(before)
	total := worked + idle(after) - idle(before)
	if !(total > 0) {
		return nil
	}
	return part(worked / total)
}

// part clamps to 0 to 1: some counters run back a little now and then.
func part(x float64) *float64 {
	x = min(max(x, 0), 1)
	return &x
}

var desc = prometheus.NewDesc("hamadryad_launcher_machine_load",
	"How busy the machine is, 0 to 1, as the last heartbeat told: cpu, the part of all processors' time since the one before that was not idle; memory, the part that is not available.",
	[]string{"resource"}, nil)

// Describe implements prometheus.Collector.
func (m *Machine) Describe(c chan<- *prometheus.Desc) { c <- desc }

// Collect implements prometheus.Collector: it shows the last measurement.
func (m *Machine) Collect(c chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, part := range []struct {
		name  string
		value *float64
	}{{"cpu", m.cpu}, {"memory", m.memory}} {
		if part.value != nil {
			c <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, *part.value, part.name)
		}
	}
}
