package policyhost

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/internal/metrics"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A policy that asks for rounds without pause, or repeats refused decisions, is named once in each
// window; one that waits a while is not.
func TestBusyPolicyIsNamed(t *testing.T) {
	wake := []scheduler.Event{scheduler.TimePassed{}}
	refused := []scheduler.Event{scheduler.Outcome{Kind: scheduler.DecisionLaunch, Reason: scheduler.NoCapacity, Detail: "no slot"}}
	mixed := append([]scheduler.Event{scheduler.Outcome{Accepted: true}}, refused...)
	for _, x := range []struct {
		what   string
		every  time.Duration
		floor  wakeFloor
		events []scheduler.Event
		told   int
		says   string
	}{
		{"wakes", time.Millisecond, wakeFloor{}, wake, 2, "the policy p asks for rounds without pause"},
		{"refusals", time.Millisecond, wakeFloor{}, refused, 2, "refused within 499ms, the last a launch: no capacity, no slot"},
		{"only refusals, a few", time.Second, wakeFloor{}, refused, 1, "the policy p decides in vain: all 10 decisions that were answered within 10s were refused, the last a launch: no capacity, no slot"},
		{"refusals beside what is accepted", time.Second, wakeFloor{}, mixed, 0, ""},
		{"a refusal now and then", 3 * time.Second, wakeFloor{}, refused, 0, ""},
		{"slow wakes", 50 * time.Millisecond, wakeFloor{min: 10 * time.Millisecond}, wake, 0, ""},
		{"wakes at the floor", 10 * time.Millisecond, wakeFloor{10 * time.Millisecond, true}, wake, 2, "500 within 4.99s told it nothing but the time"},
		{"hurried wakes at a high floor", time.Second, wakeFloor{time.Second, true}, wake, 2, "10 within 9s told it nothing but the time, and each came only when core.wakeMin (1s) had passed"},
		{"wakes as rare as a high floor", time.Second, wakeFloor{time.Second, false}, wake, 0, ""},
		{"hurried wakes, some of them", 3 * time.Second, wakeFloor{time.Second, true}, wake, 0, ""},
		{"something else", time.Millisecond, wakeFloor{}, []scheduler.Event{scheduler.TimePassed{}, scheduler.JobSubmitted{}}, 0, ""},
	} {
		w, told, now := busyWatch{}, 0, time.Unix(1000, 0)
		for at := time.Duration(0); at < 2*x.floor.window(); at += x.every {
			text := w.round(now.Add(at), "p", x.floor, &scheduler.Round{Events: x.events})
			if text != "" {
				told++
			}
			if text != "" && !strings.Contains(text, x.says) {
				t.Errorf("%s: %q", x.what, text)
			}
		}
		if told != x.told {
			t.Errorf("%s: told %d times, want %d", x.what, told, x.told)
		}
	}
}

// A policy that hangs in its start is a problem of its own while it does.
func TestHangInStartIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(t.Context(), Needs{Log: slog.New(slog.DiscardHandler), Stats: metrics.New(), Conditions: &Conditions{}})
		answered := s.needs.watchStart(&policyProcess{name: "p"}, time.Second)
		if _, told := s.needs.Conditions.Of(ConditionStart); told {
			t.Error("it is told at once")
		}
		time.Sleep(2 * time.Second)
		if c, told := s.needs.Conditions.Of(ConditionStart); !told || !strings.Contains(c.Text, "the policy p has not answered its start for 1s") {
			t.Errorf("%v %v", c, told)
		}
		answered()
		if _, told := s.needs.Conditions.Of(ConditionStart); told {
			t.Error("it stays")
		}
	})
}
