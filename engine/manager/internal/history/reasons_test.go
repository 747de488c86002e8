package history

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The waiting reasons of a job are those in memory, in the journal and in its file, over restarts.
func TestWaits(t *testing.T) {
	begin := scheduler.Time(1_800_000_000_000_000_000)
	o := options(t.TempDir())
	h := open(t, o)
	h.BeginAt(0, &core.Changes{})
	record := uint64(0)
	take := func(rows changes.ChangeSet) {
		record++
		h.TakeChanges(record, &core.Changes{At: begin.Add(time.Duration(record) * time.Second), ChangeSet: rows})
	}
	wait := func(w changes.Waits) {
		take(changes.ChangeSet{Jobs: []changes.Job{{ID: 7, State: wire.JobState_JOB_STATE_RUNNING, Submitted: begin, Waits: w}}})
	}
	check := func(want string) {
		t.Helper()
		w, err := h.Waits(t.Context(), 7)
		got := ""
		for _, x := range w.List {
			got += fmt.Sprintf("%d %s, ", x.At.Sub(begin)/time.Second, x.Reason)
		}
		if got != want || err != nil {
			t.Errorf("it waited: %q (%v), want %q", got, err, want)
		}
	}
	again := func() {
		if err := h.Sync(t.Context(), record); err != nil {
			t.Fatal(err)
		}
		end(t, h)
		h = open(t, o)
	}
	wait(changes.Waits{Ready: 1})
	wait(changes.Waits{Ready: 2, Policy: scheduler.Waiting{Reason: scheduler.WaitAtLimit, Detail: "3 of 3"}})
	wait(changes.Waits{Ready: 2, Policy: scheduler.Waiting{Reason: scheduler.WaitAtLimit, Detail: "2 of 2"}})
	first := "1 has work that is ready, and waits for slots, 2 policy: at its limit, "
	check(first)
	again()
	check(first)
	wait(changes.Waits{})
	all := first + "4 , 5 no launcher has so many slots, "
	wait(changes.Waits{WhyNot: "no launcher has so many slots"})
	check(all)
	take(changes.ChangeSet{Ended: []*wire.JobStatus{{Summary: &wire.JobSummary{Job: 7, State: wire.JobState_JOB_STATE_FAILED, Submitted: int64(begin), Ended: int64(begin.Add(time.Minute))}}}})
	check(all)
	again()
	check(all)
	if _, err := h.Waits(t.Context(), 8); !errors.Is(err, ErrUnknown) {
		t.Errorf("of a job that nobody knows: %v", err)
	}
	end(t, h)
	if _, err := h.Waits(t.Context(), 7); err == nil {
		t.Error("history that is closed answers")
	}
}
