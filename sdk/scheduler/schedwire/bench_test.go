package schedwire

import (
	"fmt"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// largeRound has 10,000 ready groups with three places each, and the offers of
// 1,000 launchers.
func largeRound() *scheduler.Round {
	const bundles, launchers = 10_000, 1_000
	host := func(i int) string { return fmt.Sprintf("node-%04d.example.org", i%launchers) }
	r := &scheduler.Round{Number: 7, Now: 1_700_000_000_000_000_000}
	for i := range bundles {
		places := make([]scheduler.Place, 3)
		for j := range places {
			n := i*7 + j*331
			places[j] = scheduler.Place{Host: host(n), Rack: fmt.Sprintf("/rack-%02d", n%launchers/25), Bytes: 64 << 20}
		}
		r.Events = append(r.Events, scheduler.BundleReady{
			At: r.Now + scheduler.Time(i), Job: scheduler.JobID(i/500 + 1), Bundle: scheduler.BundleID(i + 1),
			Groups: []scheduler.Group{{Kind: scheduler.DefaultKind, Slots: 1, Memory: 512 << 20, InputBytes: 128 << 20, Places: places}},
		})
	}
	for i := range launchers {
		r.Offers = append(r.Offers, scheduler.Offer{
			Launcher: scheduler.LauncherID(i + 1), Free: []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: 8}}, Memory: 64 << 30,
		})
	}
	return r
}

func BenchmarkRound(b *testing.B) {
	r := largeRound()
	bytes, err := EncodeRound(r)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(bytes)))
		for b.Loop() {
			if _, err := EncodeRound(r); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(bytes)))
		for b.Loop() {
			if _, err := DecodeRound(bytes); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// steadyRound is a round of a cluster in which so many attempts start and end.
func steadyRound(n int) *scheduler.Round {
	r := &scheduler.Round{Number: 12345, Now: 90_000_000_020}
	for i := range n {
		r.Events = append(r.Events, scheduler.AttemptStarted{
			At: 90_000_000_000, Attempt: scheduler.AttemptID(100_000 + i), Job: scheduler.JobID(i*7%1000 + 1), Bundle: scheduler.BundleID(50_000 + i*91),
			Launcher: scheduler.LauncherID(i*37%5000 + 1),
		})
	}
	for i := range n {
		r.Events = append(r.Events, scheduler.AttemptEnded{
			At: 90_000_000_000, Attempt: scheduler.AttemptID(80_000 + i), Outcome: scheduler.Finished, Work: scheduler.Work{Running: 123_456_789},
		})
	}
	for i := range n {
		r.Events = append(r.Events, scheduler.Outcome{
			At: 90_000_000_010, Round: 12344, Kind: scheduler.DecisionLaunch, Index: i, Accepted: true,
			Attempts: []scheduler.AttemptID{scheduler.AttemptID(100_100 + i)},
			Launch:   scheduler.Launch{Bundle: scheduler.BundleID(60_000 + i*91), Launchers: []scheduler.LauncherID{scheduler.LauncherID(i*37%5000 + 1)}},
		})
	}
	for i := range n {
		r.Offers = append(r.Offers, scheduler.Offer{
			Launcher: scheduler.LauncherID(i*37 + 1), Free: []scheduler.SlotCount{{Kind: "map", Count: 1}}, Memory: 1 << 39,
		})
	}
	return r
}

// BenchmarkSteadyRound compares the direct way with the message's.
func BenchmarkSteadyRound(b *testing.B) {
	r := steadyRound(100)
	bytes, err := EncodeRound(r)
	if err != nil {
		b.Fatal(err)
	}
	for name, f := range map[string]func() error{
		"encode":             func() error { _, err := EncodeRound(r); return err },
		"encode, by message": func() error { _, err := marshal(NewRound(r)); return err },
		"decode":             func() error { _, err := DecodeRound(bytes); return err },
		"decode, by message": func() error { _, err := unmarshal(bytes, &Round{}, (*Round).Decode); return err },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecisions(b *testing.B) {
	d := &scheduler.Decisions{}
	for i := range 10_000 {
		d.Launch = append(d.Launch, scheduler.Launch{Bundle: scheduler.BundleID(i + 1), Launchers: []scheduler.LauncherID{scheduler.LauncherID(i%1000 + 1)}})
	}
	bytes, err := EncodeDecisions(d)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			if _, err := EncodeDecisions(d); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			if _, err := DecodeDecisions(bytes); err != nil {
				b.Fatal(err)
			}
		}
	})
}
