package loop

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Planned events happen in order of time, then of planning; past ones happen now.
func TestClock(t *testing.T) {
	var c Clock
	var got []string
	say := func(what string) func() {
		return func() { got = append(got, time.Duration(c.Now()).String()+" "+what) }
	}
	c.At(5, say("b"))
	c.At(3, func() {
		say("a")()
		c.At(1, say("late"))
		c.After(2, say("c"))
	})
	c.At(9, say("d"))
	c.Pass(8)
	if c.Now() != 8 {
		t.Errorf("it is %d after 8 passed", c.Now())
	}
	if at, ok := c.Upcoming(); !ok || at != 9 {
		t.Errorf("the next thing is at %d, %t", at, ok)
	}
	for c.Next() {
	}
	if want := []string{"3ns a", "3ns late", "5ns b", "5ns c", "9ns d"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// batches is a loop that notes what its core is given, and when.
type batches struct {
	Loop
	got []string
}

func newBatches() *batches {
	b := &batches{}
	b.Core = core.New(core.DefaultSettings())
	b.Act = func(core.Action) {}
	b.Decide = func(m *wire.Batch) []core.Action {
		text := time.Duration(m.At).String()
		for _, in := range m.Inputs {
			if in.GetTick() {
				text += " tick"
			} else {
				text += " input"
			}
		}
		b.got = append(b.got, text)
		return b.Core.Step(m)
	}
	return b
}

func prepare() *wire.Input {
	return wire.NewInput(&wire.Prepare{Client: 1000})
}

// Inputs that come at once, or within the gathering time, make one batch.
func TestGathering(t *testing.T) {
	b := newBatches()
	for _, at := range []scheduler.Time{10, 10, 30} {
		b.At(at, func() { b.Push(prepare()) })
	}
	b.Pass(40)
	if want := []string{"10ns input input", "30ns input"}; !slices.Equal(b.got, want) {
		t.Errorf("got %q, want %q", b.got, want)
	}
	b = newBatches()
	b.Gather = func() time.Duration { return 25 }
	for _, at := range []scheduler.Time{10, 30, 40} {
		b.At(at, func() { b.Push(prepare()) })
	}
	b.Pass(100)
	if want := []string{"35ns input input", "65ns input"}; !slices.Equal(b.got, want) {
		t.Errorf("got %q, want %q", b.got, want)
	}
}

// The core is ticked when it wants to be: once for each wish, and a life that ended is
// not ticked any more.
func TestTicks(t *testing.T) {
	b := newBatches()
	b.At(1, func() {
		b.Push(wire.NewInput(&wire.ManagerStart{Term: 1}))
		b.Push(prepare()) // its id is given up when nothing follows
	})
	b.Pass(1)
	wake, ok := b.Core.NextWake()
	if !ok {
		t.Fatal("the core waits for nothing")
	}
	b.Pass(wake - 1)
	if len(b.got) != 1 {
		t.Errorf("before the core wants a tick at %v it got %q", time.Duration(wake), b.got)
	}
	b.Pass(wake)
	if want := time.Duration(wake).String() + " tick"; len(b.got) != 2 || b.got[1] != want {
		t.Errorf("got %q, want a last one of %q", b.got, want)
	}
	b = newBatches()
	b.Push(prepare())
	b.Pass(1)
	b.Restart(core.New(core.DefaultSettings()))
	b.got = nil
	b.Pass(wake.Add(time.Hour))
	if len(b.got) != 0 {
		t.Errorf("a life that ended had %q", b.got)
	}
}

// A client hears of its job's id before the core has the job, of its end once, and of a
// refusal by an error. Jobs of others are not its own.
func TestClients(t *testing.T) {
	set := core.DefaultSettings()
	set.AdmitWithoutPolicy = true
	l := &Loop{Core: core.New(set)}
	var got []string
	c := Clients{Loop: l, Ended: func(id scheduler.JobID, s *wire.JobStatus) error {
		got = append(got, fmt.Sprint(id, " ", s.Summary.State))
		return nil
	}}
	l.Act = func(a core.Action) {
		if _, err := c.Act(a); err != nil {
			got = append(got, err.Error())
		}
	}
	l.Push(wire.NewInput(&wire.ManagerStart{Term: 1}))
	spec := &wire.JobSpec{Name: "job", Principal: &wire.Principal{Name: "ann"}, Graph: &wire.Graph{Stages: []*wire.Stage{{Name: "work", Nodes: 1}}}}
	known := func(id scheduler.JobID) {
		if _, there := l.Core.JobStatus(id, false); there {
			t.Error("the core has the job already")
		}
		got = append(got, "known "+id.String())
	}
	c.Submit(spec, known)
	c.Submit(&wire.JobSpec{Name: "wrong", Principal: spec.Principal, Graph: &wire.Graph{Stages: []*wire.Stage{{}}}}, nil)
	l.Push(prepare())
	l.Pass(scheduler.Time(time.Hour)) // until it is admitted without a policy
	for range 2 {
		l.Push(wire.NewInput(&wire.KillJob{Client: 1001, Job: 1, Principal: spec.Principal}))
		l.Pass(l.Now().Add(time.Second))
	}
	if len(got) != 3 || got[0] != "known job-1" || !strings.Contains(got[1], "the name is empty") || got[2] != "job-1 JOB_STATE_KILLED" {
		t.Errorf("got %q", got)
	}
}
