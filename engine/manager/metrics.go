package manager

import (
	"context"
	"sync/atomic"
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// metrics are what /metrics shows. No label holds an id.
type metrics struct {
	registry       *prometheus.Registry
	grpc           *grpcprom.ServerMetrics
	steps          prometheus.Histogram
	inputs         prometheus.Counter
	rounds         prometheus.Histogram
	refusals       *prometheus.CounterVec
	outcomes       *prometheus.CounterVec
	policyRestarts prometheus.Counter
	sync           prometheus.Histogram
	logged         prometheus.Counter
	channels       *prometheus.CounterVec

	roundCount   atomic.Uint64
	refusalCount atomic.Uint64
}

// channelNames are the kinds of channel in the order of Work.channel_bytes.
var channelNames = []string{"file", "tcp", "shm"}

func newMetrics() *metrics {
	latencies := prometheus.ExponentialBuckets(0.0001, 2, 18) // 0.1 ms to 13 s
	m := &metrics{
		registry:       prometheus.NewRegistry(),
		grpc:           grpcprom.NewServerMetrics(),
		steps:          prometheus.NewHistogram(prometheus.HistogramOpts{Name: "hamadryad_core_step_seconds", Help: "Time of one step of the core.", Buckets: latencies}),
		inputs:         prometheus.NewCounter(prometheus.CounterOpts{Name: "hamadryad_core_inputs_total", Help: "Inputs that the core took in."}),
		rounds:         prometheus.NewHistogram(prometheus.HistogramOpts{Name: "hamadryad_round_seconds", Help: "Time from asking the policy to its answer.", Buckets: latencies}),
		refusals:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hamadryad_decisions_refused_total", Help: "Decisions of the policy that the manager refused, by reason."}, []string{"reason"}),
		outcomes:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hamadryad_attempts_total", Help: "Attempts that ended, by outcome."}, []string{"outcome"}),
		policyRestarts: prometheus.NewCounter(prometheus.CounterOpts{Name: "hamadryad_policy_restarts_total", Help: "Starts of a policy because one failed."}),
		sync:           prometheus.NewHistogram(prometheus.HistogramOpts{Name: "hamadryad_log_sync_seconds", Help: "Time of one write of the event log to the disk.", Buckets: latencies}),
		logged:         prometheus.NewCounter(prometheus.CounterOpts{Name: "hamadryad_log_bytes_total", Help: "Bytes written to the event log."}),
		channels:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hamadryad_channel_bytes_total", Help: "Bytes of records that ended attempts wrote into channels, by kind of channel."}, []string{"kind"}),
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), m.grpc,
		m.steps, m.inputs, m.rounds, m.refusals, m.outcomes, m.policyRestarts, m.sync, m.logged, m.channels)
	return m
}

func (m *metrics) step(took time.Duration, inputs int) {
	m.steps.Observe(took.Seconds())
	m.inputs.Add(float64(inputs))
}

func (m *metrics) round(took time.Duration) {
	m.roundCount.Add(1)
	m.rounds.Observe(took.Seconds())
}

// events counts what a round tells the policy.
func (m *metrics) events(r *scheduler.Round) {
	for _, e := range r.Events {
		switch e := e.(type) {
		case scheduler.Outcome:
			if !e.Accepted {
				m.refusalCount.Add(1)
				m.refusals.WithLabelValues(e.Reason.String()).Inc()
			}
		case scheduler.AttemptEnded:
			m.outcomes.WithLabelValues(e.Outcome.String()).Inc()
		}
	}
}

func (m *metrics) work(w *wire.Work) {
	for i, n := range w.GetChannelBytes() {
		if i < len(channelNames) && n > 0 {
			m.channels.WithLabelValues(channelNames[i]).Add(float64(n))
		}
	}
}

func (m *metrics) durable(bytes int, took time.Duration) {
	m.sync.Observe(took.Seconds())
	m.logged.Add(float64(bytes))
}

func (m *metrics) totals() (rounds, refusals uint64) {
	return m.roundCount.Load(), m.refusalCount.Load()
}

// scrapeTimeout bounds the wait for the core when metrics are read.
const scrapeTimeout = 2 * time.Second

// world reads the cluster's state from the core when metrics are asked for.
type world struct{ m *manager }

var (
	slotsDesc     = prometheus.NewDesc("hamadryad_slots", "Slots of launchers that are up, by kind.", []string{"kind"}, nil)
	freeDesc      = prometheus.NewDesc("hamadryad_slots_free", "Free slots of launchers that are up, by kind.", []string{"kind"}, nil)
	launchersDesc = prometheus.NewDesc("hamadryad_launchers", "Launchers, by state.", []string{"state"}, nil)
	jobsDesc      = prometheus.NewDesc("hamadryad_jobs", "Jobs that have not ended.", nil, nil)
	pendingDesc   = prometheus.NewDesc("hamadryad_groups_pending", "Groups of live jobs that neither run nor have finished.", nil, nil)
	localDesc     = prometheus.NewDesc("hamadryad_input_attempts_total", "Finished attempts that read stored files, by how near most of it was; from the start of this manager.", []string{"locality"}, nil)
	readDesc      = prometheus.NewDesc("hamadryad_read_bytes_total", "Bytes that finished attempts read from stored files and channels, by locality; from the start of this manager.", []string{"locality"}, nil)
	runningDesc   = prometheus.NewDesc("hamadryad_groups_running", "Groups that run.", nil, nil)
)

// Describe implements prometheus.Collector.
func (w world) Describe(c chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{slotsDesc, freeDesc, launchersDesc, jobsDesc, pendingDesc, runningDesc, localDesc, readDesc} {
		c <- d
	}
}

// Collect implements prometheus.Collector.
func (w world) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	var launchers []*wire.LauncherStatus
	var jobs []*wire.JobSummary
	var stats core.Stats
	if w.m.driver.read(ctx, func(c *core.Core) { launchers, jobs, stats = c.Launchers(), c.Jobs(false), c.Stats() }) != nil {
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for level := range scheduler.LocalityLevels {
		name := scheduler.Locality(level).String()
		out <- prometheus.MustNewConstMetric(localDesc, prometheus.CounterValue, float64(stats.Local[level]), name)
		out <- prometheus.MustNewConstMetric(readDesc, prometheus.CounterValue, float64(stats.Read[level]), name)
	}
	slots, free, states := map[string]float64{}, map[string]float64{}, map[string]float64{}
	for _, l := range launchers {
		states[l.State]++
		if l.State == "lost" {
			continue
		}
		for _, s := range l.Slots {
			slots[s.Kind] += float64(s.Count)
		}
		for _, s := range l.Free {
			free[s.Kind] += float64(s.Count)
		}
	}
	var pending, running float64
	for _, j := range jobs {
		running += float64(j.GroupsRunning)
		pending += max(0, float64(j.Groups)-float64(j.GroupsFinished)-float64(j.GroupsRunning))
	}
	gauge(jobsDesc, float64(len(jobs)))
	gauge(pendingDesc, pending)
	gauge(runningDesc, running)
	for kind, n := range slots {
		gauge(slotsDesc, n, kind)
		gauge(freeDesc, free[kind], kind)
	}
	for state, n := range states {
		gauge(launchersDesc, n, state)
	}
}
