package faultsim

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// defectSeeds is how many seeds a defect may need until it is found, from one on that found it once.
const defectSeeds = 200

// TestDefectsAreFound: a core that breaks one rule that policies rely on is detected. Some defects
// follow other settings than the site has, some send the policy something wrong, and some change what the core gets. Policy wild plays
// alone: it takes all decisions, and the policies that TestSeeds plays don't change its histories.
func TestDefectsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		from     uint64
		settings func(*core.Settings)
		tamper   func(*scheduler.Round)
		forge    func() func(*wire.Input)
		want     string
		policy   func() scheduler.TaskScheduler // nil: newWild
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
		"what the manager stops is not told": {
			from: 72,
			tamper: func(r *scheduler.Round) {
				for i, e := range r.Events {
					if s, is := e.(scheduler.AttemptStopping); is {
						r.Events[i] = scheduler.TimePassed{At: s.At}
					}
				}
			}, want: "and no event told why",
		},
		"what a bundle avoids is not told": {
			from: 1,
			tamper: func(r *scheduler.Round) {
				for i, e := range r.Events {
					if b, is := e.(scheduler.BundleReady); is {
						b.Avoid = nil
						r.Events[i] = b
					}
				}
			}, want: "is refused, and no event told why: launcher",
		},
		"elements of job arrays are given up too early": {
			from:     1,
			settings: func(s *core.Settings) { s.AttemptsMax = 1 }, want: " elements, and ",
		},
		"more is held ahead than may be": {
			from:     1,
			settings: func(s *core.Settings) { s.AheadMax = 7 }, want: "may be launched ahead, and", policy: newWildAhead,
		},
		"what is held ahead is not withdrawn": {
			from: 1,
			tamper: func(r *scheduler.Round) {
				for i, e := range r.Events {
					if s, is := e.(scheduler.AttemptStopping); is {
						r.Events[i] = scheduler.TimePassed{At: s.At}
					}
				}
			}, want: "is held ahead at launcher", policy: newWildAhead,
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
		"runs are taken from runners that live": {
			from:     1,
			settings: func(s *core.Settings) { s.Schedules.Lease /= 2 }, want: "it waits for another runner at",
		},
		"commands of lost runners are not started again": {
			from:     1,
			settings: func(s *core.Settings) { s.Schedules.TriesMax = 1 }, want: "it failed at start 1",
		},
		"due times make no runs while earlier ones go on": {
			from:     1,
			settings: func(s *core.Settings) { s.Schedules.RunsMax = 1 }, want: "a due time made a run: false, and that is to be true",
		},
		"each start of a command submits its jobs": {
			from: 296,
			forge: func() func(*wire.Input) {
				first := map[[2]uint64]uint32{} // start that submitted, by run
				return func(in *wire.Input) {
					k := in.GetSubmit().GetSpec().GetRun()
					if run := [2]uint64{k.GetSchedule(), k.GetRun()}; k != nil {
						first[run] = cmp.Or(first[run], k.Try)
						k.Try = first[run]
					}
				}
			}, want: " submits",
		},
		"readers are chosen by sizes that are not the writers'": {
			from: 113,
			forge: func() func(*wire.Input) {
				return func(in *wire.Input) {
					for _, s := range in.GetReport().GetReport().GetEnded().GetStored() {
						clear(s.PartitionBytes)
					}
				}
			}, want: "joins partitions with",
		},
		"a due time is decided again when clocks are set back": {
			from: 7,
			forge: func() func(*wire.Input) {
				last := map[uint64]int64{} // due time, by schedule
				return func(in *wire.Input) {
					if m := in.GetScheduleDue(); m != nil && m.Due <= last[m.Schedule] {
						m.Due = last[m.Schedule] + 1
					} else if m != nil {
						last[m.Schedule] = m.Due
					}
				}
			}, want: "due times are decided up to",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.forge == nil {
				c.forge = func() func(*wire.Input) { return nil }
			}
			if c.policy == nil {
				c.policy = newWild
			}
			for seed := c.from; seed < c.from+defectSeeds; seed++ {
				s := New(Options{Seed: seed, Policies: []Policy{{Name: "wild", New: c.policy}}, settings: c.settings, tamper: c.tamper, forge: c.forge()})
				if err := s.Run(); err != nil && strings.Contains(err.Error(), c.want) {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Errorf("got nothing that says %q from %d seeds, want it found", c.want, defectSeeds)
		})
	}
}
