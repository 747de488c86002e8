package membership_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/core/internal/coretest"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// welcome returns the answer to the join of the current step.
func welcome(h *coretest.Core) (w step.Welcome) {
	for _, t := range h.Step.Effects() {
		if x, is := t.Action.(step.Welcome); is {
			w = x
		}
	}
	return w
}

func lose(h *coretest.Core, l *state.Launcher) {
	h.Membership.LauncherLost(&wire.LauncherLost{Launcher: uint64(l.ID), Incarnation: l.Incarnation(), Reason: "silent"})
}

// what lists a launcher's commands in short: "start 3, drop job 1".
func what(list []*wire.Command) string {
	var texts []string
	for _, c := range list {
		switch {
		case c.GetStart() != nil:
			texts = append(texts, fmt.Sprint("start ", c.GetStart().Attempt))
		case c.GetStop() != nil:
			texts = append(texts, fmt.Sprint("stop ", c.GetStop().Attempt))
		case c.GetForget() != 0:
			texts = append(texts, fmt.Sprint("forget ", c.GetForget()))
		case c.GetSuspend() != 0:
			texts = append(texts, fmt.Sprint("suspend ", c.GetSuspend()))
		case c.GetResume() != 0:
			texts = append(texts, fmt.Sprint("resume ", c.GetResume()))
		case c.GetDropOutput() != nil:
			texts = append(texts, fmt.Sprint("drop output ", c.GetDropOutput().Attempt))
		case c.GetDropJob() != 0:
			texts = append(texts, fmt.Sprint("drop job ", c.GetDropJob()))
		default:
			texts = append(texts, c.String())
		}
	}
	return strings.Join(texts, ", ")
}

// A name belongs to the data folder of the launcher that is up under it, and to its newest
// incarnation. A refused join changes nothing.
func TestWhoseANameIs(t *testing.T) {
	join := func(f func(*wire.Join)) *wire.Join {
		m := coretest.Joining("a", 1)
		m.Incarnation, m.Identity = 5, "mine"
		f(m)
		return m
	}
	for _, story := range []struct {
		up      bool
		join    *wire.Join
		refused string // "": it may join
		afresh  bool
	}{
		{true, join(func(m *wire.Join) { m.Identity = "other" }), "has not been lost yet", false},
		{true, join(func(m *wire.Join) { m.Identity, m.Incarnation = "other", 9 }), "has not been lost yet", false},
		{true, join(func(m *wire.Join) { m.Incarnation = 4 }), "a newer life of this launcher joined already", false},
		{true, join(func(*wire.Join) {}), "", false},
		{true, join(func(m *wire.Join) { m.Incarnation = 6 }), "", false},
		{false, join(func(*wire.Join) {}), "join as a new incarnation", true},
		{false, join(func(m *wire.Join) { m.Incarnation = 4 }), "a newer life of this launcher joined already", false},
		{false, join(func(m *wire.Join) { m.Identity, m.Incarnation = "other", 3 }), "", false},
		{false, join(func(m *wire.Join) { m.Incarnation = 6 }), "", false},
		{true, join(func(m *wire.Join) { m.Name = "" }), "1 to", false},
		{true, join(func(m *wire.Join) { m.Memory = -1 }), "its memory is negative", false},
		{true, join(func(m *wire.Join) { m.Slots[0].Kind = "" }), "a kind of its slots has no name", false},
		{true, join(func(m *wire.Join) { m.Name = "b" }), "1 launchers are up, which is the limit", false},
	} {
		h := coretest.New(t)
		h.Step.Set.LaunchersMax = 1
		h.Membership.Join(join(func(*wire.Join) {}))
		l := h.Cluster.LauncherNamed("a")
		if !story.up {
			lose(h, l)
		}
		h.Later(time.Second)
		h.Membership.Join(story.join)
		w := welcome(h)
		if story.refused == "" && w.Refused != "" || !strings.Contains(w.Refused, story.refused) || w.Afresh != story.afresh || (w.Launcher == l.ID) != (story.refused == "") {
			t.Errorf("up: %t, %v: it is told %+v", story.up, story.join, w)
		}
		if story.refused != "" && (l.Up != story.up || l.Identity() != "mine" || l.Incarnation() != 5 || h.Cluster.Launchers.Len() != 1) {
			t.Errorf("up: %t, %v: it was refused, and changed something", story.up, story.join)
		}
		h.Checked()
	}
}

