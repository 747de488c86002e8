package faults

import (
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/index"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/engine/manager/recovery/graphs"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// pastKills is how often the manager is killed while it keeps history. "make past" has 50.
var pastKills = flag.Int("pastkills", 3, "kills of a manager that keeps history")

// A manager is killed at random moments while jobs come, end, fail and are killed, and its log goes
// on from file to file. Its history is then that of a manager which was never disturbed: one that
// hears the same log, whole and once.
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

	want, files := retold(t, c.path("manager"))
	got := everyJob(t, c.path("manager", "history"))
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

// retold is the history that a manager's log comes to when it is read from its first record to its
// last, and how many files the log has.
func retold(t *testing.T, data string) (map[scheduler.JobID]*jobfile.Job, int) {
	t.Helper()
	files, err := eventlog.Files(filepath.Join(data, "log"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	h, err := history.Open(history.Options{Folder: folder, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var c *core.Core
	last := uint64(0)
	for _, name := range files {
		s, err := eventlog.ReadSegment(name)
		if err != nil {
			t.Fatal(err)
		}
		if c == nil {
			if s.First != 1 {
				t.Fatalf("the log begins with record %d", s.First)
			}
			if c, err = core.RestoreParts(s.Checkpoint, graphs.Open(filepath.Join(data, "graphs"), slog.New(slog.DiscardHandler)).Load); err != nil {
				t.Fatal(err)
			}
			c.TellFacts()
			h.Begin(0, &core.Facts{})
		}
		for i, record := range s.Records {
			n := s.First + uint64(i)
			if n <= last { // a file may begin with copies of the last ones of the file before it
				continue
			}
			last = n
			batch := &wire.Batch{}
			if err := proto.Unmarshal(record, batch); err != nil {
				t.Fatal(err)
			}
			h.Wait()
			for _, action := range c.Step(batch) {
				if f, yes := action.(core.Facts); yes {
					h.Take(n, &f)
				}
			}
		}
	}
	if err := h.Sync(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	return everyJob(t, folder), len(files)
}

// everyJob is what a folder of history has of each job that ended.
func everyJob(t *testing.T, folder string) map[scheduler.JobID]*jobfile.Job {
	t.Helper()
	h, err := history.Open(history.Options{Folder: folder, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	sealed, err := filepath.Glob(filepath.Join(folder, "jobs", "*.history"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[scheduler.JobID]*jobfile.Job{}
	eventually(t, "the index has each job's file", func() bool {
		clear(all)
		jobs, _, err := h.List(index.Query{Limit: len(sealed) + 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs {
			id := scheduler.JobID(j.GetJob())
			f, err := h.Open(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if all[id], err = f.Whole(); err != nil {
				t.Fatal(err)
			}
			f.Close()
		}
		return len(all) == len(sealed)
	})
	if s := h.State(); len(s.Damaged) > 0 || s.Why != nil || s.Missed > 0 {
		t.Errorf("history says %+v", s)
	}
	return all
}
