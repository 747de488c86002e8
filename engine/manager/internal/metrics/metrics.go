// Package metrics exports the manager's metrics: counters of its own work, and of the cluster. No
// label has an id.
//
// The core's counters are exported whether a policy runs or not. Metrics of pools and of attempts'
// times are made of change rows. Reading metrics never reads the core.
package metrics

import (
	"sync/atomic"
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// Metrics are what /metrics shows of the manager's own work; World shows the
// cluster's. No label holds an id.
type Metrics struct {
	Registry       *prometheus.Registry
	GRPC           *grpcprom.ServerMetrics
	steps          prometheus.Histogram
	gathers        prometheus.Histogram
	durables       prometheus.Histogram
	frozen         prometheus.Histogram
	checkpoints    *prometheus.HistogramVec
	notRemade      prometheus.Counter
	inputs         prometheus.Counter
	reads          prometheus.Counter
	rounds         prometheus.Histogram
	slowRounds     prometheus.Counter
	policyRestarts prometheus.Counter
	policyProblems *prometheus.CounterVec
	sync           prometheus.Histogram
	logged         prometheus.Counter
	channels       *prometheus.CounterVec

	roundCount atomic.Uint64
}

// channelNames are the kinds of channel in the order of Work.channel_bytes.
var channelNames = []string{"file", "tcp", "shm"}

// New returns them, all at zero.
func New() *Metrics {
	latencies := prometheus.ExponentialBuckets(0.0001, 2, 18) // 0.1 ms to 13 s
	m := &Metrics{
		Registry:       prometheus.NewRegistry(),
		GRPC:           grpcprom.NewServerMetrics(),
		steps:          prometheus.NewHistogram(prometheus.HistogramOpts{Name: "hamadryad_core_step_seconds", Help: "Time of one step of the core.", Buckets: latencies}),
		gathers:        prometheus.NewHistogram(prometheus.HistogramOpts{Name: "hamadryad_core_gather_seconds", Help: "For how long a step's first input waited for others, while the policy decided a round.", Buckets: latencies}),
		durables:       prometheus.NewHistogram(prometheus.HistogramOpts{Name: "hamadryad_core_durable_seconds", Help: "For how long what a step decided waited until its record was on the disk, where somebody waits for it.", Buckets: latencies}),
		frozen:         prometheus.NewHistogram(prometheus.HistogramOpts{Name: "hamadryad_core_freeze_seconds", Help: "Time for which the core stood still to have its state written as a checkpoint.", Buckets: latencies}),
		checkpoints:    prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "hamadryad_checkpoint_seconds", Help: "Time that it took to write a checkpoint beside the core, by what it was made from: the core's state, which stood still for hamadryad_core_freeze_seconds, or the event log.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 20)}, []string{"from"}),
		notRemade:      prometheus.NewCounter(prometheus.CounterOpts{Name: "hamadryad_checkpoints_failed_total", Help: "Checkpoints that could not be made from the event log, and were put off."}),
		inputs:         prometheus.NewCounter(prometheus.CounterOpts{Name: "hamadryad_core_inputs_total", Help: "Inputs that the core took in."}),
		reads:          prometheus.NewCounter(prometheus.CounterOpts{Name: "hamadryad_core_reads_total", Help: "Looks at the core between two of its steps. What is shown of the cluster needs none."}),
		rounds:         prometheus.NewHistogram(prometheus.HistogramOpts{Name: "hamadryad_round_seconds", Help: "Time from asking the policy to its answer.", Buckets: latencies}),
		slowRounds:     prometheus.NewCounter(prometheus.CounterOpts{Name: "hamadryad_rounds_slow_total", Help: "Rounds that the policy did not answer within policy.slowRound."}),
		policyRestarts: prometheus.NewCounter(prometheus.CounterOpts{Name: "hamadryad_policy_restarts_total", Help: "Starts of a policy because one failed."}),
		policyProblems: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hamadryad_policy_problems_total", Help: "Problems of a policy, by kind (see \"hamadryad policy\") and by the policy's name."}, []string{"kind", "policy"}),
		sync:           prometheus.NewHistogram(prometheus.HistogramOpts{Name: "hamadryad_log_sync_seconds", Help: "Time of one write of the event log to the disk.", Buckets: latencies}),
		logged:         prometheus.NewCounter(prometheus.CounterOpts{Name: "hamadryad_log_bytes_total", Help: "Bytes written to the event log."}),
		channels:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hamadryad_channel_bytes_total", Help: "Bytes of records that ended attempts wrote into channels, by kind of channel."}, []string{"kind"}),
	}
	for _, kind := range channelNames { // they exist from the start, so that rates have a beginning
		m.channels.WithLabelValues(kind)
	}
	for _, from := range []string{FromState, FromLog} {
		m.checkpoints.WithLabelValues(from)
	}
	m.Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), m.GRPC,
		m.steps, m.gathers, m.durables, m.frozen, m.checkpoints, m.notRemade, m.inputs, m.reads, m.rounds, m.slowRounds, m.policyRestarts, m.policyProblems, m.sync, m.logged, m.channels)
	return m
}