// A launcher's inventory is compared with what it should have. It is never ordered again to start
// an attempt that it was ordered to start before and no longer has.
func TestInventory(t *testing.T) {
	const (
		running   = wire.AttemptInventory_STATE_RUNNING
		suspended = wire.AttemptInventory_STATE_SUSPENDED
		ended     = wire.AttemptInventory_STATE_ENDED
		nothing   = wire.AttemptInventory_STATE_UNSPECIFIED
	)
	no := func(*coretest.Core, *state.Attempt) {}
	started := func(h *coretest.Core, a *state.Attempt) { h.Attempts.Started(a, "") }
	stopped := func(h *coretest.Core, a *state.Attempt) {
		h.Dispatch.StopBundleAttempt(a.BundleAttempt, scheduler.Killed, "test", 0)
	}
	suspending := func(h *coretest.Core, a *state.Attempt) {
		started(h, a)
		h.Attempts.SuspendBundleAttempt(a.BundleAttempt)
	}
	rests := func(h *coretest.Core, a *state.Attempt) { suspending(h, a); h.Attempts.SuspendedNow(a) }
	resuming := func(h *coretest.Core, a *state.Attempt) {
		rests(h, a)
		h.Attempts.Resume(scheduler.Resume{Attempt: a.ID})
	}
	for _, story := range []struct {
		name  string
		was   func(*coretest.Core, *state.Attempt)
		has   wire.AttemptInventory_State
		seen  uint64
		told  string
		stand string
	}{
		{"its start was lost", no, nothing, 0, "start 1", "running"},
		{"its start came, and its end", no, nothing, 1, "", "ready"},
		{"its start came", no, running, 1, "start 1", "running"},
		{"it is gone", started, nothing, 0, "", "ready"},
		{"its end is to be told again", started, ended, 1, "", "running"},
		{"it was stopped and is gone", stopped, nothing, 1, "", "ready"},
		{"it was stopped and runs", stopped, running, 1, "start 1, stop 1", "running"},
		{"the word that it is suspended was lost", suspending, suspended, 1, "", "running"},
		{"the command to suspend was lost", suspending, running, 1, "suspend 1", "running"},
		{"it runs and should not", rests, running, 1, "suspend 1", "running"},
		{"it rests and should not", started, suspended, 1, "resume 1", "running"},
		{"the command to resume was lost", resuming, suspended, 1, "resume 1", "running"},
		{"the word that it runs again was lost", resuming, running, 1, "", "running"},
	} {
		h := coretest.New(t)
		h.StartPolicy(0)
		l := h.Launcher("a", 2)
		j := h.Job(coretest.Maps(1))
		if _, refused, why := h.Attempts.Launch(scheduler.Launch{Bundle: j.Bundles[0].ID(), Launchers: []scheduler.LauncherID{l.ID}}); refused != scheduler.NotRefused {
			t.Fatal(why)
		}
		story.was(h, j.Attempts()[0])
		h.Later(time.Second)
		m := coretest.Joining("a", 2)
		if story.has != nothing {
			m.Attempts = []*wire.AttemptInventory{{Attempt: 1, State: story.has}}
		}
		m.Attempts = append(m.Attempts, &wire.AttemptInventory{Attempt: 77, State: running}, &wire.AttemptInventory{Attempt: 78, State: ended})
		m.Seen = story.seen
		h.Membership.Join(m)
		want := strings.TrimSuffix("stop 77, forget 78, "+story.told, ", ")
		if got := what(h.Commands(l)); got != want || coretest.PhasesOf(j) != story.stand {
			t.Errorf("%s: it is told %q, not %q, and the bundle is %s", story.name, got, want, coretest.PhasesOf(j))
		}
		h.Checked()
	}
}

