package manager

import (
	"log/slog"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history"
	"github.com/hamadryad/hamadryad/engine/manager/internal/query"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The end of a log that comes when history has let its job go is not kept, though the job is remembered: nothing would ever
// remove it, and in the end such ends would take all the room that history may have.
func TestEndsOfLogsThatComeTooLate(t *testing.T) {
	h, err := history.Open(history.Options{Folder: t.TempDir(), JobsMax: 1, KeepFor: 100 * 365 * 24 * time.Hour, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	model := query.NewModel(query.Bounds{JobsKept: 10}, core.Changes{})
	defer model.Close()
	m := &manager{model: model, history: &historyFeeder{History: h}}
	const at = 1_800_000_000e9
	tell := func(record uint64, rows changes.ChangeSet) {
		f := core.Changes{At: at, ChangeSet: rows}
		h.TakeChanges(record, &f)
		model.Enqueue(f)
	}
	h.BeginAt(0, &core.Changes{})
	for n := range uint64(3) {
		tell(2*n+1, changes.ChangeSet{Jobs: []changes.Job{{ID: scheduler.JobID(n + 1), Submitted: at, Spec: &wire.JobSpec{}}}})
		if n < 2 {
			tell(2*n+2, changes.ChangeSet{Ended: []*wire.JobStatus{{Summary: &wire.JobSummary{Job: n + 1, Submitted: at, Ended: at + int64(n)}}}})
		}
	}
	if err := h.Sync(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	for job := range scheduler.JobID(4) {
		if err := m.keepTails(t.Context(), job+1, []*wire.LogTail{{Job: uint64(job + 1), Attempt: 1, Text: []byte("x")}}); err != nil {
			t.Fatal(err)
		}
	}
	m.history.end()
	of := map[scheduler.JobID]bool{}
	for _, k := range h.Tails().Jobs() {
		of[k.Job] = true
	}
	if len(of) != 2 || !of[2] || !of[3] { // the one in history, and the live one
		t.Errorf("there are ends of logs of %v", of)
	}
}

// Only ends of logs of attempts that ran on the sending launcher are kept, whether their job lives
// or is over.
func TestEndsOfLogsOfOthersAttempts(t *testing.T) {
	h, err := history.Open(history.Options{Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	model := query.NewModel(query.Bounds{JobsKept: 10, AttemptsKept: 10}, core.Changes{})
	defer model.Close()
	m := &manager{model: model, history: &historyFeeder{History: h}, read: query.NewReader(model, h)}
	defer m.history.end()
	const at = 1_800_000_000e9
	tell := func(record uint64, rows changes.ChangeSet) {
		f := core.Changes{At: at, ChangeSet: rows}
		h.TakeChanges(record, &f)
		model.Enqueue(f)
	}
	h.BeginAt(0, &core.Changes{})
	for job := range uint64(2) {
		tell(2*job+1, changes.ChangeSet{
			Jobs:     []changes.Job{{ID: scheduler.JobID(job + 1), Submitted: at, Spec: &wire.JobSpec{}, StageNames: []string{"map"}}},
			Attempts: []changes.Attempt{{ID: scheduler.AttemptID(10*job + 7), Job: scheduler.JobID(job + 1), Launcher: 1, On: "l1", State: changes.Ended, Outcome: scheduler.Finished}},
		})
	}
	tell(4, changes.ChangeSet{Ended: []*wire.JobStatus{{Summary: &wire.JobSummary{Job: 1, Submitted: at, Ended: at + 1}}}})
	if err := h.Sync(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	for job := range uint64(2) {
		own := 10*job + 7
		list, err := m.ranOn(t.Context(), scheduler.JobID(job+1), []*wire.LogTail{
			{Attempt: own, Launcher: "l1"}, {Attempt: own, Launcher: "l2"}, {Attempt: own + 1, Launcher: "l1"}, {Attempt: 0, Launcher: "l1"}, {Attempt: 1 << 63, Launcher: "l1"},
		})
		if err != nil || len(list) != 1 || list[0].Attempt != own || list[0].Launcher != "l1" {
			t.Errorf("job %d: %v, %v", job+1, list, err)
		}
	}
	if list, err := m.ranOn(t.Context(), 99, []*wire.LogTail{{Attempt: 1}}); err != nil || len(list) > 0 {
		t.Errorf("of no job: %v, %v", list, err)
	}
}
