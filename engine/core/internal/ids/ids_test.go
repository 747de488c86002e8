package ids

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// No id is given twice over the lives of a manager whose log may lose whole lives, as long as each
// stays within its bounds. An id from a lost life is recognised.
func TestIDsNeverRepeat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs, attempts := map[uint64]bool{}, map[uint64]bool{}
		var x IDs
		everLost := false
		x.BeginLife(Start{Now: 1})
		now := scheduler.Time(1)
		for range rapid.IntRange(1, 6).Draw(t, "lives") {
			kept := x.Clone()
			for range rapid.IntRange(0, 30).Draw(t, "steps") {
				now = now.Add(time.Duration(rapid.Int64Range(1, int64(time.Second)).Draw(t, "pass")))
				if !x.TooManyJobs(now) {
					x.job++
					if jobs[x.job] {
						t.Fatalf("job %d is given twice", x.job)
					}
					jobs[x.job] = true
				}
				x.attempt++
				if attempts[x.attempt] {
					t.Fatalf("attempt %d is given twice", x.attempt)
				}
				attempts[x.attempt] = true
			}
			forgot := rapid.Bool().Draw(t, "forget")
			last := x.job
			if forgot {
				x = kept
			}
			lost := forgot && last > kept.job
			now = now.Add(time.Minute)
			start := Start{Now: now, Age: time.Duration(now), Known: rapid.Bool().Draw(t, "known")}
			if start.Known {
				start.Given = last + rapid.SampledFrom([]uint64{0, 1, 99}).Draw(t, "set aside")
			}
			before := x.job
			x.BeginLife(start)
			if start.Known && x.job != max(before, start.Given) {
				t.Fatalf("job %d is the last one before, of up to %d that may have been given", x.job, start.Given)
			}
			everLost = everLost || lost
			if !everLost && jobs[before] && x.LostJob(before) {
				t.Fatalf("job %d, which the log has, counts as lost", before)
			}
			if lost && !x.LostJob(last) {
				t.Fatalf("job %d, of a life that the log forgot, counts as known", last)
			}
		}
	})
}

// A life announces only as many jobs as stay below where the next one begins.
func TestALifeStaysBelowTheNext(t *testing.T) {
	var x IDs
	now := scheduler.Time(time.Hour)
	x.BeginLife(Start{Now: now, Age: time.Hour})
	for ; !x.TooManyJobs(now); x.job++ {
		if x.job > 100_000_000 {
			t.Fatal("jobs are not bounded")
		}
	}
	next := IDs{}
	next.BeginLife(Start{Now: now.Add(time.Minute), Age: time.Hour + time.Minute})
	if x.job >= next.job {
		t.Errorf("a life gave job %d, and the next begins at %d", x.job, next.job)
	}
	if !next.SeenJob(next.job+5) || next.SeenJob(next.job) || !next.SeenAttempt(next.attempt+1) {
		t.Error("ids above those given are not found out, or others are")
	}
}

// Jobs of new data are above those known from earlier data, and above those whose number follows
// from the clock alone. Earlier jobs are recognised as lost, also after lives that the new log
// loses.
func TestJobsOfNewDataAreAboveThoseBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := scheduler.Time(rapid.Int64Range(int64(time.Hour), int64(1e6*time.Hour)).Draw(t, "now"))
		began, jobs := now, map[uint64]bool{}
		var x IDs
		x.BeginLife(Start{Now: now})
		for range rapid.IntRange(1, 8).Draw(t, "lives") {
			kept := x.Clone()
			for range rapid.IntRange(0, 30).Draw(t, "jobs") {
				if x.job++; jobs[x.job] {
					t.Fatalf("job %d is given twice", x.job)
				}
				jobs[x.job] = true
			}
			last := x.job
			now = now.Add(time.Minute)
			above := uint64(0)
			switch rapid.SampledFrom([]string{"goes on", "forgot", "known", "unknown"}).Draw(t, "then") {
			case "forgot":
				x = kept
			case "known":
				x, began, above = IDs{}, now, last
			case "unknown":
				x, began, above = IDs{}, now, AboveUnknown(now)
			}
			x.BeginLife(Start{Now: now, Age: now.Sub(began), Above: above})
			if above > 0 && (!x.LostJob(last) && last > 0 || x.LostJob(x.job+1)) {
				t.Fatalf("job %d, of the data before, counts as known", last)
			}
		}
	})
}