// When a launcher is lost, its attempts and stored outputs are lost too. Its later reports change
// nothing, and only a new incarnation may join.
func TestALauncherIsLost(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l, m := h.Launcher("a", 2), h.Launcher("b", 2)
	j := h.Job(coretest.MapReduce(3, 1))
	h.Finish(h.RunBundle(j, 0, l).Attempts[0], coretest.Stored(0, 0))
	h.Finish(h.RunBundle(j, 1, m).Attempts[0], coretest.Stored(0, 1))
	a := h.RunBundle(j, 2, l).Attempts[0]
	h.Membership.LauncherLost(&wire.LauncherLost{Launcher: uint64(l.ID), Incarnation: 7}) // of an incarnation that never was
	if !l.Up {
		t.Fatal("a word about another life of it counts")
	}
	lose(h, l)
	if got := coretest.PhasesOf(j); got != "ready finished ready waiting" || a.Outcome() != scheduler.Lost || h.Resources.Launchers.Up() != 1 {
		t.Fatalf("they are %s, its attempt is %v", got, a.Outcome())
	}
	h.Checked()
	h.Later(time.Second)
	stale, late := h.Step.Stats.StaleReports, h.Step.Stats.LateCommits
	for _, r := range []*wire.Report{
		{Incarnation: 1, What: &wire.Report_Started{Started: &wire.AttemptStarted{Attempt: uint64(a.ID)}}},
		{Incarnation: 1, What: &wire.Report_Ended{Ended: &wire.AttemptEnded{Attempt: uint64(a.ID), End: wire.End_END_FINISHED}}},
	} {
		h.Membership.Report(&wire.LauncherReport{Launcher: uint64(l.ID), Report: r})
	}
	if got := coretest.PhasesOf(j); got != "ready finished ready waiting" || h.Step.Stats.StaleReports != stale+2 || h.Step.Stats.LateCommits != late+1 || len(h.Commands(l)) > 0 {
		t.Errorf("they are %s, %d reports are stale, and the launcher is told %q", got, h.Step.Stats.StaleReports, what(h.Commands(l)))
	}
	h.Checked()
}

// The stored output of a gang's finished group is lost with its launcher before the gang commits:
// then the rest of the gang is stopped, wherever it runs.
func TestAGangLosesWhatOneHadStored(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l, m := h.Launcher("a", 1), h.Launcher("b", 1)
	spec := coretest.Gang(2)
	spec.Graph.Stages = append(spec.Graph.Stages, &wire.Stage{Name: "reads", Nodes: 1})
	spec.Graph.Connections = append(spec.Graph.Connections, &wire.Connection{
		FromStage: 0, ToStage: 2, FromPort: "more", ToPort: "in", Kind: wire.ChannelKind_CHANNEL_KIND_FILE, Pattern: wire.Pattern_PATTERN_ONE_TO_ONE,
	})
	r := h.RunBundle(h.Job(spec), 0, l, m)
	h.Finish(r.Attempts[0], coretest.Stored(1, 0))
	h.Later(time.Second)
	lose(h, l)
	if s := r.Attempts[1].Stop(); s == nil || s.Outcome != scheduler.Lost || what(h.Commands(m)) != "stop 2" {
		t.Errorf("the rest is stopped by %v, and its launcher is told %q", s, what(h.Commands(m)))
	}
	h.Finish(r.Attempts[1])
	if got := coretest.PhasesOf(r.Bundle.Job); got != "ready waiting" {
		t.Errorf("they are %s", got)
	}
	h.Checked()
}

// If a launcher's new incarnation joins before the old one was missed, running attempts are lost,
// and stored outputs that are still needed stay. It is ordered to delete the rest.
func TestANewLifeKeepsWhatIsStored(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 3)
	j := h.Job(coretest.MapReduce(3, 1))
	h.Finish(h.RunBundle(j, 0, l).Attempts[0], coretest.Stored(0, 0))
	h.Finish(h.RunBundle(j, 1, l).Attempts[0], coretest.Stored(0, 1))
	h.RunBundle(j, 2, l)
	h.Later(time.Second)
	anew := coretest.Joining("a", 3)
	anew.Incarnation, anew.Seen, anew.Jobs = 2, 3, []uint64{uint64(j.ID), 900}
	anew.Stored = []*wire.Stored{{Job: uint64(j.ID), Attempt: 2}, {Job: uint64(j.ID), Attempt: 55}, {Job: 800, Attempt: 56}}
	h.Membership.Join(anew)
	if got := coretest.PhasesOf(j); got != "ready finished ready waiting" || l.Outputs.Len() != 1 || len(l.Attempts()) != 0 {
		t.Errorf("they are %s, it keeps %v", got, l.Outputs)
	}
	if got := what(h.Commands(l)); got != "drop output 55, drop job 800, drop job 900" {
		t.Errorf("it is told %q", got)
	}
	h.Checked()
	h.Later(time.Second)
	anew.Stored = nil
	h.Membership.Join(anew) // its stream broke, and now its disk is empty
	if got := coretest.PhasesOf(j); got != "ready ready ready waiting" || what(h.Commands(l)) != "drop job 800, drop job 900" {
		t.Errorf("they are %s, and it is told %q", got, what(h.Commands(l)))
	}
	h.Checked()
}

