package ids

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// No id is given twice over the lives of a manager whose log may forget all of a life,
// as long as it gives no more than it may; and who comes with an id of a life that the log
// forgot is found out.
func TestIDsNeverRepeat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs, attempts := map[uint64]bool{}, map[uint64]bool{}
		var x IDs
		x.Begin(1, 0)
		now := scheduler.Time(1)
		for range rapid.IntRange(1, 6).Draw(t, "lives") {
			kept := x.Clone()
			for range rapid.IntRange(0, 30).Draw(t, "steps") {
				now = now.Add(time.Duration(rapid.Int64Range(1, int64(time.Second)).Draw(t, "pass")))
				if !x.TooManyJobs(now) {
					x.Job++
					if jobs[x.Job] {
						t.Fatalf("job %d is given twice", x.Job)
					}
					jobs[x.Job] = true
				}
				x.Attempt++
				if attempts[x.Attempt] {
					t.Fatalf("attempt %d is given twice", x.Attempt)
				}
				attempts[x.Attempt] = true
			}
			forgot := rapid.Bool().Draw(t, "forget")
			last := x.Job
			if forgot {
				x = kept
			}
			lost := forgot && last > kept.Job
			now = now.Add(time.Minute)
			x.Begin(now, time.Duration(now))
			if lost && !x.LostJob(last) {
				t.Fatalf("job %d, of a life that the log forgot, counts as known", last)
			}
		}
	})
}

// A life announces as many jobs as stay below where the next one begins.
func TestALifeStaysBelowTheNext(t *testing.T) {
	var x IDs
	now := scheduler.Time(time.Hour)
	x.Begin(now, time.Hour)
	for ; !x.TooManyJobs(now); x.Job++ {
		if x.Job > 100_000_000 {
			t.Fatal("jobs are not bounded")
		}
	}
	next := IDs{}
	next.Begin(now.Add(time.Minute), time.Hour+time.Minute)
	if x.Job >= next.Job {
		t.Errorf("a life gave job %d, and the next begins at %d", x.Job, next.Job)
	}
	if !next.SeenJob(next.Job+5) || next.SeenJob(next.Job) || !next.SeenAttempt(next.Attempt+1) {
		t.Error("ids above those given are not found out, or others are")
	}
}