// Step notes a step of the core.
func (m *Metrics) Step(took time.Duration, inputs int) {
	m.steps.Observe(took.Seconds())
	m.inputs.Add(float64(inputs))
}

// Gathered notes for how long a step's first input waited for others.
func (m *Metrics) Gathered(took time.Duration) { m.gathers.Observe(took.Seconds()) }

// DecidedDurably notes for how long what a step decided waited for the disk.
func (m *Metrics) DecidedDurably(took time.Duration) { m.durables.Observe(took.Seconds()) }

// CoreRead counts a read of the core.
func (m *Metrics) CoreRead() { m.reads.Inc() }

// Freeze notes the duration of a pause of the core.
func (m *Metrics) Freeze(took time.Duration) { m.frozen.Observe(took.Seconds()) }

// Sources of a checkpoint.
const (
	FromState = "state"
	FromLog   = "log"
)

// Checkpoint notes a written checkpoint.
func (m *Metrics) Checkpoint(from string, took time.Duration) {
	m.checkpoints.WithLabelValues(from).Observe(took.Seconds())
}

// Round notes the duration of the policy's answer to a round.
func (m *Metrics) Round(took time.Duration) {
	m.roundCount.Add(1)
	m.rounds.Observe(took.Seconds())
}

// SlowRound counts a round that was not answered in time.
func (m *Metrics) SlowRound() { m.slowRounds.Inc() }

// Restart counts a start of a policy because one failed.
func (m *Metrics) Restart() { m.policyRestarts.Inc() }

// CountProblems starts the counters of a policy's problems at zero, so that rates have a beginning.
func (m *Metrics) CountProblems(policy string, kinds ...string) {
	for _, k := range kinds {
		m.policyProblems.WithLabelValues(k, policy)
	}
}

// PolicyProblem counts a problem of a policy, by its name in the configuration.
func (m *Metrics) PolicyProblem(kind, policy string) {
	m.policyProblems.WithLabelValues(kind, policy).Inc()
}

// NotMade counts a checkpoint that could not be made from the log.
func (m *Metrics) NotMade() { m.notRemade.Inc() }

// RoundsAnswered is how many rounds were answered.
func (m *Metrics) RoundsAnswered() uint64 { return m.roundCount.Load() }

// Work counts what an attempt wrote.
func (m *Metrics) Work(w *wire.Work) {
	for i, n := range w.GetChannelBytes() {
		if i < len(channelNames) && n > 0 {
			m.channels.WithLabelValues(channelNames[i]).Add(float64(n))
		}
	}
}

// Durable notes a write of the event log to the disk.
func (m *Metrics) Durable(bytes int, took time.Duration) {
	m.sync.Observe(took.Seconds())
	m.logged.Add(float64(bytes))
}