// A job whose last attempt is lost with its launcher's incarnation is removed in slices. Outputs
// that the new incarnation stores for removed bundles are not needed.
func TestANewLifeWhileAJobLeaves(t *testing.T) {
	for left := range 3 {
		h := coretest.New(t)
		h.StartPolicy(0)
		l := h.Launcher("a", 3)
		j := h.Job(coretest.MapReduce(3, 1))
		h.Finish(h.RunBundle(j, 0, l).Attempts[0], coretest.Stored(0, 0))
		h.Finish(h.RunBundle(j, 1, l).Attempts[0], coretest.Stored(0, 1))
		h.RunBundle(j, 2, l)
		h.Later(time.Second)
		h.Admission.KillJob(&wire.KillJob{Job: uint64(j.ID)})
		h.Later(time.Second)
		h.Step.AddCost(h.Step.Set.StepWork - left)
		anew := coretest.Joining("a", 3)
		anew.Incarnation, anew.Seen, anew.Jobs = 2, 3, []uint64{uint64(j.ID)}
		anew.Stored = []*wire.Stored{{Job: uint64(j.ID), Attempt: 1}, {Job: uint64(j.ID), Attempt: 2}}
		h.Membership.Join(anew)
		if l.Outputs.Len() != 2-left {
			t.Errorf("with %d bundles that left it keeps %v", left, l.Outputs)
		}
		h.Checked()
		for range 5 {
			h.Later(time.Second)
			if len(h.Cluster.PendingWork()) > 0 {
				h.Jobs.Continue(h.Cluster.Jobs.Get(h.Cluster.PendingWork()[0]))
			}
			h.Checked()
		}
		if h.Cluster.Jobs.Len() != 0 || l.Outputs.Len() > 0 {
			t.Errorf("with %d bundles that left at first, %d jobs are there, and it keeps %v", left, h.Cluster.Jobs.Len(), l.Outputs)
		}
	}
}

// On a draining launcher nothing new starts and running attempts go on, also when it joins again,
// until the drain ends.
func TestDrain(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 3)
	j := h.Job(coretest.Maps(3))
	a := h.RunBundle(j, 0, l).Attempts[0]
	launch := func(i int) scheduler.RefusalReason {
		_, refused, _ := h.Attempts.Launch(scheduler.Launch{Bundle: j.Bundles[i].ID(), Launchers: []scheduler.LauncherID{l.ID}})
		return refused
	}
	drained := func() (list []bool) {
		for _, e := range h.NotifiedEvents() {
			if d, is := e.(scheduler.LauncherDraining); is {
				list = append(list, d.Draining)
			}
		}
		return list
	}
	h.Later(time.Second)
	h.Membership.Drain(&wire.DrainLauncher{Client: 4, Name: "b", Drain: true})
	if r := h.Replies(); len(r) != 1 || r[0].Failure.GetKind() != wire.ErrorKind_ERROR_KIND_INVALID {
		t.Errorf("to drain who is not there is answered with %v", r)
	}
	for range 2 {
		h.Membership.Drain(&wire.DrainLauncher{Name: "a", Drain: true})
	}
	if told := drained(); launch(1) != scheduler.LauncherUnavailable || !slices.Equal(told, []bool{true}) {
		t.Errorf("to launch there is refused with %v, and the policy is told %v", launch(1), told)
	}
	h.Finish(a)
	lose(h, l)
	anew := coretest.Joining("a", 3)
	anew.Incarnation = 2
	h.Membership.Join(anew)
	if told := drained(); launch(1) != scheduler.LauncherUnavailable || !slices.Equal(told, []bool{true}) || coretest.PhasesOf(j) != "finished ready ready" {
		t.Errorf("anew it is refused with %v, and the policy is told %v", launch(1), told)
	}
	h.Membership.Drain(&wire.DrainLauncher{Name: "a", Drain: false})
	if refused := launch(1); refused != scheduler.NotRefused {
		t.Errorf("after the drain it is refused with %v", refused)
	}
	h.Checked()
}

