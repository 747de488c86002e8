package manager

import (
	"testing"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func startOf(to scheduler.LauncherID, job, attempt uint64) core.ToLauncher {
	return core.ToLauncher{Launcher: to, Command: &wire.Command{Do: &wire.Command_Start{Start: &wire.StartAttempt{Job: job, Attempt: attempt}}}}
}

func stopOf(to scheduler.LauncherID, attempt uint64) core.ToLauncher {
	return core.ToLauncher{Launcher: to, Command: &wire.Command{Do: &wire.Command_Stop{Stop: &wire.StopAttempt{Attempt: attempt}}}}
}

func forgetOf(to scheduler.LauncherID, attempt uint64) core.ToLauncher {
	return core.ToLauncher{Launcher: to, Command: &wire.Command{Do: &wire.Command_Forget{Forget: attempt}}}
}

func publishOf(to scheduler.LauncherID, job, attempt uint64) core.ToLauncher {
	a := startOf(to, job, attempt)
	a.Command.GetStart().Finish = &wire.Finish{}
	return a
}

// A start is sent before its record is durable only where a manager that loses the record finds the
// attempt again by its launcher, and can't take it for another.
func TestWhichStartsAreEarly(t *testing.T) {
	e := newEarlyStarts()
	expect := func(a core.Action, want bool, why string) {
		t.Helper()
		if _, early := e.start(a); early != want {
			t.Fatalf("early %v: %s", early, why)
		}
	}
	first := startOf(1, 12, 1)
	expect(first, false, "nothing of the job is durable")
	expect(startOf(1, 12, 2), false, "the command before waits, and nothing of the job is durable")
	e.acted(first)
	expect(startOf(1, 12, 3), false, "attempt 2 waits for the same launcher")
	expect(startOf(2, 12, 4), true, "the job is durable, and nothing waits for launcher 2")
	expect(startOf(2, 13, 5), false, "nothing of job 13 is durable")
	e.acted(startOf(2, 13, 5))
	expect(startOf(2, 13, 6), true, "job 13 is durable now")

	e.acted(startOf(1, 12, 2))
	e.acted(startOf(1, 12, 3))
	expect(forgetOf(1, 1), false, "only starts are early")
	expect(startOf(1, 12, 7), true, "what is to be forgotten is not in order with starts")
	e.acted(forgetOf(1, 1))
	expect(stopOf(1, 7), false, "only starts are early")
	expect(startOf(1, 12, 8), false, "a stop waits")
	e.acted(stopOf(1, 7))
	e.acted(startOf(1, 12, 8))
	expect(publishOf(1, 12, 9), false, "it publishes")
	e.acted(publishOf(1, 12, 9))

	welcome := core.Welcome{Launcher: 3}
	expect(welcome, false, "only starts are early")
	expect(startOf(3, 12, 10), false, "the launcher has no answer to its join")
	e.acted(welcome)
	e.acted(startOf(3, 12, 10))
	expect(startOf(3, 12, 11), true, "it has")

	e.acted(core.JobsChanged{Ended: []scheduler.JobID{12}})
	if e.durable[12] || len(e.waiting) != 0 {
		t.Fatalf("of a job that ended is left: %v %v", e.durable, e.waiting)
	}
}

// While the disk stalls, the starts that a crash would lose are bounded.
func TestEarlyStartsAreBounded(t *testing.T) {
	e := newEarlyStarts()
	e.start(startOf(1, 1, 1))
	e.acted(startOf(1, 1, 1))
	n := 0
	for id := uint64(2); ; id++ {
		if _, early := e.start(startOf(1, 1, id)); !early {
			break
		}
		n++
	}
	if n != earlyStartsMax {
		t.Fatalf("%d starts are early", n)
	}
	e.acted(startOf(1, 1, 0))
	e.synced(n)
	if _, early := e.start(startOf(1, 1, 2000)); !early {
		t.Fatal("no start is early although all before are durable")
	}
}
