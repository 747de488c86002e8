package state

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint/codectest"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

var to = Destination{Launcher: 3, Incarnation: 5, Name: "l3"}

func newStep() *step.Step {
	s := &step.Step{Set: step.DefaultSettings(), Term: 2}
	s.Begin(1000)
	return s
}

// dropped lists the jobs that the step orders to be dropped, and ends it.
func dropped(t interface{ Fatalf(string, ...any) }, s *step.Step) (jobs []uint64) {
	for _, todo := range s.Effects() {
		if m, yes := todo.Action.(step.ToLauncher); yes {
			if m.Launcher != 3 || m.Command.Incarnation != 5 || m.Command.Term != 2 {
				t.Fatalf("a command went to another: %v", m)
			}
			jobs = append(jobs, m.Command.GetDropJob())
		}
	}
	s.End()
	return jobs
}

// An unconfirmed command is sent again after ten seconds, then after twice as long, up to a minute.
// After the sixth time its launcher is given up. A soft kill's grace is added. A confirmed command
// is not sent again.
func TestACommandIsSentAgainUntilItIsConfirmed(t *testing.T) {
	s, began := newStep(), scheduler.Time(1000)
	var n Outstanding
	var lost, graceful, done Unacked
	for _, p := range []*Unacked{&lost, &graceful, &done} {
		n.Sent(s, to.Launcher, p)
	}
	done.Confirmed()
	var at, graceAt []time.Duration
	for given := false; !given; {
		s.Begin(s.Now.Add(time.Second))
		if late, hopeless := lost.Late(s, 0); late {
			at = append(at, s.Now.Sub(began).Round(time.Second))
			given = hopeless
			n.Sent(s, to.Launcher, &lost)
		}
		if late, _ := graceful.Late(s, 5*time.Second); late {
			graceAt = append(graceAt, s.Now.Sub(began).Round(time.Second))
		}
		if late, _ := done.Late(s, 0); late {
			t.Fatal("what was confirmed is late")
		}
	}
	const sec = time.Second
	if want := []time.Duration{10 * sec, 30 * sec, 70 * sec, 130 * sec, 190 * sec, 250 * sec, 310 * sec}; !slices.Equal(at, want) {
		t.Errorf("sent again at %v, and given up the last time; want %v", at, want)
	}
	if graceAt[0] != 15*sec {
		t.Errorf("a command with a grace of 5 s is late at %v", graceAt)
	}
}

// A launcher's line has one timer while a confirmation is awaited, and none otherwise.
func TestALineHasOneTimer(t *testing.T) {
	s := newStep()
	var n Outstanding
	var p, q Unacked
	n.Sent(s, to.Launcher, &p)
	n.Sent(s, to.Launcher, &q)
	if s.Timers() != 1 || n.Due(s) || n.Check(true) != nil {
		t.Errorf("%d timers are set, due: %t", s.Timers(), n.Due(s))
	}
	s.Begin(s.Now.Add(s.Set.CommandTimeout))
	if !n.Due(s) || n.Due(s) {
		t.Error("the timer is due once")
	}
	if n.Check(true) == nil {
		t.Error("something is waited for without a timer, and that passes")
	}
	if n.Watch(s, to.Launcher); n.Check(true) != nil {
		t.Error("the timer is not set again")
	}
}

// A launcher that does not drop jobs is asked again. The newest orders are kept, those over the
// bound are given up, and that is logged.
func TestDropsAreBounded(t *testing.T) {
	s := newStep()
	var n Outstanding
	for id := range scheduler.JobID(dropsMax) {
		n.Drop(s, to, id+1)
	}
	dropped(t, s)
	n.Drop(s, to, dropsMax+1)
	if said := fmt.Sprint(s.Effects()); !strings.Contains(said, "the first is given up") || !strings.Contains(said, "{job job-1}") {
		t.Errorf("a job is given up, and this is said: %s", said)
	}
	if len(n.drops) != dropsMax || n.drops[0].job != 2 {
		t.Errorf("%d jobs are to be dropped, the first is %d", len(n.drops), n.drops[0].job)
	}
}

// Whatever is ordered, dropped and ordered again: a job not dropped is ordered again in the end, a
// dropped one is not, and the state is read back as written.
func TestJobsAreDroppedInTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStep()
		var n Outstanding
		waits := map[scheduler.JobID]bool{}
		job := func() scheduler.JobID { return scheduler.JobID(rapid.IntRange(1, 6).Draw(t, "job")) }
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			s.Begin(s.Now.Add(time.Duration(rapid.IntRange(0, 30).Draw(t, "pass")) * time.Second))
			switch rapid.IntRange(0, 4).Draw(t, "do") {
			case 0, 1:
				id := job()
				n.Drop(s, to, id)
				if got := dropped(t, s); (len(got) == 1) == waits[id] {
					t.Fatalf("job %d is told to be dropped: %v, it was before: %t", id, got, waits[id])
				}
				waits[id] = true
			case 2:
				id := job()
				n.Dropped(id)
				delete(waits, id)
			case 3:
				n.ResendLateDrops(s, to)
			case 4:
				clone, back := n.Clone(), Outstanding{}
				code := func(n *Outstanding) func(*checkpoint.Codec) {
					return func(w *checkpoint.Codec) { n.CodeDue(w); n.CodeDrops(w) }
				}
				codectest.Read(t, codectest.Bytes(t, code(&clone)), code(&back))
				n = back
			}
			if err := n.Check(false); err != nil && !n.Due(s) {
				t.Fatal(err)
			}
			s.End()
		}
		s.Begin(s.Now.Add(time.Hour))
		n.ResendLateDrops(s, to)
		got := dropped(t, s)
		for id := range waits {
			if !slices.Contains(got, uint64(id)) {
				t.Fatalf("job %d is not told to be dropped: %v", id, got)
			}
		}
		if len(got) != len(waits) || n.Drops() != (len(waits) > 0) {
			t.Fatalf("told to be dropped are %v, to be dropped %v", got, waits)
		}
	})
}