// A launcher that knows of later ids than the log shows that the log lost records. That is reported
// once, in the log and to each job, and new ids are above those it knows.
func TestTheLogLostRecords(t *testing.T) {
	for sign, f := range map[string]func(*wire.Join){
		"it was told to start attempt-70": func(m *wire.Join) { m.Seen = 70 },
		"it has work of job-70":           func(m *wire.Join) { m.Jobs = []uint64{1, 70} },
		"it obeyed a manager of term 70":  func(m *wire.Join) { m.Term = 70 },
		"":                                func(m *wire.Join) { m.Jobs = []uint64{1} },
	} {
		h := coretest.New(t)
		h.StartPolicy(0)
		j := h.Job(coretest.Maps(1))
		notes, lost := len(j.Notes.List()), 0
		for i := range 2 {
			m := coretest.Joining(string(rune('a'+i)), 1)
			f(m)
			if i == 1 && sign != "" { // a launcher with still larger ids adds no new loss
				m.Seen, m.Jobs, m.Term = 70, []uint64{70}, 70
			}
			h.Membership.Join(m)
		}
		for _, x := range h.Step.Effects() {
			if line, is := x.Action.(step.LogLine); is && line.Level == step.Error && line.Attrs[1].Value == sign {
				lost++
			}
		}
		if want := min(len(sign), 1); lost != want || h.Step.Stats.LogLosses != uint64(want) || len(j.Notes.List()) != notes+want {
			t.Errorf("%q: it is said %d times, counted %d times, with the notes %v", sign, lost, h.Step.Stats.LogLosses, j.Notes.List())
		}
		if top := max(uint64(h.IDs.LastJob()), uint64(h.IDs.LastAttempt()), h.Step.Term-min(h.Step.Term, 1)); (top == 70) != (sign != "") {
			t.Errorf("%q: ids go on at %d and %d, in term %d", sign, h.IDs.LastJob(), h.IDs.LastAttempt(), h.Step.Term)
		}
		h.Checked()
	}
}

// An unconfirmed command is sent again, at growing intervals. An attempt without any confirmation
// is given up. Its launcher stays, with everything else that runs there.
func TestAnAttemptOfWhichNothingIsConfirmed(t *testing.T) {
	for name, ask := range map[string]func(*coretest.Core, *state.Attempt){
		"start": func(*coretest.Core, *state.Attempt) {},
		"stop": func(h *coretest.Core, a *state.Attempt) {
			h.Attempts.Started(a, "")
			h.Dispatch.StopBundleAttempt(a.BundleAttempt, scheduler.Preempted, "test", 0)
		},
		"suspend": func(h *coretest.Core, a *state.Attempt) {
			h.Attempts.Started(a, "")
			h.Attempts.SuspendBundleAttempt(a.BundleAttempt)
		},
	} {
		h := coretest.New(t)
		h.StartPolicy(0)
		l := h.Launcher("a", 2)
		j, other := h.Job(coretest.Maps(1)), h.Job(coretest.Maps(1))
		for _, b := range []*state.Bundle{&j.Bundles[0], &other.Bundles[0]} {
			if _, refused, why := h.Attempts.Launch(scheduler.Launch{Bundle: b.ID(), Launchers: []scheduler.LauncherID{l.ID}}); refused != scheduler.NotRefused {
				t.Fatal(why)
			}
		}
		a, neighbour := j.Bundles[0].Attempts()[0].Attempts[0], other.Bundles[0].Attempts()[0].Attempts[0]
		h.Attempts.Started(neighbour, "")
		ask(h, a)
		h.Commands(l)
		sent := ""
		for range 100 {
			h.Later(h.Step.Set.CommandTimeout)
			if h.Due(step.TimerCommand, uint64(l.ID)) {
				h.Membership.Resend(l.ID)
			}
			h.Checked()
			if told := what(h.Commands(l)); told != "" {
				sent += told + "; "
			}
		}
		want := strings.Repeat(name+" 1; ", h.Step.Set.CommandTries) + "stop 1; "
		if sent != want || !l.Up || coretest.PhasesOf(j) != "ready" || coretest.PhasesOf(other) != "running" {
			t.Errorf("%s: launcher up: %t, its bundle is %s and its neighbour %s, after %q", name, l.Up, coretest.PhasesOf(j), coretest.PhasesOf(other), sent)
		}
		// A late report of it changes nothing.
		h.Attempts.EndedReport(l, &wire.AttemptEnded{Attempt: uint64(a.ID), End: wire.End_END_FINISHED})
		h.Checked()
		if told := what(h.Commands(l)); told != "forget 1" || coretest.PhasesOf(j) != "ready" {
			t.Errorf("%s: after a late end it is told %q, and the bundle is %s", name, told, coretest.PhasesOf(j))
		}
	}
}

