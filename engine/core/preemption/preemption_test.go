package preemption_test

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/roomtest"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// What a victim frees is the beneficiary's, when it has left; until then neither that nor
// anybody else gets it.
func TestWhatAVictimFreesIsKept(t *testing.T) {
	h := roomtest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 1)
	victim, other, third := h.Job(roomtest.Maps(1)), h.Job(roomtest.Maps(1)), h.Job(roomtest.Maps(1))
	r := h.Run(victim, 0, l)
	h.Later(time.Hour)
	d := scheduler.Preempt{For: other.ID, Victims: []scheduler.AttemptID{r.Attempts[0].ID}, Mode: scheduler.PreemptKill}
	if reason, why := h.Preemption.Preempt(d); reason != scheduler.NotRefused {
		t.Fatal(why)
	}
	if c := h.Commands(l); len(c) != 1 || c[0].GetStop().GetAttempt() != uint64(r.Attempts[0].ID) {
		t.Errorf("the launcher is told %v", c)
	}
	h.Attempts.Lose(r.Attempts[0], "it left")
	if _, refused, _ := h.Attempts.Launch(scheduler.Launch{Bundle: third.Bundles[0].ID(), Launchers: []scheduler.LauncherID{l.ID}}); refused != scheduler.NoCapacity {
		t.Errorf("somebody else's launch is refused with %v", refused)
	}
	h.Run(other, 0, l)
	h.Checked()
}

// A preemption that would gain nothing changes nothing.
func TestNobodyIsTakenOffInVain(t *testing.T) {
	h := roomtest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 1)
	victim, other := h.Job(roomtest.Maps(1)), h.Job(roomtest.Maps(1))
	r := h.Run(victim, 0, l)
	h.Later(time.Hour)
	h.Sessions.Drain(&wire.DrainLauncher{Name: "a", Drain: true})
	reason, _ := h.Preemption.Preempt(scheduler.Preempt{For: other.ID, Victims: []scheduler.AttemptID{r.Attempts[0].ID}, Mode: scheduler.PreemptKill})
	if reason != scheduler.NothingGained || r.Stopped() != 0 || len(h.Commands(l)) > 0 {
		t.Errorf("refused with %v, the victim is stopped: %v, the launcher is told %v", reason, r.Stopped(), h.Commands(l))
	}
}
