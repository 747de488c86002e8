package step

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint/codectest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A text that is too long is truncated to the bound, between characters. Truncating it again
// changes nothing.
func TestReasonsAreCutOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Step{Set: DefaultSettings()}
		s.Set.ReasonBytes = rapid.IntRange(shortenedSuffix, 200).Draw(t, "bound")
		reason := rapid.StringN(0, 300, -1).Draw(t, "reason")
		once := s.Shorten(reason)
		switch {
		case len(reason) <= s.Set.ReasonBytes && once != reason:
			t.Errorf("%q was cut to %q", reason, once)
		case len(once) > s.Set.ReasonBytes, s.Shorten(once) != once, !utf8.ValidString(once):
			t.Errorf("%d bytes are left of %d, at most %d: %q", len(once), len(reason), s.Set.ReasonBytes, once)
		case len(reason) > s.Set.ReasonBytes && !strings.HasSuffix(once, fmt.Sprintf("(%d bytes more)", len(reason)-strings.LastIndex(once, "..."))):
			t.Errorf("%q does not say how much of %d bytes was cut", once, len(reason))
		}
	})
}

// Time is later in each step than in the one before, whatever the caller's clock does. Long work is
// bounded in each step. Effects keep their order, and end with the step.
func TestAStepBeginsAnew(t *testing.T) {
	s := Step{Set: DefaultSettings()}
	s.Set.StepWork = 10
	for i, at := range []scheduler.Time{100, 50, 100, 200} {
		before := s.Now
		if s.Begin(at); s.Now <= before || s.Now < at {
			t.Errorf("step %d: it is %d, before it was %d", i, s.Now, before)
		}
		spent := 0
		for s.ConsumeBudget(4) {
			spent++
		}
		if spent != 3 || !s.BudgetSpent() {
			t.Errorf("step %d: %d pieces of work of 4 in a step of 10", i, spent)
		}
		s.Log(Info, "first", "key", "value")
		s.EmitDeferred(Effect{Deferred: i, Incarnation: 7})
		s.Reply(0, 1, nil) // client 0 gets no answer
		s.Reply(3, 1, Invalid("no"))
		got := fmt.Sprint(s.Effects())
		if want := fmt.Sprintf("[{{1 first [{key value}] false} <nil> 0} {<nil> %d 7} {{3 job-1 kind:ERROR_KIND_INVALID message:%q <nil> <nil> } <nil> 0}]", i, "no"); strings.ReplaceAll(got, "  ", " ") != want {
			t.Errorf("to be done:\n%s, want\n%s", got, want)
		}
		if s.End(); len(s.Effects()) > 0 {
			t.Error("something is left to be done")
		}
	}
}

// Timers and time are restored with a checkpoint. A clone does not change with the original.
func TestAStepComesBack(t *testing.T) {
	s := Step{Set: DefaultSettings(), Term: 3}
	s.Begin(1000)
	s.SetTimer(time.Microsecond, 5, 42)
	code := func(s *Step) func(*checkpoint.Codec) {
		return func(w *checkpoint.Codec) { s.CodeTime(w); s.CodeLast(w); s.CodeTimers(w) }
	}
	clone := s.Clone()
	s.SetTimer(time.Nanosecond, 6, 43)
	var back Step
	codectest.Read(t, codectest.Bytes(t, code(&clone)), code(&back))
	if back.Term != 3 || back.Now != 1000 || back.Timers() != 1 || back.TimerDue() {
		t.Errorf("it comes back as term %d at %d with %d timers", back.Term, back.Now, back.Timers())
	}
	back.Begin(2000)
	if at, yes := back.NextTimer(); !yes || at != 2000 || !back.TimerDue() {
		t.Errorf("the timer is due at %d: %t", at, yes)
	}
	if kind, id := back.TakeTimer(); kind != 5 || id != 42 {
		t.Errorf("the timer is of kind %d, about %d", kind, id)
	}
}