// The names of lost launchers are kept up to a bound, the last ones.
func TestNamesOfTheLost(t *testing.T) {
	h := coretest.New(t)
	h.Step.Set.LaunchersKept = 2
	for _, name := range []string{"a", "b", "c", "d"} {
		h.Launcher(name, 1)
	}
	for _, name := range []string{"d", "a", "b"} {
		lose(h, h.Cluster.LauncherNamed(name))
		h.Checked()
	}
	if h.Cluster.LauncherNamed("a") != nil || h.Cluster.Launchers.Len() != 3 {
		t.Errorf("%d launchers are known, the first of the lost: %t", h.Cluster.Launchers.Len(), h.Cluster.LauncherNamed("a") != nil)
	}
}

// Whatever streams lose, incarnations end and launchers join again: a launcher is never ordered
// again to start an attempt that it was ordered to start and no longer has. All jobs end.
func TestNoAttemptIsStartedTwice(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := coretest.New(r)
		h.StartPolicy(0)
		h.Step.Set.LostMax = 1000
		j := h.Job(coretest.MapReduce(3, 2))
		list := []*machine{newMachine(h, "a"), newMachine(h, "b")}
		for i := range rapid.IntRange(0, 60).Draw(r, "moves") + 200 {
			if h.Cluster.Jobs.Len() == 0 {
				break
			}
			m := rapid.SampledFrom(list).Draw(r, "machine")
			move := rapid.IntRange(0, 5).Draw(r, "move")
			if i >= 60 {
				move %= 3 // from here on there are no faults
			}
			m.move(h, r, j, move)
			for _, x := range list {
				x.obey(h, r)
			}
			h.Checked()
			h.Later(time.Second)
		}
		if h.Cluster.Jobs.Len() != 0 {
			r.Errorf("it does not end: %s", coretest.PhasesOf(j))
		}
	})
}

// machine is a correct launcher.
type machine struct {
	l        *state.Launcher
	join     *wire.Join
	deaf     bool            // its stream is broken
	has      map[uint64]bool // attempts that run
	had      map[uint64]bool // attempts that ended
	finished []*wire.AttemptEnded
	stored   map[uint64]*wire.Stored
}

func newMachine(h *coretest.Core, name string) *machine {
	return &machine{
		l: h.Launcher(name, 2), join: coretest.Joining(name, 2),
		has: map[uint64]bool{}, had: map[uint64]bool{}, stored: map[uint64]*wire.Stored{},
	}
}

// obey carries out the step's commands, unless its stream is broken.
func (m *machine) obey(h *coretest.Core, r *rapid.T) {
	for _, c := range h.Commands(m.l) {
		if m.deaf {
			continue
		}
		switch {
		case c.GetStart() != nil:
			id := c.GetStart().Attempt
			if m.had[id] {
				r.Errorf("attempt %d is started twice on %s", id, m.join.Name)
			}
			m.has[id], m.join.Seen = true, max(m.join.Seen, id)
		case c.GetStop() != nil:
			m.end(&wire.AttemptEnded{Attempt: c.GetStop().Attempt, End: wire.End_END_STOPPED})
		case c.GetForget() != 0:
			m.finished = slices.DeleteFunc(m.finished, func(e *wire.AttemptEnded) bool { return e.Attempt == c.GetForget() })
		case c.GetDropOutput() != nil:
			delete(m.stored, c.GetDropOutput().Attempt)
		}
	}
}

func (m *machine) end(e *wire.AttemptEnded) {
	if m.has[e.Attempt] {
		delete(m.has, e.Attempt)
		m.finished = append(m.finished, e)
	}
	m.had[e.Attempt] = true
}

