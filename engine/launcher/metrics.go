package launcher

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/hamadryad/hamadryad/engine/launcher/internal/suspend"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/vetting"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/buildinfo"
)

// metrics are what /metrics shows. No label contains an id.
type metrics struct {
	registry  *prometheus.Registry
	outcomes  *prometheus.CounterVec
	channels  *prometheus.CounterVec
	starts    prometheus.Counter
	reuses    prometheus.Counter
	busy      prometheus.Histogram
	idle      prometheus.Histogram
	stale     prometheus.Counter
	logUnkept prometheus.Counter
	offences  *prometheus.CounterVec
}

// channelNames are the kinds of channel in the order of Work.channel_bytes.
var channelNames = []string{"file", "tcp", "shm"}

func newMetrics(cfg Config, way suspend.Way, more ...prometheus.Collector) *metrics {
	latencies := prometheus.ExponentialBuckets(0.0001, 4, 12) // 0.1 ms to 7 minutes
	m := &metrics{
		registry: prometheus.NewRegistry(),
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hamadryad_launcher_attempts_total", Help: "Attempts that ended here, by outcome.",
		}, []string{"outcome"}),
		channels: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hamadryad_launcher_channel_bytes_total", Help: "Bytes of records that attempts wrote into channels, by kind of channel.",
		}, []string{"kind"}),
		starts:    prometheus.NewCounter(prometheus.CounterOpts{Name: "hamadryad_launcher_worker_starts_total", Help: "Worker processes started."}),
		reuses:    prometheus.NewCounter(prometheus.CounterOpts{Name: "hamadryad_launcher_worker_reuses_total", Help: "Idle worker processes that were set up for another job."}),
		busy:      prometheus.NewHistogram(prometheus.HistogramOpts{Name: "hamadryad_launcher_worker_busy_seconds", Help: "Time from giving a worker an attempt to its report of the end.", Buckets: latencies}),
		idle:      prometheus.NewHistogram(prometheus.HistogramOpts{Name: "hamadryad_launcher_worker_idle_seconds", Help: "Time from a worker's report of an attempt's end to its next attempt of the same job, where that was not held ahead.", Buckets: latencies}),
		stale:     prometheus.NewCounter(prometheus.CounterOpts{Name: "hamadryad_launcher_stale_commands_total", Help: "Commands ignored: of an older term or another incarnation."}),
		logUnkept: prometheus.NewCounter(prometheus.CounterOpts{Name: "hamadryad_launcher_log_unkept_bytes_total", Help: "Bytes of logs that could not be written."}),
	}
	m.offences = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hamadryad_launcher_worker_offences_total", Help: "Workers that were ended because they sent what no worker may, by kind of offence.",
	}, []string{"kind"})
	for _, kind := range vetting.Kinds {
		m.offences.WithLabelValues(string(kind))
	}
	for _, kind := range channelNames { // present from the start, so that rates have a beginning
		m.channels.WithLabelValues(kind)
	}
	for _, o := range []string{finished, stopped, lost, failed} {
		m.outcomes.WithLabelValues(o)
	}
	slots := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "hamadryad_launcher_slots", Help: "Slots by kind."}, []string{"kind"})
	for _, s := range cfg.Slots {
		slots.WithLabelValues(s.Kind).Set(float64(s.Count))
	}
	resources := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "hamadryad_launcher_resources", Help: "Countable resources by kind."}, []string{"kind"})
	for _, c := range cfg.Resources.Counts() {
		resources.WithLabelValues(c.Kind).Set(float64(c.Count))
	}
	wrong := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hamadryad_launcher_config_wrong", Help: "1 when the launcher began with what it had joined with before, because its configuration had mistakes.",
	})
	if cfg.Problem != nil {
		wrong.Set(1)
	}
	ways := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "hamadryad_launcher_suspend_info", Help: "Always 1: by what way this launcher suspends, freezer or signals."}, []string{"way"})
	ways.WithLabelValues(way.Name()).Set(1)
	users := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "hamadryad_launcher_isolation_info", Help: "Always 1: as whom workers run, none (as the launcher) or submitter."}, []string{"user"})
	users.WithLabelValues(cfg.Isolation.Name()).Set(1)
	limits := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "hamadryad_launcher_limits_info", Help: "Always 1: what limits workers' memory, processes and processors, cgroup or none."}, []string{"by"})
	limits.WithLabelValues(limitedBy(way)).Set(1)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.outcomes, m.channels, m.starts, m.reuses, m.busy, m.idle, m.stale, m.logUnkept, m.offences, slots, resources, wrong, ways, users, limits, buildinfo.Metric("hamadryad_launcher"))
	m.registry.MustRegister(more...)
	if cfg.Keys != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "hamadryad_launcher_certificate_expiry_timestamp_seconds", Help: "When the launcher's own certificate ends, in seconds since 1970; missing where it has none.",
		}, func() float64 { return float64(cfg.Keys.Ends().Unix()) }))
	}
	return m
}

// limitedBy names what limits workers.
func limitedBy(way suspend.Way) string {
	if way.Limits() {
		return "cgroup"
	}
	return "none"
}

// shows adds the agent's counts, and the bytes that the data server sent.
func (m *metrics) shows(a *agent, sent func() int64) {
	gauge := func(name, help string, of func(running, suspended, workers int) int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(of(a.counts())) })
	}
	m.registry.MustRegister(
		gauge("hamadryad_launcher_running", "Attempts that run.", func(running, _, _ int) int { return running }),
		gauge("hamadryad_launcher_suspended", "Attempts that are suspended.", func(_, suspended, _ int) int { return suspended }),
		gauge("hamadryad_launcher_workers", "Worker processes.", func(_, _, workers int) int { return workers }))
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "hamadryad_launcher_store_sent_bytes_total", Help: "Bytes of stored channels sent to readers.",
	}, func() float64 { return float64(sent()) }), prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "hamadryad_launcher_log_tails_lost_total", Help: "Ends of attempts' logs that the manager did not get, since more waited to be sent than may: they can be read here alone.",
	}, func() float64 { return float64(a.logShipper.Lost()) }))
}

// Outcomes of attempts, as a launcher counts them.
const (
	finished = "finished"
	stopped  = "stopped"
	lost     = "lost"
	failed   = "failed"
)

// ended counts the end of an attempt.
func (m *metrics) ended(e *wire.AttemptEnded) {
	outcome := finished
	switch {
	case e.End == wire.End_END_STOPPED:
		outcome = stopped
	case e.End == wire.End_END_FAILED && e.Failure.GetKind() == wire.ErrorKind_ERROR_KIND_LOST:
		outcome = lost
	case e.End == wire.End_END_FAILED:
		outcome = failed
	}
	m.outcomes.WithLabelValues(outcome).Inc()
	for kind, bytes := range e.Work.GetChannelBytes() {
		if kind < len(channelNames) && bytes > 0 {
			m.channels.WithLabelValues(channelNames[kind]).Add(float64(bytes))
		}
	}
}
