package faults

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/hamadryad/hamadryad/engine/manager/historycheck"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// pastKills is how often the manager is killed while it keeps history. "make past" has 50.
var pastKills = flag.Int("pastkills", 3, "kills of a manager that keeps history")

// A manager is killed at random moments while jobs come, end, fail and are killed, and its log is
// rotated. Its history then equals that of an undisturbed manager, which is fed the same log once
// and whole.
func TestHistoryOutlivesKills(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(*moments, 19))
	c := startCluster(t, options{launchers: 2, slots: 3, eventLog: ", keep: 100000"})
	var jobs []*gatedJob
	killed := map[*gatedJob]bool{}
	for life := range *pastKills + 1 {
		for i := range 2 {
			shut := []string{"map", "reduce"}[i:][:r.IntN(2)]
			jobs = append(jobs, c.submitIn(fmt.Sprintf("job%d.%d", life, i), "file", 0.5, 1+r.IntN(8), 1+r.IntN(2), shut...))
		}
		if life == *pastKills {
			break
		}
		time.Sleep(time.Duration(r.Int64N(int64(apartMax))))
		if j := jobs[r.IntN(len(jobs))]; r.IntN(3) == 0 && j.id() != "" {
			_, _ = c.command("kill", j.id()) // it may be over, and the manager may not be ready
			killed[j] = true
		}
		c.manager.kill(t)
		c.startManager()
		jobs[r.IntN(len(jobs))].open("map", "reduce")
	}
	for _, j := range jobs {
		j.open("map", "reduce")
		eventually(t, "the application ends", j.process.ended)
		if j.process.cmd.ProcessState.ExitCode() == 0 {
			j.isRight()
		} else if !killed[j] {
			t.Errorf("a job that nobody killed ended with %v:\n%s", j.process.cmd.ProcessState, j.process.log)
		}
	}
	c.manager.signal(t, syscall.SIGTERM)
	eventually(t, "the manager ends", c.manager.ended)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	want, files, err := historycheck.Rebuild(ctx, c.path("manager"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	got, err := historycheck.Jobs(ctx, c.path("manager", "history"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Errorf("history is not that of an undisturbed manager (-want +got):\n%s", tail(d, 8000))
	}
	attempts, states := 0, map[wire.JobState]int{}
	for _, j := range want {
		attempts += len(j.Attempts)
		states[j.Status.GetSummary().GetState()]++
	}
	if len(want) < len(jobs) || files < 2 {
		t.Errorf("%d of %d jobs are in a log of %d files", len(want), len(jobs), files)
	}
	t.Logf("%d kills, a log of %d files: %d jobs with %d attempts, by state: %v", *pastKills, files, len(want), attempts, states)
}
