package launcher

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// metrics are what /metrics shows. No label holds an id.
type metrics struct {
	registry  *prometheus.Registry
	outcomes  *prometheus.CounterVec
	channels  *prometheus.CounterVec
	starts    prometheus.Counter
	stale     prometheus.Counter
	logUnkept prometheus.Counter
}

// channelNames are the kinds of channel in the order of Work.channel_bytes.
var channelNames = []string{"file", "tcp", "shm"}

func newMetrics(a *agent) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hamadryad_launcher_attempts_total", Help: "Attempts that ended here, by outcome.",
		}, []string{"outcome"}),
		channels: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hamadryad_launcher_channel_bytes_total", Help: "Bytes of records that attempts wrote into channels, by kind of channel.",
		}, []string{"kind"}),
		starts:    prometheus.NewCounter(prometheus.CounterOpts{Name: "hamadryad_launcher_worker_starts_total", Help: "Worker processes started."}),
		stale:     prometheus.NewCounter(prometheus.CounterOpts{Name: "hamadryad_launcher_stale_commands_total", Help: "Commands ignored: of an older term or another incarnation."}),
		logUnkept: prometheus.NewCounter(prometheus.CounterOpts{Name: "hamadryad_launcher_log_unkept_bytes_total", Help: "Bytes of logs that could not be written."}),
	}
	slots := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "hamadryad_launcher_slots", Help: "Slots by kind."}, []string{"kind"})
	for _, s := range a.cfg.Slots {
		slots.WithLabelValues(s.Kind).Set(float64(s.Count))
	}
	gauge := func(name, help string, value func(at *attempt) bool) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return a.count(value) })
	}
	wrong := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hamadryad_launcher_config_wrong", Help: "1 when the launcher began with what it had joined with before, because its configuration had mistakes.",
	})
	if a.cfg.Problem != nil {
		wrong.Set(1)
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.outcomes, m.channels, m.starts, m.stale, m.logUnkept, slots, wrong,
		gauge("hamadryad_launcher_running", "Attempts that run.", func(at *attempt) bool { return at.ended == nil && !at.suspended }),
		gauge("hamadryad_launcher_suspended", "Attempts that are suspended.", func(at *attempt) bool { return at.suspended }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "hamadryad_launcher_workers", Help: "Worker processes."}, func() float64 {
			a.mu.Lock()
			defer a.mu.Unlock()
			return float64(len(a.procs))
		}), machineLoads{a.machine})
	return m
}

var loadDesc = prometheus.NewDesc("hamadryad_launcher_machine_load",
	"How busy the machine is, 0 to 1, as the last heartbeat told: cpu, the part of all processors' time since the one before that was not idle; memory, the part that is not available.",
	[]string{"resource"}, nil)

// machineLoads shows what is known of the machine's load.
type machineLoads struct{ m *machine }

// Describe implements prometheus.Collector.
func (machineLoads) Describe(c chan<- *prometheus.Desc) { c <- loadDesc }

// Collect implements prometheus.Collector.
func (l machineLoads) Collect(c chan<- prometheus.Metric) {
	for name, part := range l.m.latest() {
		c <- prometheus.MustNewConstMetric(loadDesc, prometheus.GaugeValue, part, name)
	}
}

func (a *agent) count(which func(at *attempt) bool) float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, at := range a.attempts {
		if which(at) {
			n++
		}
	}
	return float64(n)
}

// serves adds what the data server sent.
func (m *metrics) serves(sent func() int64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "hamadryad_launcher_store_sent_bytes_total", Help: "Bytes of stored channels sent to readers.",
	}, func() float64 { return float64(sent()) }))
}

// ended counts the end of an attempt.
func (m *metrics) ended(e *wire.AttemptEnded) {
	outcome := "finished"
	switch {
	case e.End == wire.End_END_STOPPED:
		outcome = "stopped"
	case e.End == wire.End_END_FAILED && e.Failure.GetKind() == wire.ErrorKind_ERROR_KIND_LOST:
		outcome = "lost"
	case e.End == wire.End_END_FAILED:
		outcome = "failed"
	}
	m.outcomes.WithLabelValues(outcome).Inc()
	for kind, bytes := range e.Work.GetChannelBytes() {
		if kind < len(channelNames) && bytes > 0 {
			m.channels.WithLabelValues(channelNames[kind]).Add(float64(bytes))
		}
	}
}
