package rounds_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/core/internal/coretest"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// stallWatch plays the end of steps and due checks, each at its time.
type stallWatch struct {
	*coretest.Core
	t *testing.T
}

func newStallWatch(t *testing.T) *stallWatch {
	h := &stallWatch{coretest.New(t), t}
	h.StartPolicy(0)
	return h
}

// waits answers the round that is due with a reason of a job.
func (h *stallWatch) waits(j *state.Job, reason scheduler.WaitReason) {
	h.t.Helper()
	h.Rounds.Answer(answer(h.t, round(h.t, h.Core), scheduler.Decisions{Waiting: []scheduler.Waiting{{Job: j.ID, Reason: reason}}}))
}

// pass lets time pass, and returns what the checks said of the policy: that it stalls, or its end.
// They end the wait.
func (h *stallWatch) pass(d time.Duration) (problem, end string) {
	until := h.Step.Now.Add(d)
	for {
		h.Rounds.WatchStall()
		at, some := h.Step.NextTimer()
		if !some || at > until {
			h.Later(until.Sub(h.Step.Now))
			return "", ""
		}
		h.Later(at.Sub(h.Step.Now))
		if h.Due(step.TimerStall, 0) {
			h.Rounds.StallDue()
		}
		for _, x := range h.Step.Effects() {
			switch a := x.Action.(type) {
			case step.PolicyStalls:
				return a.Problem, ""
			case step.PolicyGone:
				if a.Stalled {
					return "", a.Breach
				}
			}
		}
	}
}

// A policy that starts nothing though something fits is ended as stalled, a minute after the last
// attempt. A reason of its own gives it ten minutes, one of an administrator any time.
func TestAPolicyThatStalls(t *testing.T) {
	const forEver = -1
	for reason, minutes := range map[scheduler.WaitReason]time.Duration{
		scheduler.WaitNone: 1, scheduler.WaitTurn: 10, scheduler.WaitBelowShare: 10, scheduler.WaitLocality: 10, scheduler.WaitGang: 10, scheduler.WaitPreempting: 10,
		scheduler.WaitAtLimit: forEver, scheduler.WaitExcluded: forEver, scheduler.WaitBudget: forEver, scheduler.WaitNoCapacity: forEver, scheduler.WaitAdmission: forEver,
		scheduler.WaitHeld: forEver,
	} {
		h := newStallWatch(t)
		l := h.Launcher("a", 1)
		j := h.Job(coretest.Maps(2))
		h.pass(20 * time.Second)
		r := h.RunBundle(j, 0, l)
		h.pass(50 * time.Second) // a check is due while the attempt runs
		h.Finish(r.Attempts[0])
		h.waits(j, reason)
		if minutes == forEver {
			if _, end := h.pass(24 * time.Hour); end != "" {
				t.Errorf("%v: %s", reason, end)
			}
			continue
		}
		if _, end := h.pass(minutes*time.Minute - 2*time.Second); end != "" {
			t.Errorf("%v: ended too early: %s", reason, end)
		}
		if _, end := h.pass(2 * time.Second); !strings.Contains(end, "it stalls: for 1m0s nothing ran") || !strings.Contains(end, j.ID.String()) {
			t.Errorf("%v: after %d minutes: %q", reason, minutes, end)
		}
		h.Checked()
	}
}

// A policy that leaves out one job while others run is named, and goes on.
func TestAPolicyThatLeavesAJobOut(t *testing.T) {
	h := newStallWatch(t)
	l := h.Launcher("a", 2)
	first := h.Job(coretest.Maps(1))
	left := h.Job(coretest.Maps(3))
	h.RunBundle(first, 0, l)
	h.waits(left, scheduler.WaitNone)
	problem, end := h.pass(time.Minute)
	if !strings.Contains(problem, left.ID.String()) || !strings.Contains(problem, "3 bundles of it are ready and fit") || end != "" {
		t.Fatalf("problem %q, end %q", problem, end)
	}
	if problem, _ := h.pass(time.Minute); problem == "" {
		t.Error("it was not said again")
	}
	h.RunBundle(left, 0, l)
	h.waits(left, scheduler.WaitNone)
	if problem, end := h.pass(time.Hour); problem != "" || end != "" {
		t.Errorf("an attempt of the job runs: %q %q", problem, end)
	}
}

// Slots that are free at each check, and in use in between, are no proof against a policy. What the
// policy reserves for other work is no excuse.
func TestRoomThatChangesIsNoProof(t *testing.T) {
	h := newStallWatch(t)
	l := h.Launcher("a", 1)
	other := h.Job(coretest.Maps(30))
	left := h.Job(coretest.Maps(1))
	for i := range 20 {
		r := h.RunBundle(other, i, l)
		h.NotifiedEvents()
		h.Finish(r.Attempts[0])
		h.waits(left, scheduler.WaitNone)
		if problem, end := h.pass(10 * time.Second); problem+end != "" {
			t.Fatalf("after %d attempts: %q %q", i, problem, end)
		}
	}
	h.Job(coretest.Maps(1)) // makes a round due
	for i := range 20 {
		reserve := scheduler.Reserve{Bundle: other.Bundles[20+i%2].ID(), Launchers: []scheduler.LauncherID{l.ID}, Until: h.Step.Now.Add(30 * time.Second)}
		h.Rounds.Answer(answer(t, round(t, h.Core), scheduler.Decisions{Reserve: []scheduler.Reserve{reserve}}))
		if _, end := h.pass(5 * time.Second); end != "" {
			return
		}
	}
	t.Error("reservations hid that the policy stalls")
}

// A policy that takes over has the whole time.
func TestANewPolicyHasTime(t *testing.T) {
	h := newStallWatch(t)
	h.Launcher("a", 1)
	h.waits(h.Job(coretest.Maps(1)), scheduler.WaitNone)
	h.pass(55 * time.Second)
	h.StartPolicy(0)
	h.NotifiedEvents()
	if _, end := h.pass(58 * time.Second); end != "" {
		t.Errorf("ended too early: %s", end)
	}
	if _, end := h.pass(2 * time.Second); end == "" {
		t.Error("not ended")
	}
}

// Since when jobs are without attempts survives a restart.
func TestStallSurvivesARestart(t *testing.T) {
	h := newStallWatch(t)
	l := h.Launcher("a", 1)
	j := h.Job(coretest.Maps(2))
	h.Finish(h.RunBundle(j, 0, l).Attempts[0])
	ended := h.Step.Now
	h.waits(j, scheduler.WaitNone)
	code := func(c *checkpoint.Codec, of *state.Cluster) {
		of.CodeIdle(c)
		h.Resources.Launchers.CodeRooms(c)
	}
	var b bytes.Buffer
	w := checkpoint.NewWriter(&b)
	code(w, h.Cluster)
	if lost, wrong := w.Close(); lost != nil || wrong != nil {
		t.Fatal(lost, wrong)
	}
	h.Later(time.Hour)
	since := l.RoomSince()
	h.Cluster.RestartIdle()
	h.Resources.Offers.Send(h.Step.Now, true, nil)
	r, err := checkpoint.NewReader([][]byte{b.Bytes()})
	if err != nil {
		t.Fatal(err)
	}
	code(r, h.Cluster)
	if r.Err != nil || r.Left() != 0 || j.Waits.IdleSince() != ended || h.Cluster.IdleSince() != ended || l.RoomSince() != since {
		t.Errorf("%v, %d bytes are left: idle since %d and %d, not %d", r.Err, r.Left(), j.Waits.IdleSince(), h.Cluster.IdleSince(), ended)
	}
}