func (m *machine) move(h *coretest.Core, r *rapid.T, j *state.Job, move int) {
	switch move {
	case 0: // an attempt is launched there
		for b := range j.Ready.All() {
			h.Attempts.Launch(scheduler.Launch{Bundle: b.ID(), Launchers: []scheduler.LauncherID{m.l.ID}})
			break
		}
	case 1: // running attempts end, and the reports are sent
		for _, a := range m.l.Attempts().Sorted() {
			if m.has[uint64(a.ID)] {
				e := &wire.AttemptEnded{Attempt: uint64(a.ID), End: wire.End_END_FINISHED}
				if a.Stage == 0 {
					e.Stored = []*wire.StoredOutput{coretest.Stored(0, uint32(a.Index))}
					m.stored[e.Attempt] = &wire.Stored{Job: uint64(j.ID), Attempt: e.Attempt}
				}
				m.end(e)
			}
		}
		for _, e := range m.finished {
			if !m.deaf {
				h.Membership.Report(&wire.LauncherReport{Launcher: uint64(m.l.ID), Report: &wire.Report{Incarnation: m.join.Incarnation, What: &wire.Report_Ended{Ended: e}}})
			}
		}
	case 2: // its stream returns, with a new incarnation if it was given up
		if !m.l.Up {
			m.live()
		}
		m.deaf = false
		m.join.Attempts, m.join.Stored = nil, nil
		for _, id := range sortedKeys(m.has) {
			m.join.Attempts = append(m.join.Attempts, &wire.AttemptInventory{Attempt: id, State: wire.AttemptInventory_STATE_RUNNING})
		}
		for _, e := range m.finished {
			m.join.Attempts = append(m.join.Attempts, &wire.AttemptInventory{Attempt: e.Attempt, State: wire.AttemptInventory_STATE_ENDED})
		}
		for _, id := range sortedKeys(m.stored) {
			m.join.Stored = append(m.join.Stored, m.stored[id])
		}
		h.Membership.Join(m.join)
	case 3: // its stream breaks
		m.deaf = true
	case 4: // a worker dies, and its records of ended attempts are lost
		m.finished = nil
		for _, id := range sortedKeys(m.has) {
			delete(m.has, id)
			m.had[id] = true
		}
		m.deaf = true
	case 5: // the launcher dies, or is given up
		if rapid.Bool().Draw(r, "given up") {
			m.deaf = true
			lose(h, m.l)
			return
		}
		m.live()
		m.deaf = true
	}
}

// live begins a new incarnation: running attempts are gone, stored outputs may still be there.
func (m *machine) live() {
	m.join.Incarnation++
	m.join.Seen, m.finished, m.has = 0, nil, map[uint64]bool{}
}

func sortedKeys[V any](m map[uint64]V) (keys []uint64) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// If a launcher's inventory says that a running attempt is suspended, it is ordered to resume it
// until it reports that it did. The same holds if it runs an attempt that counts as suspended.
func TestWhatIsSuspendedByMistakeIsResumed(t *testing.T) {
	for _, suspended := range []bool{false, true} {
		h := coretest.New(t)
		h.StartPolicy(scheduler.AbilityResume)
		l := h.Launcher("a", 1)
		j := h.Job(coretest.Maps(1))
		r := h.RunBundle(j, 0, l)
		a := r.Attempts[0]
		has := wire.AttemptInventory_STATE_SUSPENDED
		if suspended {
			h.Later(time.Second)
			h.Attempts.SuspendBundleAttempt(r)
			h.Attempts.SuspendedNow(a)
			has = wire.AttemptInventory_STATE_RUNNING
		}
		h.Later(time.Second)
		h.Membership.Report(&wire.LauncherReport{Launcher: uint64(l.ID), Report: &wire.Report{
			Incarnation: 1, What: &wire.Report_Inventory{Inventory: &wire.Inventory{Attempts: []*wire.AttemptInventory{{Attempt: uint64(a.ID), State: has}}}},
		}})
		told := func() (n int) {
			for _, c := range h.Commands(l) {
				if c.GetResume() == uint64(a.ID) && !suspended || c.GetSuspend() == uint64(a.ID) && suspended {
					n++
				}
			}
			return n
		}
		for try := range 2 { // the first command is lost
			if told() != 1 {
				t.Fatalf("suspended %t, time %d: it is told %v", suspended, try, h.Commands(l))
			}
			h.Later(h.Step.Set.CommandTimeoutMax)
			h.Membership.Resend(l.ID)
		}
		if suspended {
			h.Attempts.SuspendedNow(a)
		} else {
			h.Attempts.ResumedNow(a)
		}
		h.Later(time.Hour)
		if h.Membership.Resend(l.ID); told() != 0 || a.Unacked.Waits() {
			t.Errorf("suspended %t: when it has said so it is told %v", suspended, h.Commands(l))
		}
	}
}

