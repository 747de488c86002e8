package policystate

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint/codectest"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

const gap = time.Millisecond

// start makes a generation take over.
func start(t interface{ Fatal(...any) }, x *Session, number uint64, a scheduler.Ability) {
	x.BeginGeneration(number, "p", false)
	x.FinishSnapshot(1)
	if !x.Started(number, "name", "1", a, 0) {
		t.Fatal("it was not taken for the one that is being started")
	}
	if _, yes := x.CutOver(); !yes {
		t.Fatal("it did not take over")
	}
}

// One round is in flight at a time, and its answer counts once. Answers to other rounds are counted
// and dropped. Events since then are sent in the next round, once.
func TestRoundsAndAnswers(t *testing.T) {
	var x Session
	if x.Due(5, Gaps{Any: gap}) {
		t.Error("a round is due without a policy")
	}
	start(t, &x, 7, 0)
	now := scheduler.Time(time.Second)
	if !x.Due(now, Gaps{Any: gap}) || !x.Current().Wanted() || !x.Current().Fresh() {
		t.Error("no first round is due")
	}
	r := x.Ask(now, nil)
	x.Notify(scheduler.TimePassed{At: now + 1})
	if x.Due(now.Add(time.Hour), Gaps{Any: gap}) {
		t.Error("a second round is due while one is in flight")
	}
	for _, wrong := range [][2]uint64{{6, r.Number}, {7, r.Number + 1}} {
		if x.Answers(wrong[0], wrong[1]) {
			t.Errorf("an answer of generation %d to round %d counts", wrong[0], wrong[1])
		}
	}
	if !x.Answers(7, r.Number) {
		t.Fatal("the answer does not count")
	}
	x.BeginAnswer(nil, scheduler.Decisions{})
	if x.Answers(7, r.Number) {
		t.Error("the answer counts twice")
	}
	x.AnswerApplied()
	if got := x.State(); got.Dropped != 3 || got.InFlight {
		t.Errorf("%+v", got)
	}
	if x.Due(now, Gaps{Any: gap}) {
		t.Error("the next round is due before the gap")
	}
	if at, ok := x.Wake(Gaps{Any: gap, Refused: gap}, false); !ok || at != now.Add(gap) {
		t.Errorf("the next round is to be looked at at %d, %t", at, ok)
	}
	if r := x.Ask(now.Add(gap), nil); len(r.Events) != 1 || r.Number != 2 {
		t.Errorf("the next round is %+v", r)
	}
	if x.Current().Wanted() {
		t.Error("an event is told twice")
	}
}

// A policy that always asks to be woken at once is woken on time first, then once in each wakeMin.
// Other events still come at once. A copy of the state wakes it at the same times.
func TestWakesAreSpaced(t *testing.T) {
	const wakeMin = 10 * gap
	var x Session
	start(t, &x, 1, 0)
	now, wakes := scheduler.Time(time.Second), []scheduler.Time{}
	ask := func() {
		r := x.Ask(now, nil)
		for _, e := range r.Events {
			if e, is := e.(scheduler.TimePassed); is {
				wakes = append(wakes, e.At)
			}
		}
		x.Answers(1, r.Number)
		x.BeginAnswer(nil, scheduler.Decisions{})
		x.AnswerApplied()
		x.Current().WakeAt(now + 1)
	}
	ask()
	first := now.Add(gap) // as soon as a round may start
	for range 3 {
		at, yes := x.Wake(Gaps{Any: gap, Refused: gap, Wake: wakeMin}, false)
		if !yes {
			t.Fatal("the policy is not woken")
		}
		if at > first.Add(gap) && x.Due(at-1, Gaps{Any: gap, Wake: wakeMin}) && x.Current().Wanted() {
			t.Errorf("it is woken before %d", at)
		}
		var back Session
		codectest.Read(t, codectest.Bytes(t, x.Code), back.Code)
		if again, yes := back.Wake(Gaps{Any: gap, Refused: gap, Wake: wakeMin}, false); !yes || again != at {
			t.Errorf("it is woken at %d, and at %d after a restart", at, again)
		}
		now = at
		if !x.Due(now, Gaps{Any: gap, Wake: wakeMin}) {
			t.Fatalf("no round is due at %d", now)
		}
		ask()
	}
	if want := []scheduler.Time{first, first.Add(wakeMin), first.Add(2 * wakeMin)}; !slices.Equal(wakes, want) {
		t.Errorf("it is woken at %v, want %v", wakes, want)
	}
	x.Notify(scheduler.JobFinished{At: now})
	if at, yes := x.Wake(Gaps{Any: gap, Refused: gap, Wake: wakeMin}, false); !yes || at != now.Add(gap) {
		t.Errorf("another event comes at %d, want %d", at, now.Add(gap))
	}
}

