package outbound_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/coretest"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The reasons why a job waits are the manager's, then the policy's. They end when it no longer
// waits.
func TestWhyAJobWaits(t *testing.T) {
	h := coretest.New(t)
	j := h.Job(coretest.Maps(1))
	waits := func(want string) {
		t.Helper()
		s, known := h.Status.JobStatus(j.ID, false)
		if got := strings.Join(s.GetWaiting(), "; "); !known || got != want {
			t.Errorf("it waits for %q, want %q", got, want)
		}
	}
	waits("waits to be admitted by the policy")
	h.StartPolicy(0)
	waits(`no launcher is there; 1 ready: a group of stage "map" node 0 needs 1 default slots (0 free of 0 in the cluster)`)
	l := h.Launcher("a", 2)
	j.Waits.NotePolicy(scheduler.Waiting{Job: j.ID, Reason: scheduler.WaitAtLimit, Detail: "others first"})
	waits(`1 ready: a group of stage "map" node 0 needs 1 default slots (2 free of 2 in the cluster); policy: ` + scheduler.WaitAtLimit.String() + ": others first")
	j.Waits.NotePolicy(scheduler.Waiting{})
	h.Resources.Drain(&l.Launcher, true)
	waits(`all 1 launchers that are up are drained or excluded, so nothing new starts: see "hamadryad launchers"; "hamadryad undrain NAME" ends a drain; ` +
		`1 ready: a group of stage "map" node 0 needs 1 default slots (0 free of 2 in the cluster)`)
	h.Resources.Drain(&l.Launcher, false)
	h.RunBundle(j, 0, l)
	waits("")
}

// Status shows a job and its attempts from live to ended. A bounded number of ended jobs keeps its
// last status.
func TestWhatIsShownOfAJob(t *testing.T) {
	h := coretest.New(t)
	h.Step.Set.JobsKept, h.Step.Set.AttemptsMax = 2, 1
	h.StartPolicy(0)
	l := h.Launcher("a", 4)
	j := h.Job(coretest.Maps(3))
	h.Finish(h.RunBundle(j, 0, l).Attempts[0])
	r := h.RunBundle(j, 1, l)
	s, _ := h.Status.JobStatus(j.ID, true)
	if len(s.Attempts) != 2 || s.Attempts[0].State != "finished" || s.Attempts[1].State != "running" || s.Summary.GroupsRunning != 1 || s.Stages[0].Finished != 1 {
		t.Errorf("while it runs: %v", s)
	}
	if id, shown := h.Status.JobOfAttempt(r.Attempts[0].ID); !shown || id != j.ID {
		t.Errorf("the attempt is shown by %v: %t", id, shown)
	}
	j.Waits.NotePolicy(scheduler.Waiting{Job: j.ID, Reason: scheduler.WaitAtLimit})
	h.Fail(r.Attempts[0], "wrong")
	s, known := h.Status.JobStatus(j.ID, true)
	if !known || s.Summary.State != wire.JobState_JOB_STATE_FAILED || !strings.Contains(s.GetFailure().GetMessage(), "wrong") || len(s.Attempts) != 2 || len(s.Waiting) > 0 || s.Stages[0].Ready != 0 {
		t.Errorf("when it is over: %v", s)
	}
	if s, _ := h.Status.JobStatus(j.ID, false); len(s.Attempts) > 0 {
		t.Error("attempts are shown that nobody asked for")
	}
	for range 2 {
		h.Finish(h.RunBundle(h.Job(coretest.Maps(1)), 0, l).Attempts[0])
	}
	if _, known := h.Status.JobStatus(j.ID, true); known || len(h.Status.Jobs(true)) != 2 || len(h.Status.Jobs(false)) != 0 {
		t.Errorf("of three jobs that ended %d are kept, the first: %t", len(h.Status.Jobs(true)), known)
	}
}

// A launcher's status shows its resources, its running and suspended attempts, and its state in a
// word.
func TestWhatIsShownOfLaunchers(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(scheduler.AbilityResume)
	l := h.Launcher("a", 2)
	j := h.Job(coretest.Maps(2))
	r := h.RunBundle(j, 0, l)
	h.RunBundle(j, 1, l)
	h.Later(time.Second)
	h.Attempts.SuspendBundleAttempt(r)
	h.Attempts.SuspendedNow(r.Attempts[0])
	s := h.Status.Launchers()[0]
	if s.Name != "a" || s.State != "up" || s.Running != 1 || s.Suspended != 1 || s.Free[0].Count != 1 || s.Slots[0].Count != 2 {
		t.Errorf("%v", s)
	}
	if x := h.Status.Stats(); x.Running != 2 || x.Suspended != 1 || x.JobsLive != 1 {
		t.Errorf("%d attempts live, %d suspended, %d jobs", x.Running, x.Suspended, x.JobsLive)
	}
	h.Membership.Drain(&wire.DrainLauncher{Name: "a", Drain: true})
	if s := h.Status.Launchers()[0]; s.State != "draining" {
		t.Errorf("it is %s", s.State)
	}
	h.Membership.LauncherLost(&wire.LauncherLost{Launcher: uint64(l.ID), Incarnation: 1, Reason: "test"})
	if info, known := h.Status.Launcher("a"); h.Status.Launchers()[0].State != "lost" || !known || info.Up {
		t.Errorf("it is %s, up: %t", h.Status.Launchers()[0].State, info.Up)
	}
}
