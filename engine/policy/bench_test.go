package policy_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/policy/plugintest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// largeRound has 10,000 pending groups, three places each, and the offers of
// 1,000 launchers.
func largeRound() *scheduler.Round {
	const bundles, launchers = 10_000, 1_000
	hosts, racks := make([]string, launchers), make([]string, launchers)
	r := &scheduler.Round{Number: 1, Now: 1_700_000_000_000_000_000}
	for i := range launchers {
		hosts[i], racks[i] = fmt.Sprintf("node-%04d.example.org", i), fmt.Sprintf("/rack-%02d", i/25)
		r.Offers = append(r.Offers, scheduler.Offer{
			Launcher: scheduler.LauncherID(i + 1), Free: []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: 8}}, Memory: 64 << 30,
		})
	}
	for i := range bundles {
		places := make([]scheduler.Place, 3)
		for j := range places {
			n := (i*7 + j*331) % launchers
			places[j] = scheduler.Place{Host: hosts[n], Rack: racks[n], Bytes: 64 << 20}
		}
		r.Events = append(r.Events, scheduler.BundleReady{
			At: r.Now, Job: scheduler.JobID(i/500 + 1), Bundle: scheduler.BundleID(i + 1),
			Groups: []scheduler.Group{{Kind: scheduler.DefaultKind, Slots: 1, Memory: 512 << 20, InputBytes: 128 << 20, Places: places}},
		})
	}
	return r
}

// usualRound is a typical round: a task has ended, another is ready.
func usualRound() *scheduler.Round {
	large := largeRound()
	return &scheduler.Round{Number: 1, Now: large.Now, Events: large.Events[:1], Offers: large.Offers[:1]}
}

// BenchmarkRound times one round of 10,000 pending groups and 1,000 launchers
// through each kind of host, and of a small one, with a policy that hardly thinks. It reports
// the median beside the mean.
func BenchmarkRound(b *testing.B) {
	b.Run("large", func(b *testing.B) { benchmarkRound(b, largeRound()) })
	b.Run("small", func(b *testing.B) { benchmarkRound(b, usualRound()) })
}

func benchmarkRound(b *testing.B, round *scheduler.Round) {
	run := func(b *testing.B, h policy.Host) {
		defer h.Close()
		if _, err := h.Start(b.Context(), scheduler.Config{}, scheduler.Snapshot{}, scheduler.Environment{}); err != nil {
			b.Fatal(err)
		}
		var took []time.Duration
		for b.Loop() {
			began := time.Now()
			if _, err := h.AssignTasks(b.Context(), round); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-median")
	}
	b.Run("in-process", func(b *testing.B) { run(b, policy.InProcess(&plugintest.Policy{})) })
	b.Run("plug-in", func(b *testing.B) {
		h, err := policy.Launch(b.Context(), policy.Options{Path: plugintest.Plugin(b, plugintest.Good)})
		if err != nil {
			b.Fatal(err)
		}
		run(b, h)
	})
}