// A generation that is being started gets the events for the finished part of its snapshot, and no
// others. It takes over between two rounds. If it fails, the current generation is not affected.
func TestTheNextGeneration(t *testing.T) {
	var x Session
	start(t, &x, 1, 0)
	x.Ask(10, nil)
	x.BeginGeneration(2, "p", false)
	g := x.Building()
	g.BeginLauncher(3)
	g.BeginJob(5)
	g.BundleAdded()
	g.BundleAdded()
	x.NotifyLauncher(4, scheduler.LauncherLost{At: 11, Launcher: 4})
	x.NotifyLauncher(3, scheduler.LauncherLost{At: 12, Launcher: 3})
	x.NotifyJob(6, scheduler.JobFinished{At: 13, Job: 6})
	x.NotifyBundle(5, 2, scheduler.BundleWithdrawn{At: 14, Bundle: 2})
	x.NotifyBundle(5, 1, scheduler.BundleWithdrawn{At: 15, Bundle: 1})
	x.NotifyBundle(4, 9, scheduler.BundleWithdrawn{At: 16, Bundle: 9})
	g.Add(scheduler.JobSubmitted{At: 9})
	var at []scheduler.Time
	for _, e := range x.FinishSnapshot(20).Snapshot().Events {
		at = append(at, e.When())
	}
	if !slices.Equal(at, []scheduler.Time{9, 12, 15, 16}) {
		t.Errorf("the snapshot tells what was at %v", at)
	}
	if !x.Started(2, "new", "2", scheduler.AbilityAdmission, 0) || x.Started(3, "", "", 0, 0) {
		t.Error("another than the one that is being started was taken")
	}
	if _, yes := x.CutOver(); yes {
		t.Error("it took over in the middle of a round")
	}
	if x.Last.Admits() {
		t.Error("what it can counts before it decides")
	}
	if x.Fail(9, "?") != FailedNone || x.Fail(1, "gone") != FailedCurrent {
		t.Error("which generation failed is not known")
	}
	if old, yes := x.CutOver(); !yes || old != nil || x.Current().Number != 2 || !x.Last.Admits() {
		t.Errorf("after the failure %+v decides", x.Current())
	}
	x.BeginGeneration(3, "p", false)
	if x.BeginGeneration(4, "p", false) != 3 || x.Fail(4, "no") != FailedNext || x.Current().Number != 2 {
		t.Error("a start that failed touched the policy that runs")
	}
}

// A person's request ends once: by its answer, or when it is given up.
func TestWhatIsAsked(t *testing.T) {
	var x Session
	s := &step.Step{Set: step.DefaultSettings()}
	s.Set.RequestsMax, s.Set.NotesMax = 2, 1
	replies := func() (clients []uint64) {
		for _, todo := range s.Effects() {
			if r, yes := todo.Action.(step.Reply); yes {
				clients = append(clients, r.Client)
			}
		}
		s.End()
		return clients
	}
	var last uint64
	next := func() uint64 { last++; return last }
	if x.Request(s, next, &wire.PolicyRequest{Client: 39}); last != 0 || !slices.Equal(replies(), []uint64{39}) {
		t.Error("a request without a policy is not refused")
	}
	start(t, &x, 1, scheduler.AbilityLoggedRequests)
	for client := range uint64(3) {
		x.Request(s, next, &wire.PolicyRequest{Client: 40 + client})
	}
	if got := replies(); !slices.Equal(got, []uint64{42}) || last != 2 {
		t.Errorf("of three requests, where two may be under way, those of %v are refused; %d were given an id", got, last)
	}
	x.Requests.Answer(s, &scheduler.Answer{Request: 2})
	x.Requests.Answer(s, &scheduler.Answer{Request: 2})
	x.Requests.Expire(s, 2)
	if got := replies(); !slices.Equal(got, []uint64{41}) {
		t.Errorf("a request ends once: replies to %v", got)
	}
	x.BeginGeneration(2, "p", false)
	x.FinishSnapshot(2)
	x.Started(2, "without", "1", 0, 0)
	x.CutOver()
	x.PassRequests(s)
	if got := replies(); !slices.Equal(got, []uint64{40}) {
		t.Errorf("the next policy has no pages: replies to %v", got)
	}
}

