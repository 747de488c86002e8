package query

import (
	"testing"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The last decisions are kept, up to the bound, with the names of their jobs and launchers at that
// time, also of jobs that end by them; decisions before the model are not counted.
func TestDecisions(t *testing.T) {
	var before core.Stats
	before.Decision(scheduler.DecisionLaunch, scheduler.NotRefused)
	m := NewModel(Bounds{JobsKept: 1}, core.Changes{Stats: before})
	defer m.Close()
	m.Enqueue(core.Changes{Stats: before, ChangeSet: changes.ChangeSet{
		Jobs:      []changes.Job{{ID: 1, Spec: &wire.JobSpec{Principal: &wire.Principal{Name: "ann"}}, Pool: "p"}, {ID: 2, Spec: &wire.JobSpec{Principal: &wire.Principal{Name: "bob"}}}},
		Launchers: []changes.Launcher{{ID: 5, Name: "l5", State: "up"}},
	}})
	now := before
	for n := uint64(1); n <= 3*DecisionsMax+7; n++ {
		now.Decision(scheduler.DecisionLaunch, scheduler.NotRefused)
		m.Enqueue(core.Changes{At: scheduler.Time(n), Stats: now, ChangeSet: changes.ChangeSet{Decided: []changes.Decision{{Kind: scheduler.DecisionLaunch, Job: 1, Launcher: 5, Round: n}}}})
	}
	now.Decision(scheduler.DecisionPreempt, scheduler.Protected)
	m.Enqueue(core.Changes{Stats: now, ChangeSet: changes.ChangeSet{
		Decided: []changes.Decision{{Kind: scheduler.DecisionPreempt, Job: 9, From: 2, Launcher: 6, Reason: scheduler.Protected}},
		Ended:   []*wire.JobStatus{{Summary: &wire.JobSummary{Job: 2}}, {Summary: &wire.JobSummary{Job: 1}}},
	}})
	list, came, err := m.Decisions(t.Context())
	if err != nil || came != 3*DecisionsMax+8 || len(list) != DecisionsMax {
		t.Fatalf("%d of %d are kept: %v", len(list), came, err)
	}
	if d := list[0]; d.FromUser != "bob" || d.User != "" || d.On != "" || d.Number != came {
		t.Errorf("the newest: %+v", d)
	}
	for i, d := range list[1:] {
		if want := came - 1 - uint64(i); d.Number != want || d.Round != want || d.At != scheduler.Time(want) || d.On != "l5" || d.User != "ann" || d.Pool != "p" {
			t.Fatalf("%d: %+v", i, d)
		}
	}
	accepted, refused, err := m.Verdicts(t.Context())
	if err != nil || accepted[scheduler.DecisionLaunch] != 3*DecisionsMax+7 || refused[scheduler.Protected] != 1 {
		t.Errorf("counted are %v and %v: %v", accepted, refused, err)
	}
}
