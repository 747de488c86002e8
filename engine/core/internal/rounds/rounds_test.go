package rounds_test

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/coretest"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// answer returns an answer to a round, with some decisions.
func answer(t *testing.T, to *step.AskPolicy, d scheduler.Decisions) *wire.PolicyAnswer {
	t.Helper()
	data, err := schedwire.EncodeDecisions(&d)
	if err != nil {
		t.Fatal(err)
	}
	return &wire.PolicyAnswer{Generation: to.Generation, Round: to.Round.Number, Decisions: data}
}

func round(t *testing.T, h *coretest.Core) *step.AskPolicy {
	t.Helper()
	h.Later(time.Second)
	ask := h.Rounds.StartRound()
	if ask == nil {
		t.Fatal("no round is due")
	}
	return ask
}

// gone lists the generations that the current step ends, with the reason.
func gone(h *coretest.Core) (list []step.PolicyGone) {
	for _, todo := range h.Step.Effects() {
		if g, is := todo.Action.(step.PolicyGone); is {
			list = append(list, g)
		}
	}
	return list
}

// Each decision has one outcome in the next round, in the order of the contract, also when the
// answer takes several steps.
func TestEachDecisionHasOneOutcome(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 2)
	j := h.Job(coretest.Maps(3))
	ask := round(t, h)
	var d scheduler.Decisions
	for i := range j.Bundles {
		d.Launch = append(d.Launch, scheduler.Launch{Bundle: j.Bundles[i].ID(), Launchers: []scheduler.LauncherID{l.ID}})
	}
	d.Preempt = []scheduler.Preempt{{For: j.ID, Victims: []scheduler.AttemptID{99}, Mode: scheduler.PreemptKill}}
	d.Resume = []scheduler.Resume{{Attempt: 98}}
	h.Step.Set.StepWork = 2 * step.WorkDecide
	h.Later(time.Second)
	h.Rounds.Answer(answer(t, ask, d))
	if h.Policy.PendingAnswer() == nil || len(j.Attempts()) > 0 {
		t.Fatal("five decisions are applied in a step that may do two")
	}
	for n := 0; h.Policy.PendingAnswer() != nil; n++ {
		if n > 3 || h.Rounds.StartRound() != nil {
			t.Fatal("the next round leaves before the answer is applied")
		}
		h.Later(time.Second)
		h.Rounds.ApplyAnswer()
	}
	type outcome struct {
		kind   scheduler.DecisionKind
		index  int
		reason scheduler.RefusalReason
	}
	var got []outcome
	for _, e := range round(t, h).Round.Events {
		if o, is := e.(scheduler.Outcome); is {
			got = append(got, outcome{o.Kind, o.Index, o.Reason})
			if o.Round != ask.Round.Number || o.Accepted != (o.Reason == scheduler.NotRefused) {
				t.Errorf("%+v", o)
			}
		}
	}
	want := []outcome{
		{scheduler.DecisionPreempt, 0, scheduler.UnknownID},
		{scheduler.DecisionResume, 0, scheduler.UnknownID},
		{scheduler.DecisionLaunch, 0, scheduler.NotRefused},
		{scheduler.DecisionLaunch, 1, scheduler.NotRefused},
		{scheduler.DecisionLaunch, 2, scheduler.NoCapacity},
	}
	if len(got) != len(want) {
		t.Fatalf("the outcomes are %v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("outcome %d is %v, want %v", i, got[i], want[i])
		}
	}
	h.Checked()
}

// An answer to another round, of another generation, or given twice changes nothing.
func TestAnswersThatAreNotAwaited(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 4)
	j := h.Job(coretest.Maps(2))
	ask := round(t, h)
	launch := func(i int) scheduler.Decisions {
		return scheduler.Decisions{Launch: []scheduler.Launch{{Bundle: j.Bundles[i].ID(), Launchers: []scheduler.LauncherID{l.ID}}}}
	}
	for _, change := range []func(*wire.PolicyAnswer){
		func(m *wire.PolicyAnswer) { m.Round++ },
		func(m *wire.PolicyAnswer) { m.Generation++ },
	} {
		m := answer(t, ask, launch(0))
		change(m)
		h.Rounds.Answer(m)
	}
	if len(j.Attempts()) > 0 || !h.Policy.State().InFlight {
		t.Fatalf("%d attempts run", len(j.Attempts()))
	}
	h.Rounds.Answer(answer(t, ask, launch(0)))
	h.Rounds.Answer(answer(t, ask, launch(1)))
	if len(j.Attempts()) != 1 || j.Bundles[1].Phase() != state.BundleReady {
		t.Errorf("%d attempts run, and the second bundle is %v", len(j.Attempts()), j.Bundles[1].Phase())
	}
}

// A policy whose answer can't be read, or is too large, is ended with the reason. Reservations for
// its plans are released, and running attempts continue.
func TestABreachEndsAPolicy(t *testing.T) {
	for what, breach := range map[string]func(*coretest.Core, *wire.PolicyAnswer){
		"unreadable": func(_ *coretest.Core, m *wire.PolicyAnswer) { m.Decisions = []byte{0xff} },
		"too large":  func(h *coretest.Core, _ *wire.PolicyAnswer) { h.Step.Set.PolicyLimits.AnswerBytes = 1 },
		"too many":   func(h *coretest.Core, _ *wire.PolicyAnswer) { h.Step.Set.PolicyLimits.Decisions = 1 },
	} {
		h := coretest.New(t)
		h.StartPolicy(0)
		l := h.Launcher("a", 4)
		j := h.Job(coretest.Maps(2))
		h.RunBundle(j, 0, l)
		ask := round(t, h)
		one := scheduler.Launch{Bundle: j.Bundles[1].ID(), Launchers: []scheduler.LauncherID{l.ID}}
		m := answer(t, ask, scheduler.Decisions{Launch: []scheduler.Launch{one, one}})
		breach(h, m)
		h.Rounds.Answer(m)
		if g := gone(h); len(g) != 1 || g[0].Generation != ask.Generation || g[0].Breach == "" || h.Policy.Current() != nil {
			t.Errorf("%s: %+v", what, g)
		}
		if len(j.Attempts()) != 1 {
			t.Errorf("%s: %d attempts run", what, len(j.Attempts()))
		}
		h.Checked()
	}
}