// asking is a session that is asked for verdicts on settings.
type asking struct {
	Session
	t *testing.T
	s *step.Step
}

func newAsking(t *testing.T) *asking {
	return &asking{t: t, s: &step.Step{Set: step.DefaultSettings()}}
}

func (a *asking) change(version uint64) {
	a.t.Helper()
	message, err := schedwire.NewConfig(scheduler.Config{})
	if err != nil {
		a.t.Fatal(err)
	}
	config, err := proto.Marshal(message)
	if err != nil {
		a.t.Fatal(err)
	}
	a.ChangeSettings(a.s, &wire.SettingsChange{Version: version, Config: config})
}

// round sends the policy its events, a while after the last step.
func (a *asking) round(after time.Duration) {
	a.s.Begin(a.s.Now.Add(after))
	r := a.Ask(a.s.Now, nil)
	a.Answers(a.Current().Number, r.Number)
	a.AnswerApplied()
}

// says compares the recorded verdicts with the wanted ones, as version, generation, source, and
// number of problems.
func (a *asking) says(want ...string) {
	a.t.Helper()
	var said []string
	for _, todo := range a.s.Effects() {
		v := todo.Action.(step.SettingsVerdict)
		word := map[step.VerdictSource]string{step.VerdictAnswered: "judged", step.VerdictTimedOut: "unanswered", step.VerdictNotAsked: "untold"}[v.Source]
		said = append(said, fmt.Sprint(v.Version, " ", v.Generation, " ", word, " ", len(v.Problems)))
	}
	a.s.End()
	if !slices.Equal(said, want) {
		a.t.Errorf("verdicts %q, want %q", said, want)
	}
}

// Each version of settings has one verdict of the policy. What a policy can do changes with the
// version that it accepts.
func TestVerdicts(t *testing.T) {
	x := newAsking(t)
	start(t, &x.Session, 1, 0)
	x.ChangeSettings(x.s, &wire.SettingsChange{Version: 8, Config: []byte{1}})
	if x.says("8 0 judged 1"); x.s.Timers() != 0 {
		t.Error("a verdict is awaited of settings that can't be read")
	}
	for version := range uint64(3) {
		x.change(10 + version)
	}
	x.round(time.Second)
	if !x.Verdict(x.s, scheduler.SettingsVerdict{Version: 11, Abilities: scheduler.AbilityLoad}) || !x.Has(scheduler.AbilityLoad) {
		t.Error("the policy can hear loads from now on")
	}
	x.Verdict(x.s, scheduler.SettingsVerdict{Version: 11})
	x.Verdict(x.s, scheduler.SettingsVerdict{Version: 10, Problems: scheduler.Problems{{Message: "no"}}})
	x.says("11 1 judged 0", "10 0 judged 1")
}

// Settings that no policy received have no verdict: without a policy, when it failed before the
// round that would have sent them, and when another took over.
func TestUntoldSettingsAreNotJudged(t *testing.T) {
	x := newAsking(t)
	if x.change(1); x.s.Timers() != 0 {
		t.Error("a verdict is awaited of no policy")
	}
	x.says("1 0 untold 1")
	start(t, &x.Session, 1, 0)
	x.change(2)
	x.round(time.Second)
	x.change(3)
	x.Fail(1, "it died")
	x.Changes.Fail(x.s, "it died")
	x.says("2 0 unanswered 1", "3 0 untold 1")
	start(t, &x.Session, 2, 0)
	x.change(4)
	x.round(time.Second)
	start(t, &x.Session, 3, 0)
	x.Changes.Pass(x.s)
	x.Changes.Fail(x.s, "once more")
	x.says("4 0 untold 1")
	if x.Verdict(x.s, scheduler.SettingsVerdict{Version: 4}); len(x.s.Effects()) != 0 {
		t.Error("a policy judges what another was asked")
	}
}

