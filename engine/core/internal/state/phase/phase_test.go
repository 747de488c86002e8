package phase

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint/codectest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The running time of an attempt that was suspended twice excludes the suspensions.
func TestSuspensionIsNoRunningTime(t *testing.T) {
	var c Machine
	at := func(s int) scheduler.Time { return scheduler.Time(s) * scheduler.Time(time.Second) }
	c.Start(at(10))
	for _, from := range []int{15, 100} {
		if c.Suspend(at(from)) {
			t.Fatal("it was suspended, and nobody asked")
		}
		if !c.AskSuspend() || c.AskSuspend() || !c.Suspend(at(from)) || !c.WaitsForResume() {
			t.Fatal("it is not suspended")
		}
		if c.Resume(at(from + 10)) {
			t.Fatal("it was resumed, and nobody asked")
		}
		c.AskResume()
		if c.WaitsForResume() || !c.Resume(at(from+20)) {
			t.Fatal("it does not run again")
		}
	}
	if got := c.Running(at(130)); got != 80*time.Second { // 10 to 15, 35 to 100, 120 to 130
		t.Errorf("it ran for %v", got)
	}
	c.End(at(131), scheduler.Finished)
	if c.Running(at(999)) != 81*time.Second || c.Outcome() != scheduler.Finished || c.Phase() != Ended {
		t.Errorf("it ran for %v and is %v", c.Running(at(999)), c.Outcome())
	}
}

// A stop overrides earlier orders. The first reason stays, and a harder stop removes its grace. A
// copy does not change.
func TestAskStop(t *testing.T) {
	var c Machine
	c.Start(1)
	c.AskSuspend()
	if !c.AskStop(Stop{Outcome: scheduler.Preempted, Grace: time.Minute, Reason: "for another"}) || c.Suspending() {
		t.Fatal("it is still asked to suspend")
	}
	before := c
	if c.AskStop(Stop{Outcome: scheduler.Killed, Grace: time.Second, Reason: "later"}) {
		t.Error("one with grace is no harder")
	}
	if !c.AskStop(Stop{Outcome: scheduler.Killed, Reason: "now"}) || c.AskStop(Stop{Reason: "and again"}) {
		t.Error("one without grace is harder, once")
	}
	if s := c.Stop(); s.Grace != 0 || s.Reason != "for another" || s.Outcome != scheduler.Preempted {
		t.Errorf("it is stopped by %+v", *s)
	}
	if before.Stop().Grace != time.Minute {
		t.Error("the copy changed with it")
	}
}

// Whatever orders and reports come, in any order: its invariants hold, its running time is the sum
// over the steps in which it ran, and it is read back as written.
func TestAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Machine
		now, ran := scheduler.Time(1), time.Duration(0)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			passed := time.Duration(rapid.IntRange(1, 9).Draw(t, "passed"))
			now = now.Add(passed)
			if c.Phase() == Running {
				ran += passed
			}
			phase := c.Phase()
			switch rapid.IntRange(0, 7).Draw(t, "what") {
			case 0:
				if phase == Assigned {
					c.Start(now)
				}
			case 1:
				may := phase == Running && !c.Suspending() && c.Stop() == nil
				if c.AskSuspend() != may {
					t.Fatalf("it may suspend: %t, want %t", !may, may)
				}
			case 2:
				c.Suspend(now)
			case 3:
				if c.WaitsForResume() && c.Stop() == nil {
					c.AskResume()
				}
			case 4:
				c.Resume(now)
			case 5:
				if phase != Ended {
					c.AskStop(Stop{Outcome: scheduler.Preempted, Grace: time.Duration(rapid.IntRange(0, 2).Draw(t, "grace")), At: now})
				}
			case 6:
				c.CannotSuspend()
			case 7:
				if phase != Ended && rapid.IntRange(0, 4).Draw(t, "end") == 0 {
					c.End(now, scheduler.Lost)
				}
			}
			if c.Phase() == Running && c.Suspending() && c.Stop() != nil {
				t.Fatal("it is asked two things")
			}
			if c.Running(now) != ran {
				t.Fatalf("it ran for %d, counted as %d", ran, c.Running(now))
			}
			code := func(w *checkpoint.Codec) { c.CodePhase(w); c.CodeAsked(w); c.CodeTimes(w); c.CodeStop(w) }
			was := codectest.Bytes(t, code)
			c = Machine{}
			codectest.Read(t, was, code)
			if !bytes.Equal(codectest.Bytes(t, code), was) {
				t.Fatal("it comes back as another state")
			}
			if err := c.Check(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The suspended time of an attempt is the time in which it neither ran nor had reached its phase,
// however often it was suspended and however it ended.
func TestRested(t *testing.T) {
	var c Machine
	want := func(s int) {
		t.Helper()
		if got, want := c.SuspendedTime(), time.Duration(s)*time.Second; got != want {
			t.Errorf("it was suspended for %v, want %v", got, want)
		}
	}
	at := func(s int) scheduler.Time { return scheduler.Time(time.Duration(s) * time.Second) }
	want(0)
	c.Start(at(10))
	want(0)
	c.AskSuspend()
	c.Suspend(at(15))
	want(0) // it counts from here on
	c.AskResume()
	c.Resume(at(18))
	want(3)
	c.AskSuspend()
	c.Suspend(at(20))
	want(3)
	c.End(at(27), scheduler.Killed)
	want(10)

	var never Machine
	if never.End(at(5), scheduler.Lost); never.SuspendedTime() != 0 {
		t.Error("one that never ran was suspended")
	}
}