// A launcher has suspended attempts whose start the log lost. It is ordered to start them, reports
// them running and suspended, and is ordered to resume them until it did.
func TestWhatWasSuspendedIsResumedWhenItsStartWasLost(t *testing.T) {
	for width, spec := range map[int]*wire.JobSpec{1: coretest.Maps(1), 2: coretest.Gang(2)} {
		h := coretest.New(t)
		h.StartPolicy(scheduler.AbilityResume)
		l := h.Launcher("a", 2)
		j := h.Job(spec)
		if _, refused, why := h.Attempts.Launch(scheduler.Launch{Bundle: j.Bundles[0].ID(), Launchers: slices.Repeat([]scheduler.LauncherID{l.ID}, width)}); refused != scheduler.NotRefused {
			t.Fatal(why)
		}
		all := j.Bundles[0].Attempts()[0].Attempts
		has := &wire.Inventory{}
		for _, a := range all {
			has.Attempts = append(has.Attempts, &wire.AttemptInventory{Attempt: uint64(a.ID), State: wire.AttemptInventory_STATE_SUSPENDED})
		}
		told := func(of func(*wire.Command) uint64) (ids []uint64) {
			for _, c := range h.Commands(l) {
				if id := of(c); id != 0 {
					ids = append(ids, id)
				}
			}
			return ids
		}
		h.Later(time.Second)
		h.Membership.Report(&wire.LauncherReport{Launcher: uint64(l.ID), Report: &wire.Report{Incarnation: 1, What: &wire.Report_Inventory{Inventory: has}}})
		if starts := told(func(c *wire.Command) uint64 { return c.GetStart().GetAttempt() }); len(starts) != width {
			t.Fatalf("%d attempts: it is told to start %v", width, starts)
		}
		h.Later(time.Second)
		for _, a := range all {
			h.Attempts.Started(a, "a:3")
			h.Attempts.SuspendedNow(a)
		}
		for try := range 2 { // the first command is lost
			if resumed := told((*wire.Command).GetResume); len(resumed) != width {
				t.Fatalf("%d attempts, time %d: it is told to resume %v", width, try, resumed)
			}
			h.Later(h.Step.Set.CommandTimeoutMax)
			h.Membership.Resend(l.ID)
		}
		for _, a := range all {
			h.Attempts.ResumedNow(a)
		}
		h.Later(time.Hour)
		if h.Membership.Resend(l.ID); len(told((*wire.Command).GetResume)) > 0 || all[0].Unacked.Waits() {
			t.Errorf("%d attempts: when it has said so it is told %v", width, h.Commands(l))
		}
		h.Checked()
	}
}

// A stopped launcher leaves: its attempts and outputs are lost at once, and no alert counts it. One
// that joins as another incarnation reports why its earlier one ended.
func TestLaunchersThatLeaveAndComeAnew(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 2)
	h.Membership.LauncherLost(&wire.LauncherLost{Launcher: uint64(l.ID), Incarnation: l.Incarnation(), Reason: "it was stopped", Left: true})
	if s := &h.Step.Stats; l.Up || s.LaunchersLost != 0 || s.LaunchersLeft != 1 {
		t.Errorf("up %t, %d lost, %d left", l.Up, s.LaunchersLost, s.LaunchersLeft)
	}
	for after, want := range map[string]string{
		"it began again, because the lease ended": "it began again, because the lease ended",
		"": "its process was started again",
	} {
		b := h.Launcher("b"+after, 2)
		j := h.Job(coretest.Maps(1))
		a := h.RunBundle(j, 0, b).Attempts[0]
		h.Membership.Join(&wire.Join{Name: b.Name, Identity: b.Identity(), Incarnation: b.Incarnation() + 1, Host: b.Host, After: after, Slots: []*wire.Slots{{Kind: "default", Count: 2}}})
		if got := a.BundleAttempt.Lost(); !strings.HasSuffix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