// The wait for a verdict begins with the round that sends the settings. A later verdict counts all
// the same, since the policy has taken the settings over.
func TestLateVerdicts(t *testing.T) {
	x := newAsking(t)
	start(t, &x.Session, 1, 0)
	wait := x.s.Set.SettingsTimeout
	x.change(5)
	due := func(after time.Duration) {
		t.Helper()
		x.s.Begin(x.s.Now.Add(after))
		if !x.s.TimerDue() {
			t.Fatal("nobody looks for the verdict any more")
		}
		_, version := x.s.TakeTimer()
		x.Changes.Expire(x.s, version)
	}
	due(wait)
	x.says()
	x.round(wait / 2)
	due(wait / 2)
	x.says()
	due(wait / 2)
	x.says("5 0 unanswered 1")
	x.Verdict(x.s, scheduler.SettingsVerdict{Version: 5})
	x.says("5 1 judged 0")
	x.change(6)
	x.round(time.Second)
	x.s.Begin(x.s.Now.Add(wait))
	x.change(7)
	x.Changes.Fail(x.s, "it died")
	x.says("6 0 unanswered 1", "7 0 untold 1")
}

// Notes are bounded, and a dropped one is reported. A shell's note is sent to its own policy only,
// also before that has taken over.
func TestNotesOfAShell(t *testing.T) {
	x, s := &Session{}, &step.Step{Set: step.DefaultSettings()}
	start(t, x, 1, 0)
	x.BeginGeneration(2, "p", false)
	for generation, name := range map[uint64]string{1: "old", 2: "new", 3: "unknown"} {
		x.Note(s, generation, scheduler.Note{Name: name})
	}
	x.Note(s, 0, scheduler.Note{Name: "current"})
	names := func(g *Generation) (list []string) {
		for _, e := range g.events {
			if n, ok := e.(scheduler.Noted); ok {
				list = append(list, n.Note.Name)
			}
		}
		slices.Sort(list)
		return list
	}
	if old, fresh := names(x.current), names(x.next); !slices.Equal(old, []string{"current", "old"}) || !slices.Equal(fresh, []string{"new"}) {
		t.Errorf("the one that decides is told %q, the one that starts %q", old, fresh)
	}
	if !x.Started(2, "p", "1", 0, 0) {
		t.Fatal("it did not start")
	}
	x.CutOver()
	x.Note(s, 1, scheduler.Note{Name: "late"})
	if got := names(x.current); !slices.Equal(got, []string{"new"}) {
		t.Errorf("the one that took over is told %q", got)
	}
}

func TestNotesAreBounded(t *testing.T) {
	var x Session
	s := &step.Step{Set: step.DefaultSettings()}
	s.Set.NotesMax = 1
	start(t, &x, 1, 0)
	x.Note(s, 0, scheduler.Note{Name: "a"})
	x.Note(s, 0, scheduler.Note{Name: "b"})
	if got := fmt.Sprint(s.Effects()); x.Events() != 1 || !strings.Contains(got, "was not delivered") || !strings.Contains(got, "{note b}") {
		t.Errorf("%d notes wait, and this is said: %s", x.Events(), got)
	}
}

// After any history, the state is read back as written, and a clone does not change.
func TestStateComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x Session
		s := &step.Step{Set: step.DefaultSettings()}
		for now := range scheduler.Time(rapid.IntRange(1, 40).Draw(t, "steps")) {
			n := rapid.Uint64Range(1, 4).Draw(t, "n")
			switch rapid.IntRange(0, 8).Draw(t, "do") {
			case 0:
				x.BeginGeneration(n, "p", false)
			case 1:
				if x.Building() != nil {
					x.FinishSnapshot(now)
				}
				x.Started(n, "name", "1", scheduler.Ability(n), 0)
				x.CutOver()
			case 2:
				x.Fail(n, "why")
			case 3:
				x.NotifyBundle(scheduler.JobID(n), 1, scheduler.BundleWithdrawn{At: now, Bundle: 1})
			case 4:
				if x.Due(now, Gaps{}) {
					x.Ask(now, nil)
				}
			case 5:
				if x.Answers(n, x.Asked()) {
					x.BeginAnswer(nil, scheduler.Decisions{})
				}
			case 6:
				if x.PendingAnswer() != nil {
					x.AnswerApplied()
					x.KeepCheckpoint(scheduler.Checkpoint{Version: uint32(n), Data: []byte{1}})
				}
			case 7:
				x.Request(s, func() uint64 { return uint64(now) + 1 }, &wire.PolicyRequest{Client: n})
				x.ChangeSettings(s, &wire.SettingsChange{Version: n})
			case 8:
				x.Requests.Expire(s, n)
				x.Changes.Expire(s, n)
			}
		}
		was := codectest.Bytes(t, x.Code)
		clone := x.Clone()
		var back Session
		codectest.Read(t, was, back.Code)
		if !bytes.Equal(codectest.Bytes(t, back.Code), was) {
			t.Fatal("it comes back as another state")
		}
		x.Notify(scheduler.TimePassed{At: 99})
		x.BeginGeneration(9, "q", false)
		x.Requests.Expire(s, 1)
		if !bytes.Equal(codectest.Bytes(t, clone.Code), was) {
			t.Fatal("a clone changed")
		}
	})
}

