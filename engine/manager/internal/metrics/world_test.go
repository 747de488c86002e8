package metrics

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hamadryad/hamadryad/engine/core"
)

// page is the metrics page of a world.
func page(t *testing.T, w World) string {
	t.Helper()
	m := New()
	m.Registry.MustRegister(w)
	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, f := range families {
		text.WriteString(f.String() + "\n")
	}
	return text.String()
}

// While the cluster's state is unknown, the manager's own state is shown all the same; counts are
// left out, and not shown as zero.
func TestTheOwnStateIsShownWithoutTheCluster(t *testing.T) {
	w := World{
		Policy: func() (string, int64, bool) { return "b", 42, true }, States: []string{"a", "b"},
		Wrong: func() bool { return true }, Stalled: func() bool { return false },
		Cluster: func(context.Context) (Cluster, error) { return Cluster{}, errors.New("it is busy") },
	}
	without := page(t, w)
	w.Cluster = func(context.Context) (Cluster, error) { return Cluster{}, nil }
	with := page(t, w)
	for _, name := range []string{"hamadryad_policy_state", "hamadryad_policy_memory_bytes", "hamadryad_config_wrong", "hamadryad_log_stalled"} {
		if !strings.Contains(without, name) || !strings.Contains(with, name) {
			t.Errorf("%s is not shown", name)
		}
	}
	if strings.Contains(without, "hamadryad_jobs_ended_total") || !strings.Contains(with, "hamadryad_jobs_ended_total") {
		t.Error("what is counted is shown without the cluster, or not with it")
	}
}

// collects is a collector that says nothing of itself beforehand.
type collects func(chan<- prometheus.Metric)

func (f collects) Describe(chan<- *prometheus.Desc)   {}
func (f collects) Collect(c chan<- prometheus.Metric) { f(c) }

// Finished suspensions are counted by their lengths, since this manager began.
func TestSuspensions(t *testing.T) {
	var before core.Stats
	before.AddSuspension(time.Hour)
	now := before
	for _, d := range []time.Duration{0, 100 * time.Millisecond, 101 * time.Millisecond, time.Minute, 24 * time.Hour} {
		now.AddSuspension(d)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collects(func(c chan<- prometheus.Metric) { suspensions(c, now, before) }))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	m := families[0].GetMetric()[0]
	var got []uint64
	for _, b := range m.GetHistogram().GetBucket() {
		got = append(got, b.GetCumulativeCount())
	}
	if want := []uint64{2, 3, 3, 3, 4, 4, 4, 4}; !slices.Equal(got, want) || m.GetHistogram().GetSampleCount() != 5 {
		t.Errorf("within the bounds are %v, want %v, of %d", got, want, m.GetHistogram().GetSampleCount())
	}
	if got, want := m.GetHistogram().GetSampleSum(), (24*time.Hour + time.Minute + 201*time.Millisecond).Seconds(); math.Abs(got-want) > 1e-6 {
		t.Errorf("they were %v s, want %v", got, want)
	}
}
