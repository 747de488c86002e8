package launcher

import (
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/launcher/internal/lease"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/process"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// sleeper is a worker that reads nothing, and ends when it is killed.
func sleeper(t *testing.T, job uint64) *worker {
	t.Helper()
	program, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	script := folder + "/sleeper"
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec "+program+" 1000\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := process.Start(t.Context(), process.Command{Program: script, Dir: folder}, lease.New(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		<-p.Gone()
	})
	return &worker{Process: p, key: workerKey{job: job}}
}

// Idle workers wait for more groups of their job, and the last one is used first. At most as many
// wait as there are slots, and for a limited time.
func TestIdleWorkers(t *testing.T) {
	ws := newWorkers(2)
	a, b, c, other := sleeper(t, 1), sleeper(t, 1), sleeper(t, 1), sleeper(t, 2)
	for _, w := range []*worker{a, b, c, other} {
		ws.add(w)
	}
	ws.rest(a)
	ws.rest(b)
	if ws.takeIdle(workerKey{job: 3}) != nil || ws.takeIdle(b.key) != b || ws.takeIdle(b.key) != a || ws.takeIdle(b.key) != nil {
		t.Error("an attempt was given the wrong worker")
	}
	ws.rest(a)
	ws.rest(b)
	ws.rest(c)
	if !a.leaving || b.leaving || c.leaving {
		t.Error("too many wait, and not the first one leaves")
	}
	ws.remove(a)
	ws.dismissOld(c.rested.Add(time.Minute), 2*time.Minute)
	if b.leaving {
		t.Error("a worker leaves before its time")
	}
	ws.dismissOld(c.rested.Add(3*time.Minute), 2*time.Minute)
	if !b.leaving || !c.leaving || ws.takeIdle(b.key) != nil {
		t.Error("a worker waits for ever")
	}
	ws.rest(other)
	if got := ws.drop(2); !slices.Equal(got, []*worker{other}) || !other.leaving || ws.takeIdle(other.key) != nil {
		t.Errorf("%d workers of a job were dropped", len(got))
	}
	if ws.count() != 3 || len(ws.dropAll()) != 3 {
		t.Errorf("there are %d workers", ws.count())
	}
}

// Attempts are listed in order until they are forgotten; the largest id is remembered for the
// incarnation.
func TestAttempts(t *testing.T) {
	as := newAttempts()
	for _, id := range []uint64{5, 3, 9} {
		as.saw(id)
		as.add(newAttempt(&wire.StartAttempt{Attempt: id, Job: id % 2}, nil))
	}
	as.find(3).record.End(&wire.AttemptEnded{Attempt: 3})
	as.find(9).suspension.Became(true, nil)
	var states []wire.AttemptInventory_State
	for _, x := range as.inventory() {
		states = append(states, x.State)
	}
	if want := []wire.AttemptInventory_State{wire.AttemptInventory_STATE_ENDED, wire.AttemptInventory_STATE_RUNNING, wire.AttemptInventory_STATE_SUSPENDED}; !slices.Equal(states, want) {
		t.Errorf("attempts 3, 5 and 9 are %v", states)
	}
	if running, suspended := as.counts(); running != 1 || suspended != 1 {
		t.Errorf("%d run and %d stand still", running, suspended)
	}
	now := time.Now()
	if len(as.overdue(now)) != 0 || len(as.overdue(now.Add(2*resendEvery))) != 1 || len(as.overdue(now.Add(2*resendEvery))) != 0 {
		t.Error("an end that nobody answers is not told again once in its time")
	}
	as.forget(9)
	nine := as.find(9)
	five := as.find(5)
	as.drop(1)
	if nine != nil || as.find(5) != nil || !five.stopped || as.seen != 9 {
		t.Errorf("after all were forgotten the largest that was seen is %d", as.seen)
	}
	if as.clear(); as.seen != 0 {
		t.Error("another incarnation has seen something")
	}
}