// Appended data is kept with the checkpoint, over restarts of the policy and the manager, within a
// bound on the sum. Another version, or too much data, is refused and changes nothing. A frozen
// state keeps what it had.
func TestACheckpointIsAppendedTo(t *testing.T) {
	var x Session
	start(t, &x, 1, scheduler.AbilityCheckpoint)
	keep := func(version uint32, data string, add bool) error {
		k := scheduler.Checkpoint{Version: version, Data: []byte(data), Append: add}
		err := x.CheckCheckpoint(k, 8)
		if err == nil {
			x.KeepCheckpoint(k)
		}
		return err
	}
	kept := func(x *Session) string {
		x.BeginGeneration(2, "p", false)
		k := x.FinishSnapshot(9).Snapshot().Checkpoint
		if k == nil || k.Append {
			return "none"
		}
		return fmt.Sprint(k.Version, " ", string(k.Data))
	}
	for _, step := range []struct {
		version uint32
		data    string
		add     bool
		refused string
		want    string
	}{
		{1, "ab", true, "", "1 ab"}, // to none
		{1, "cd", true, "", "1 abcd"},
		{1, "", true, "", "1 abcd"},
		{2, "x", true, "its checkpoint is of version 1, and what it appends of version 2: write the whole anew", "1 abcd"},
		{1, "efghi", true, "its checkpoint has 9 bytes, at most 8 are allowed: write less, and the whole anew where it is appended to", "1 abcd"},
		{1, "efgh", true, "", "1 abcdefgh"},
		{2, "123456789", false, "its checkpoint has 9 bytes, at most 8 are allowed: write less, and the whole anew where it is appended to", "1 abcdefgh"},
		{2, "x", false, "", "2 x"},
		{2, "y", true, "", "2 xy"},
	} {
		frozen, before := x.Clone(), kept(&x)
		text := ""
		if err := keep(step.version, step.data, step.add); err != nil {
			text = err.Error()
		}
		if got := kept(&x); got != step.want || text != step.refused {
			t.Errorf("%+v: it is %q, refused: %q", step, got, text)
		}
		if then := kept(&frozen); then != before {
			t.Errorf("%+v: what was frozen has %s, and it was %s", step, then, before)
		}
	}
}

// A round that would carry only accepted launches, besides offers, waits for Gaps.Launched, or for
// any other event.
func TestRoundsOfAcceptedLaunchesWait(t *testing.T) {
	const launched = 4 * gap
	gaps := Gaps{Any: gap, Launched: launched, Refused: gap}
	var x Session
	start(t, &x, 7, 0)
	now := scheduler.Time(time.Second)
	ask := func() {
		t.Helper()
		if !x.Due(now, gaps) {
			t.Fatal("no round is due")
		}
		r := x.Ask(now, nil)
		x.Answers(7, r.Number)
		x.BeginAnswer(nil, scheduler.Decisions{})
		x.Current().Launched()
		x.Notify(scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true})
		x.AnswerApplied()
	}
	ask()
	if at, yes := x.Wake(gaps, true); !yes || at != now.Add(launched) || x.Due(now.Add(launched-1), gaps) {
		t.Errorf("a round of a launch is to be looked at after %v", at.Sub(now))
	}
	x.Current().WakeAt(now.Add(2 * gap))
	if at, yes := x.Wake(gaps, false); !yes || at != now.Add(2*gap) || x.Due(at-1, gaps) || !x.Due(at, gaps) {
		t.Errorf("the policy asked to be woken after %v, and is after %v", 2*gap, at.Sub(now))
	}
	now = now.Add(2 * gap)
	ask()
	x.Notify(scheduler.AttemptEnded{})
	if at, yes := x.Wake(gaps, false); !yes || at != now.Add(gap) || !x.Due(at, gaps) {
		t.Errorf("with the end of an attempt, a round is to be looked at after %v", at.Sub(now))
	}
	now = now.Add(gap)
	ask()
	if now = now.Add(launched); !x.Due(now, gaps) || x.Current().launched != 1 {
		t.Errorf("%d launches were counted since the last round", x.Current().launched)
	}
}
