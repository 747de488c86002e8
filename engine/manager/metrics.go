package manager

import (
	"sync/atomic"
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// metrics are what /metrics shows of the manager's own work; world shows the
// cluster's. No label holds an id.
type metrics struct {
	registry       *prometheus.Registry
	grpc           *grpcprom.ServerMetrics
	steps          prometheus.Histogram
	frozen         prometheus.Histogram
	checkpoints    *prometheus.HistogramVec
	notRemade      prometheus.Counter
	inputs         prometheus.Counter
	rounds         prometheus.Histogram
	slowRounds     prometheus.Counter
	policyRestarts prometheus.Counter
	sync           prometheus.Histogram
	logged         prometheus.Counter
	channels       *prometheus.CounterVec

	roundCount atomic.Uint64
}

// channelNames are the kinds of channel in the order of Work.channel_bytes.
var channelNames = []string{"file", "tcp", "shm"}

func newMetrics() *metrics {
	latencies := prometheus.ExponentialBuckets(0.0001, 2, 18) // 0.1 ms to 13 s
	m := &metrics{
		registry:       prometheus.NewRegistry(),
		grpc:           grpcprom.NewServerMetrics(),
		steps:          prometheus.NewHistogram(prometheus.HistogramOpts{Name: "hamadryad_core_step_seconds", Help: "Time of one step of the core.", Buckets: latencies}),
		frozen:         prometheus.NewHistogram(prometheus.HistogramOpts{Name: "hamadryad_core_freeze_seconds", Help: "Time for which the core stood still to have its state written as a checkpoint.", Buckets: latencies}),
		checkpoints:    prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "hamadryad_checkpoint_seconds", Help: "Time that it took to write a checkpoint beside the core, by what it was made from: the core's state, which stood still for hamadryad_core_freeze_seconds, or the event log.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 20)}, []string{"from"}),
		notRemade:      prometheus.NewCounter(prometheus.CounterOpts{Name: "hamadryad_checkpoints_failed_total", Help: "Checkpoints that could not be made from the event log, and were put off."}),
		inputs:         prometheus.NewCounter(prometheus.CounterOpts{Name: "hamadryad_core_inputs_total", Help: "Inputs that the core took in."}),
		rounds:         prometheus.NewHistogram(prometheus.HistogramOpts{Name: "hamadryad_round_seconds", Help: "Time from asking the policy to its answer.", Buckets: latencies}),
		slowRounds:     prometheus.NewCounter(prometheus.CounterOpts{Name: "hamadryad_rounds_slow_total", Help: "Rounds that the policy did not answer within policy.slowRound."}),
		policyRestarts: prometheus.NewCounter(prometheus.CounterOpts{Name: "hamadryad_policy_restarts_total", Help: "Starts of a policy because one failed."}),
		sync:           prometheus.NewHistogram(prometheus.HistogramOpts{Name: "hamadryad_log_sync_seconds", Help: "Time of one write of the event log to the disk.", Buckets: latencies}),
		logged:         prometheus.NewCounter(prometheus.CounterOpts{Name: "hamadryad_log_bytes_total", Help: "Bytes written to the event log."}),
		channels:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hamadryad_channel_bytes_total", Help: "Bytes of records that ended attempts wrote into channels, by kind of channel."}, []string{"kind"}),
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), m.grpc,
		m.steps, m.frozen, m.checkpoints, m.notRemade, m.inputs, m.rounds, m.slowRounds, m.policyRestarts, m.sync, m.logged, m.channels)
	return m
}

func (m *metrics) step(took time.Duration, inputs int) {
	m.steps.Observe(took.Seconds())
	m.inputs.Add(float64(inputs))
}

func (m *metrics) freeze(took time.Duration) { m.frozen.Observe(took.Seconds()) }

// checkpoint notes one that is written.
func (m *metrics) checkpoint(from string, took time.Duration) {
	m.checkpoints.WithLabelValues(from).Observe(took.Seconds())
}

func (m *metrics) round(took time.Duration) {
	m.roundCount.Add(1)
	m.rounds.Observe(took.Seconds())
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
