package cluster_test

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// TestProtectionIsTold: the view, also one started from a snapshot, has until when a preemption is
// refused: after a preemption, after a suspended attempt is resumed, and after a killed bundle is
// launched again.
func TestProtectionIsTold(t *testing.T) {
	for _, mode := range []scheduler.PreemptMode{scheduler.PreemptKill, scheduler.PreemptSuspend} {
		x := tableOf(t, 16<<30)
		victim := x.attempts(1)[0]
		bundle := x.Attempt(victim).Bundle.ID
		if u := x.Attempt(victim).ProtectedUntil(); u != 0 {
			t.Errorf("%s: protected until %d, and nobody ever took it", mode, u)
		}
		x.preempt(scheduler.Preempt{Victims: []scheduler.AttemptID{victim}, Mode: mode, For: 2})
		if u := x.Attempt(victim).ProtectedUntil(); !near(u, x.c.Now().Add(cluster.ProtectFor)) {
			t.Errorf("%s: protected until %d", mode, u)
		}
		x.wait(cluster.ReserveMax + time.Second)
		again := scheduler.Decisions{Resume: []scheduler.Resume{{Attempt: victim}}}
		if mode == scheduler.PreemptKill {
			again = scheduler.Decisions{Launch: []scheduler.Launch{{Bundle: bundle, Launchers: []scheduler.LauncherID{1}}}}
		}
		if reason := x.decide(again); reason != scheduler.NotRefused {
			t.Fatalf("%s: %s", mode, reason)
		}
		x.wait(time.Second)
		live := x.Bundle(bundle).Attempts()[0]
		if want := x.c.Now().Add(cluster.ProtectFor - time.Second); !near(live.ProtectedUntil(), want) {
			t.Errorf("%s: protected until %d, want %d", mode, live.ProtectedUntil(), want)
		}
		var fresh view.View
		if err := fresh.Start(x.c.Snapshot()); err != nil {
			t.Fatal(err)
		}
		if got := fresh.Attempt(live.ID).ProtectedUntil(); got != live.ProtectedUntil() {
			t.Errorf("%s: from a snapshot it is protected until %d, want %d", mode, got, live.ProtectedUntil())
		}
		take := scheduler.Decisions{Preempt: []scheduler.Preempt{{Victims: []scheduler.AttemptID{live.ID}, Mode: scheduler.PreemptKill, For: 2}}}
		if reason := x.decide(take); reason != scheduler.Protected {
			t.Errorf("%s: taken again: %s", mode, reason)
		}
		x.wait(live.ProtectedUntil().Sub(x.c.Now()))
		if reason := x.decide(take); reason != scheduler.NotRefused {
			t.Errorf("%s: when it is not protected any more: %s", mode, reason)
		}
	}
}
