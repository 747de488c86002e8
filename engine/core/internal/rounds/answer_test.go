package rounds_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/coretest"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A decision about something missing, not ready or not the policy's to decide is refused with the
// reason, and changes nothing. The outcome carries the decision. Statements about such things are
// dropped. Texts are truncated.
func TestWhatAPolicySaysIsHeldAgainstWhatThereIs(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	type decisions = scheduler.Decisions
	launch := func(b scheduler.BundleID, on ...scheduler.LauncherID) decisions {
		return decisions{Launch: []scheduler.Launch{{Bundle: b, Launchers: on}}}
	}
	for what, c := range map[string]struct {
		say  func(j *state.Job, l *state.Launcher, a *state.Attempt) decisions
		want scheduler.RefusalReason // 0: there is no outcome
	}{
		"a bundle that is not there": {func(_ *state.Job, l *state.Launcher, _ *state.Attempt) decisions { return launch(math.MaxUint64, l.ID) }, scheduler.UnknownID},
		"a bundle that is not ready": {func(j *state.Job, l *state.Launcher, _ *state.Attempt) decisions {
			return launch(j.Bundles[2].ID(), l.ID)
		}, scheduler.NotReady},
		"a bundle that runs": {func(j *state.Job, l *state.Launcher, _ *state.Attempt) decisions {
			return launch(j.Bundles[0].ID(), l.ID)
		}, scheduler.NotReady},
		"a launcher that is not there": {func(j *state.Job, _ *state.Launcher, _ *state.Attempt) decisions {
			return launch(j.Bundles[1].ID(), 999)
		}, scheduler.UnknownID},
		"one group on two launchers": {func(j *state.Job, l *state.Launcher, _ *state.Attempt) decisions {
			return launch(j.Bundles[1].ID(), l.ID, l.ID)
		}, scheduler.WrongShape},
		"a group on no launcher": {func(j *state.Job, _ *state.Launcher, _ *state.Attempt) decisions { return launch(j.Bundles[1].ID()) }, scheduler.WrongShape},
		"a victim that is not there": {func(j *state.Job, _ *state.Launcher, _ *state.Attempt) decisions {
			return decisions{Preempt: []scheduler.Preempt{{Victims: []scheduler.AttemptID{999}, Mode: scheduler.PreemptKill, For: j.ID}}}
		}, scheduler.UnknownID},
		"a victim for no job": {func(_ *state.Job, _ *state.Launcher, a *state.Attempt) decisions {
			return decisions{Preempt: []scheduler.Preempt{{Victims: []scheduler.AttemptID{a.ID}, Mode: scheduler.PreemptKill, For: 999}}}
		}, scheduler.UnknownID},
		"a victim for another's bundle": {func(j *state.Job, _ *state.Launcher, a *state.Attempt) decisions {
			return decisions{Preempt: []scheduler.Preempt{{Victims: []scheduler.AttemptID{a.ID}, Mode: scheduler.PreemptKill, For: j.ID, Bundle: 999}}}
		}, scheduler.UnknownID},
		"what is not suspended": {func(_ *state.Job, _ *state.Launcher, a *state.Attempt) decisions {
			return decisions{Resume: []scheduler.Resume{{Attempt: a.ID}}}
		}, scheduler.NotSuspended},
		"a reservation for a bundle that is not there": {func(_ *state.Job, l *state.Launcher, _ *state.Attempt) decisions {
			return decisions{Reserve: []scheduler.Reserve{{Bundle: math.MaxUint64, Launchers: []scheduler.LauncherID{l.ID}, Until: math.MaxInt64}}}
		}, scheduler.UnknownID},
		"a job that is in": {func(j *state.Job, _ *state.Launcher, _ *state.Attempt) decisions {
			return decisions{Admit: []scheduler.Admit{{Job: j.ID, Pool: long}}}
		}, scheduler.NotAsked},
		"the refusal of one that is in": {func(j *state.Job, _ *state.Launcher, _ *state.Attempt) decisions {
			return decisions{Refuse: []scheduler.Refuse{{Job: j.ID, Reason: long}}}
		}, scheduler.NotAsked},
		"the refusal of none": {func(*state.Job, *state.Launcher, *state.Attempt) decisions {
			return decisions{Refuse: []scheduler.Refuse{{Job: 999, Reason: long}}}
		}, scheduler.UnknownID},
		"why no job waits": {func(*state.Job, *state.Launcher, *state.Attempt) decisions {
			return decisions{Waiting: []scheduler.Waiting{{Job: 999, Detail: long}}}
		}, 0},
		"why a job waits, at length": {func(j *state.Job, _ *state.Launcher, _ *state.Attempt) decisions {
			return decisions{Waiting: []scheduler.Waiting{{Job: j.ID, Reason: scheduler.WaitTurn, Detail: long}}}
		}, 0},
		"an answer that nobody asked": {func(*state.Job, *state.Launcher, *state.Attempt) decisions {
			return decisions{Answers: []scheduler.Answer{{Request: 999, Status: 1, Body: []byte(long)}}}
		}, 0},
		"a verdict that nobody asked": {func(*state.Job, *state.Launcher, *state.Attempt) decisions {
			return decisions{Settings: []scheduler.SettingsVerdict{{Version: 999, Abilities: scheduler.AbilityAdmission}}}
		}, 0},
		"a checkpoint without ability": {func(*state.Job, *state.Launcher, *state.Attempt) decisions {
			return decisions{Checkpoint: &scheduler.Checkpoint{Data: []byte("x")}}
		}, 0},
	} {
		h := coretest.New(t)
		h.StartPolicy(0)
		l := h.Launcher("a", 8)
		j := h.Job(coretest.MapReduce(2, 1))
		a := h.RunBundle(j, 0, l).Attempts[0]
		before := coretest.PhasesOf(j)
		ask := round(t, h)
		h.Later(time.Second)
		said := c.say(j, l, a)
		h.Rounds.Answer(answer(t, ask, said))
		if list := gone(h); len(list) > 0 {
			t.Errorf("%s: the policy is ended: %v", what, list)
			continue
		}
		if got := coretest.PhasesOf(j); got != before || a.Stop() != nil || len(j.Attempts()) != 1 || h.Policy.Has(scheduler.AbilityAdmission) {
			t.Errorf("%s: %s stands at %q, not %q, with %d attempts", what, j.ID, got, before, len(j.Attempts()))
		}
		if n := len(j.Waits.Policy().Detail); n > h.Step.Set.ReasonBytes {
			t.Errorf("%s: %d bytes are kept of it", what, n)
		}
		if len(h.Replies()) > 0 {
			t.Errorf("%s: somebody is answered: %v", what, h.Replies())
		}
		var got []scheduler.RefusalReason
		h.Later(time.Second)
		if next := h.Rounds.StartRound(); next != nil {
			for _, e := range next.Round.Events {
				if o, is := e.(scheduler.Outcome); is {
					got = append(got, o.Reason)
					if of := decisionOf(o); fmt.Sprint(of) != fmt.Sprint(said) {
						t.Errorf("%s: the outcome is of %+v, want %+v", what, of, said)
					}
					if len(o.Detail) > h.Step.Set.ReasonBytes {
						t.Errorf("%s: the reason has %d bytes", what, len(o.Detail))
					}
				}
			}
		}
		if c.want == 0 && len(got) > 0 || c.want != 0 && (len(got) != 1 || got[0] != c.want) {
			t.Errorf("%s: the outcomes are %v, want %v", what, got, c.want)
		}
		h.Checked()
	}
}

// decisionOf returns the decision that an outcome carries.
func decisionOf(o scheduler.Outcome) (d scheduler.Decisions) {
	switch o.Kind {
	case scheduler.DecisionRefuse:
		d.Refuse = []scheduler.Refuse{o.Refuse}
	case scheduler.DecisionAdmit:
		d.Admit = []scheduler.Admit{o.Admit}
	case scheduler.DecisionPreempt:
		d.Preempt = []scheduler.Preempt{o.Preempt}
	case scheduler.DecisionResume:
		d.Resume = []scheduler.Resume{o.Resume}
	case scheduler.DecisionLaunch:
		d.Launch = []scheduler.Launch{o.Launch}
	case scheduler.DecisionReserve:
		d.Reserve = []scheduler.Reserve{o.Reserve}
	}
	return d
}
