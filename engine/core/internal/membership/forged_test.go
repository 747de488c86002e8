package membership_test

import (
	"math"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/coretest"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// A launcher's reports about attempts, outputs and jobs of another launcher change nothing.
func TestReportsAboutAnothersAttempts(t *testing.T) {
	const running, ended = wire.AttemptInventory_STATE_RUNNING, wire.AttemptInventory_STATE_ENDED
	for what, report := range map[string]func(a, stored uint64) *wire.Report{
		"started": func(a, _ uint64) *wire.Report {
			return &wire.Report{What: &wire.Report_Started{Started: &wire.AttemptStarted{Attempt: a, Address: "evil:1"}}}
		},
		"a phase": func(a, _ uint64) *wire.Report {
			return &wire.Report{What: &wire.Report_Phase{Phase: &wire.AttemptPhase{Attempt: a, Executing: true}}}
		},
		"progress": func(a, _ uint64) *wire.Report {
			return &wire.Report{What: &wire.Report_Progress{Progress: &wire.AttemptProgress{Attempt: a, Progress: math.NaN(), Work: &wire.Work{Written: -1}}}}
		},
		"a good end": func(a, _ uint64) *wire.Report {
			return &wire.Report{What: &wire.Report_Ended{Ended: &wire.AttemptEnded{Attempt: a, End: wire.End_END_FINISHED, Stored: []*wire.StoredOutput{coretest.Stored(0, 1)}}}}
		},
		"a bad end": func(a, _ uint64) *wire.Report {
			return &wire.Report{What: &wire.Report_Ended{Ended: &wire.AttemptEnded{Attempt: a, End: wire.End_END_FAILED}}}
		},
		"suspended": func(a, _ uint64) *wire.Report { return &wire.Report{What: &wire.Report_Suspended{Suspended: a}} },
		"resumed":   func(a, _ uint64) *wire.Report { return &wire.Report{What: &wire.Report_Resumed{Resumed: a}} },
		"a lost input": func(a, stored uint64) *wire.Report {
			return &wire.Report{What: &wire.Report_InputLost{InputLost: &wire.InputLost{Attempt: a, Producer: stored, Damaged: true}}}
		},
		"a commit": func(a, _ uint64) *wire.Report { return &wire.Report{What: &wire.Report_Commit{Commit: a}} },
		"a lost output": func(_, stored uint64) *wire.Report {
			return &wire.Report{What: &wire.Report_OutputLost{OutputLost: &wire.Stored{Job: 1, Attempt: stored}}}
		},
		"an inventory": func(a, stored uint64) *wire.Report {
			return &wire.Report{What: &wire.Report_Inventory{Inventory: &wire.Inventory{
				Attempts: []*wire.AttemptInventory{{Attempt: a, State: running}, {Attempt: stored, State: ended}}, Stored: []*wire.Stored{{Job: 1, Attempt: stored}}, Jobs: []uint64{1, math.MaxUint64},
			}}}
		},
		"a dropped job": func(uint64, uint64) *wire.Report { return &wire.Report{What: &wire.Report_JobDropped{JobDropped: 1}} },
		"taken sources": func(a, _ uint64) *wire.Report {
			return &wire.Report{What: &wire.Report_SourcesTaken{SourcesTaken: &wire.SourcesTaken{Attempt: a, Confirm: 1}}}
		},
		"wanted files": func(a, _ uint64) *wire.Report {
			return &wire.Report{What: &wire.Report_FilesWanted{FilesWanted: &wire.FilesWanted{Attempt: a, From: math.MaxUint64}}}
		},
		"a refusal": func(a, _ uint64) *wire.Report {
			return &wire.Report{What: &wire.Report_Refused{Refused: &wire.CommandRefused{Attempt: a}}}
		},
		"nothing": func(uint64, uint64) *wire.Report { return &wire.Report{} },
	} {
		h := coretest.New(t)
		h.StartPolicy(0)
		honest, forger := h.Launcher("honest", 4), h.Launcher("forger", 4)
		j := h.Job(coretest.MapReduce(2, 1))
		first := h.RunBundle(j, 0, honest).Attempts[0]
		h.Finish(first, coretest.Stored(0, 0))
		a := h.RunBundle(j, 1, honest).Attempts[0]
		before := coretest.PhasesOf(j)
		for _, id := range []uint64{uint64(a.ID), uint64(first.ID), 0, math.MaxUint64} {
			h.Later(time.Second)
			r := report(id, uint64(first.ID))
			r.Incarnation = 1
			h.Membership.Report(&wire.LauncherReport{Launcher: uint64(forger.ID), Report: r})
			if got := h.Commands(honest); len(got) > 0 {
				t.Errorf("%s of %d: the honest launcher is told %v", what, id, got)
			}
		}
		if got := coretest.PhasesOf(j); got != before || a.Stop() != nil || a.Address() != honest.DataAddress() || a.Progress() != 0 || a.Executing() != 0 || a.BundleAttempt.Granted() || a.Suspending() || honest.Outputs.Get(first.ID) == nil || forger.Outputs.Len() > 0 {
			t.Errorf("%s: the job stands at %q, not %q, and the attempt is %+v", what, got, before, a.Machine)
		}
		h.Checked()
	}
}
