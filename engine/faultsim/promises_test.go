package faultsim

import (
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// defectSeeds is how many seeds a defect may need until it is found, from one on that found it once.
const defectSeeds = 200

// TestDefectsAreFound: a core that breaks one rule that policies rely on is detected. Some defects
// follow other settings than the site has, and some send the policy something wrong. Policy wild plays
// alone: it takes all decisions, and the policies that TestSeeds plays don't change its histories.
func TestDefectsAreFound(t *testing.T) {
	wild := []Policy{{Name: "wild", New: newWild}}
	for name, c := range map[string]struct {
		from     uint64
		settings func(*core.Settings)
		tamper   func(*scheduler.Round)
		want     string
	}{
		"slots are kept for a second too long": {
			from:     1,
			settings: func(s *core.Settings) { s.ReserveMax += time.Second }, want: "which had to end at",
		},
		"too many are suspended": {
			from:     1,
			settings: func(s *core.Settings) { s.SuspendedMax, s.SuspendedPercent = 100, 100 }, want: "are suspended, which is more",
		},
		"what is protected is taken": {
			from: 7,
			tamper: func(r *scheduler.Round) {
				for i, e := range r.Events {
					if p, is := e.(scheduler.BundleProtected); is {
						p.Until = p.Until.Add(time.Hour)
						r.Events[i] = p
					}
				}
			}, want: "and protected until",
		},
		"what forbids suspension is suspended": {
			from: 1,
			tamper: func(r *scheduler.Round) {
				for _, e := range r.Events {
					if j, is := e.(scheduler.JobSubmitted); is {
						for i := range j.Job.Stages {
							j.Job.Stages[i].NoSuspend = true
						}
					}
				}
			}, want: "which its stage forbids",
		},
		"elements of job arrays are given up too early": {
			from:     1,
			settings: func(s *core.Settings) { s.AttemptsMax = 1 }, want: " elements, and ",
		},
		"slots are offered twice": {
			from: 1,
			tamper: func(r *scheduler.Round) {
				for i := range r.Offers {
					if o := &r.Offers[i]; len(o.Free) == 0 {
						o.Free = []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: 1}}
					}
				}
			}, want: "slots are free, kept or held",
		},
		"memory is offered twice": {
			from: 1,
			tamper: func(r *scheduler.Round) {
				for i := range r.Offers {
					r.Offers[i].Memory *= 2
				}
			}, want: "bytes are free, kept or held",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := c.from; seed < c.from+defectSeeds; seed++ {
				s := New(Options{Seed: seed, Policies: wild, settings: c.settings, tamper: c.tamper})
				if err := s.Run(); err != nil && strings.Contains(err.Error(), c.want) {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Errorf("got nothing that says %q from %d seeds, want it found", c.want, defectSeeds)
		})
	}
}
