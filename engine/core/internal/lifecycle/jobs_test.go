package lifecycle_test

import (
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

// Of two attempts, the first whose end is accepted commits. The other is stopped, its end changes
// nothing, and the job is over only once it has ended.
func TestABundleCommitsOnce(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l, m := h.Launcher("a", 1), h.Launcher("b", 1)
	j := h.Job(coretest.Maps(1))
	first := h.RunBundle(j, 0, l)
	h.Speculation.OfferSpeculation(&j.Bundles[0])
	second := h.RunBundle(j, 0, m)
	h.Later(time.Second)
	h.Finish(second.Attempts[0])
	if got := coretest.PhasesOf(j); got != "finished" || j.Bundles[0].LastCommits()[0].Attempt != second.Attempts[0].ID {
		t.Fatalf("it is %s, by attempt %d", got, j.Bundles[0].LastCommits()[0].Attempt)
	}
	if c := h.Commands(l); len(c) != 1 || c[0].GetStop().GetAttempt() != uint64(first.Attempts[0].ID) {
		t.Errorf("the other launcher is told %v", c)
	}
	if j.Phase() != state.JobRunning {
		t.Error("it is over while an attempt of it runs")
	}
	h.Finish(first.Attempts[0])
	if h.Step.Stats.Finished != 1 || h.Cluster.Jobs.Len() != 0 || h.Cluster.Ended.All()[0].Status.Summary.GroupsFinished != 1 {
		t.Errorf("%d ends were accepted, %d jobs are there", h.Step.Stats.Finished, h.Cluster.Jobs.Len())
	}
	told := h.NotifiedEvents()
	if e, is := told[len(told)-1].(scheduler.JobFinished); !is || e.Job != j.ID || e.Outcome != scheduler.JobSucceeded {
		t.Errorf("the policy is told last %v", told[len(told)-1])
	}
	h.Checked()
}

// A lost output that an unfinished bundle reads is made again, and with it lost outputs that this
// needs. Bundles whose outputs are not lost, or not read any more, stay finished. Readers get the
// new place, and each bundle counts once.
func TestLostWorkIsWantedAgainInTurn(t *testing.T) {
	for _, story := range []struct {
		on    string // the launcher of each bundle; b is lost
		stand string
	}{
		{"bba", "ready waiting running"},
		{"aba", "finished ready running"},
		{"baa", "finished finished running"},
	} {
		h := coretest.New(t)
		h.StartPolicy(0)
		on := map[byte]*state.Launcher{'a': h.Launcher("a", 3), 'b': h.Launcher("b", 3)}
		j := h.Job(coretest.Chain(3))
		finish := func(i int, l *state.Launcher) {
			a := h.RunBundle(j, i, l).Attempts[0]
			h.Attempts.EndedReport(l, &wire.AttemptEnded{
				Attempt: uint64(a.ID), End: wire.End_END_FINISHED, Counters: []*wire.Counter{{Name: "lines", Value: 5}},
				Stored: []*wire.StoredOutput{coretest.Stored(uint32(i), 0)},
			})
		}
		for i := range 2 {
			finish(i, on[story.on[i]])
		}
		reader := h.RunBundle(j, 2, on[story.on[2]])
		h.Membership.LauncherLost(&wire.LauncherLost{Launcher: uint64(on['b'].ID), Incarnation: 1, Reason: "silent"})
		if got := coretest.PhasesOf(j); got != story.stand {
			t.Errorf("on %s: they are %s", story.on, got)
		}
		h.Checked()
		for i := range 2 {
			if j.Bundles[i].Phase() == state.BundleReady {
				finish(i, on['a'])
			}
		}
		h.Later(time.Second)
		h.Dispatch.FlushSources()
		told := 0
		for _, c := range h.Commands(on['a']) {
			told += len(c.GetSources().GetSources())
		}
		if again := story.on[1] == 'b'; told == 1 != again {
			t.Errorf("on %s: who reads is told of %d sources", story.on, told)
		}
		if c := j.Stats.Counters(); len(c) != 1 || c[0].Value != 10 {
			t.Errorf("on %s: counted are %v", story.on, c)
		}
		h.Finish(reader.Attempts[0])
		if h.Cluster.Jobs.Len() != 0 || j.End.Outcome() != scheduler.JobSucceeded || on['a'].Outputs.Len() > 0 {
			t.Errorf("on %s: it is not over, but %s, and %v is kept", story.on, coretest.PhasesOf(j), on['a'].Outputs)
		}
	}
}

// A gang that reopens because half of its outputs are lost makes all of them again. Its other
// outputs no longer count. This is bounded, too.
func TestAGangLosesHalfOfItsOutput(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	h.Step.Set.LostMax = 1
	l, m, n := h.Launcher("a", 1), h.Launcher("b", 1), h.Launcher("c", 9)
	spec := coretest.Gang(2)
	spec.Graph.Stages = append(spec.Graph.Stages, &wire.Stage{Name: "reads", Nodes: 1})
	for from := range uint32(2) {
		spec.Graph.Connections = append(spec.Graph.Connections, &wire.Connection{
			FromStage: from, ToStage: 2, FromPort: "more", ToPort: "in" + string(rune('0'+from)), Kind: wire.ChannelKind_CHANNEL_KIND_FILE, Pattern: wire.Pattern_PATTERN_ONE_TO_ONE,
		})
	}
	j := h.Job(spec)
	store := func(r *state.BundleAttempt) {
		for i, a := range r.Attempts {
			h.Finish(a, coretest.Stored(uint32(1+i), 0))
		}
	}
	store(h.RunBundle(j, 0, l, m))
	h.Membership.LauncherLost(&wire.LauncherLost{Launcher: uint64(m.ID), Incarnation: 1})
	if got := coretest.PhasesOf(j); got != "ready waiting" || l.Outputs.Len() != 1 {
		t.Fatalf("they are %s, and of the other half %v is there", got, l.Outputs)
	}
	store(h.RunBundle(j, 0, n, n))
	if got := coretest.PhasesOf(j); got != "finished ready" || l.Outputs.Len() != 0 || n.Outputs.Len() != 2 {
		t.Errorf("they are %s, kept are %v and %v", got, l.Outputs, n.Outputs)
	}
	h.Checked()
	h.Membership.LauncherLost(&wire.LauncherLost{Launcher: uint64(n.ID), Incarnation: 1})
	if want := `stage "a" node 0 was lost 2 times, the last time because its output was lost`; !strings.HasPrefix(j.End.Failure().GetMessage(), want) {
		t.Errorf("it failed with %v", j.End.Failure())
	}
	h.Checked()
}

// A job fails if a bundle fails or is lost too often, and at once for an error that retrying can't
// help. A full launcher says nothing about the program.
func TestHowOftenABundleIsTried(t *testing.T) {
	for _, story := range []struct {
		kind   wire.ErrorKind
		tries  int
		failed wire.ErrorKind
		says   string
	}{
		{wire.ErrorKind_ERROR_KIND_PROGRAM, 2, wire.ErrorKind_ERROR_KIND_PROGRAM, "stage \"map\" node 0 failed 2 times, the last time: bad"},
		{wire.ErrorKind_ERROR_KIND_INVALID, 1, wire.ErrorKind_ERROR_KIND_INVALID, "bad"},
		{wire.ErrorKind_ERROR_KIND_OUTPUT, 1, wire.ErrorKind_ERROR_KIND_OUTPUT, "bad"},
		{wire.ErrorKind_ERROR_KIND_DENIED, 1, wire.ErrorKind_ERROR_KIND_DENIED, "bad"},
		{wire.ErrorKind_ERROR_KIND_FULL, 3, wire.ErrorKind_ERROR_KIND_FULL, "the store of the outputs had no room, and was waited for 3s (core.storeFullMax): bad"},
		{wire.ErrorKind_ERROR_KIND_RESOURCE, 4, wire.ErrorKind_ERROR_KIND_LOST, `stage "map" node 0 was lost 4 times, the last time because bad`},
		{wire.ErrorKind_ERROR_KIND_LOST, 4, wire.ErrorKind_ERROR_KIND_LOST, `stage "map" node 0 was lost 4 times, the last time because bad`},
	} {
		h := coretest.New(t)
		h.StartPolicy(0)
		h.Step.Set.AttemptsMax, h.Step.Set.LostMax = 2, 3
		h.Step.Set.StoreFullRetryAfter, h.Step.Set.StoreFullMax = time.Second, 3*time.Second
		l := h.Launcher("a", 1)
		j := h.Job(coretest.Maps(1))
		tries := 0
		for ; h.Cluster.Jobs.Len() > 0 && tries < 9; tries++ {
			for j.StoreRoom.Waiting() > 0 {
				h.Later(time.Second)
				h.Jobs.RetryStoreRoom(j.ID)
			}
			a := h.RunBundle(j, 0, l).Attempts[0]
			h.Attempts.EndedReport(l, &wire.AttemptEnded{Attempt: uint64(a.ID), End: wire.End_END_FAILED, Failure: &wire.Failure{Kind: story.kind, Message: "bad"}})
			h.Checked()
		}
		if f := j.End.Failure(); tries != story.tries || f.GetKind() != story.failed || !strings.HasPrefix(f.GetMessage(), story.says) {
			t.Errorf("%v: after %d tries it failed with %v", story.kind, tries, f)
		}
	}
}

// A killed job offers nothing more, has its attempts stopped, and cleans up when the last of them
// has ended. Then its launchers drop its files.
func TestAKilledJobIsStoppedThenCleaned(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 2)
	spec := coretest.Maps(3)
	spec.Outputs = []string{"file:///out"}
	j := h.Job(spec)
	x, y := h.RunBundle(j, 0, l).Attempts[0], h.RunBundle(j, 1, l).Attempts[0]
	h.Later(time.Second)
	h.Admission.KillJob(&wire.KillJob{Client: 3, Job: uint64(j.ID), Principal: &wire.Principal{Name: "ann"}})
	if got := coretest.PhasesOf(j); got != "running running waiting waiting" || len(h.Commands(l)) != 2 || x.Stop() == nil || y.Stop() == nil {
		t.Errorf("they are %s, and the launcher is told %v", got, h.Commands(l))
	}
	h.Finish(x) // its end came before the command
	if j.Phase() != state.JobEnding || j.Unfinished() != 3 {
		t.Errorf("with one running it is in phase %d, with %d unfinished", j.Phase(), j.Unfinished())
	}
	h.Attempts.Lose(y, "it left")
	if got := coretest.PhasesOf(j); got != "waiting waiting waiting ready" || j.Phase() != state.JobCleaning {
		t.Fatalf("they are %s in phase %d", got, j.Phase())
	}
	h.Checked()
	h.Later(time.Second)
	cleaner := h.RunBundle(j, 3, l).Attempts[0]
	if f := h.Commands(l)[0].GetStart().GetFinish(); f == nil || f.Publish {
		t.Errorf("the last group is told %v", f)
	}
	h.Later(time.Second)
	h.Finish(cleaner)
	c := h.Commands(l)
	if h.Cluster.Jobs.Len() != 0 || j.End.Outcome() != scheduler.JobKilled || len(c) != 2 || c[0].GetDropJob() != uint64(j.ID) {
		t.Errorf("%d jobs are there, it is %v, the launcher is told %v", h.Cluster.Jobs.Len(), j.End.Outcome(), c)
	}
	h.Checked()
}

// A granted publication may be complete before its job was killed: then the job has its output,
// whatever ended it. If only some outputs are published, it reports that they stay.
func TestWhatWasPublishedCounts(t *testing.T) {
	for _, story := range []struct {
		published []uint32
		outcome   scheduler.JobOutcome
		says      string
	}{
		{nil, scheduler.JobKilled, "killed by ann"},
		{[]uint32{1, 1, 9}, scheduler.JobKilled, "killed by ann; file:///y had been published before and stays"},
		{[]uint32{1, 0}, scheduler.JobSucceeded, ""},
	} {
		h := coretest.New(t)
		h.StartPolicy(0)
		l := h.Launcher("a", 1)
		spec := coretest.Maps(1)
		spec.Outputs = []string{"file:///x", "file:///y"}
		j := h.Job(spec)
		h.Finish(h.RunBundle(j, 0, l).Attempts[0])
		publisher := h.RunBundle(j, 1, l).Attempts[0]
		h.Attempts.CommitAsked(l, publisher.ID)
		h.Admission.KillJob(&wire.KillJob{Client: 3, Job: uint64(j.ID), Principal: &wire.Principal{Name: "ann"}})
		h.Attempts.Lose(publisher, "it left")
		h.Later(time.Second)
		cleaner := h.RunBundle(j, 1, l).Attempts[0]
		if !h.Commands(l)[0].GetStart().GetFinish().GetGranted() {
			t.Error("who cleans is not told that outputs may be there")
		}
		h.Attempts.EndedReport(l, &wire.AttemptEnded{Attempt: uint64(cleaner.ID), End: wire.End_END_FINISHED, Published: story.published})
		if h.Cluster.Jobs.Len() != 0 || j.End.Outcome() != story.outcome || j.End.Failure().GetMessage() != story.says {
			t.Errorf("of %v published: it is %v: %q", story.published, j.End.Outcome(), j.End.Failure().GetMessage())
		}
		h.Checked()
	}
}

// Parts that could not be published for good stay, and the failure says where. Temporary files that
// a full store kept from being cleaned are left behind, with a note.
func TestWhatCannotBePublishedOrCleaned(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 1)
	spec := coretest.Maps(1)
	spec.Outputs = []string{"file:///x"}
	j := h.Job(spec)
	h.Finish(h.RunBundle(j, 0, l).Attempts[0])
	publisher := h.RunBundle(j, 1, l).Attempts[0]
	full := &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_OUTPUT, Message: "the quota is used up"}
	h.Attempts.EndedReport(l, &wire.AttemptEnded{Attempt: uint64(publisher.ID), End: wire.End_END_FAILED, Failure: full})
	if got := coretest.PhasesOf(j); got != "finished ready" || j.Phase() != state.JobCleaning || !j.OutputCommit.Keeps() {
		t.Fatalf("they are %s in phase %d", got, j.Phase())
	}
	h.Later(h.Step.Set.CleanMax)
	if !h.Due(step.TimerClean, uint64(j.ID)) {
		t.Error("nobody looks how long it waits")
	}
	h.NotifiedEvents()
	h.Jobs.CleanTooLong(j.ID)
	if e := h.NotifiedEvents(); len(e) != 1 || e[0].(scheduler.JobFinished).Job != j.ID { // it was never sent the last bundle
		t.Errorf("the policy is told %v", e)
	}
	if h.Cluster.Jobs.Len() != 0 || j.End.Outcome() != scheduler.JobFailed || len(j.OutputCommit.Kept()) != 1 {
		t.Fatalf("%d jobs are there, it is %v, parts stay in %v", h.Cluster.Jobs.Len(), j.End.Outcome(), j.OutputCommit.Kept())
	}
	if text := j.End.Failure().GetMessage(); !strings.HasPrefix(text, full.Message) || !strings.Contains(text, "hamadryad publish "+j.OutputCommit.Kept()[0]) {
		t.Errorf("it says %q", text)
	}
	if n := j.Notes.List()[len(j.Notes.List())-1]; !strings.Contains(n, "left behind") {
		t.Errorf("the note is %q", n)
	}
	h.Checked()
}

// A job larger than a step is opened, stopped and removed in several steps, and a kill between two
// of them ends it all the same. Nothing of it is offered after that.
func TestALargeJobTakesItsTime(t *testing.T) {
	const bundles = 40
	h := coretest.New(t)
	h.StartPolicy(0)
	h.Step.Set.StepWork = 20
	h.Later(time.Second)
	j := h.Job(coretest.Maps(bundles))
	goOn := func() {
		h.Later(time.Second)
		if len(h.Cluster.PendingWork()) > 0 {
			h.Jobs.Continue(h.Cluster.Jobs.Get(h.Cluster.PendingWork()[0]))
		}
		h.Checked()
	}
	goOn()
	opened := j.Slices.Opened()
	if opened < 2 || opened == bundles {
		t.Fatalf("%d of %d bundles are known after two steps", opened, bundles)
	}
	var on []*state.Launcher
	for i := range opened {
		on = append(on, h.Launcher(string(rune('A'+i)), 1))
		h.RunBundle(j, i, on[i])
	}
	h.Later(time.Second)
	h.Admission.KillJob(&wire.KillJob{Job: uint64(j.ID)})
	for range bundles {
		goOn()
	}
	if j.Slices.Opened() != opened || j.Ready.Len() > 0 || h.Cluster.Jobs.Len() != 1 {
		t.Fatalf("%d are known, %d are ready, and %d jobs are there", j.Slices.Opened(), j.Ready.Len(), h.Cluster.Jobs.Len())
	}
	for _, a := range j.Attempts().Sorted() {
		if a.Stop() == nil {
			t.Errorf("attempt %d is not stopped", a.ID)
		}
		h.Attempts.Lose(a, "it left")
	}
	for range bundles {
		goOn()
	}
	for _, l := range on {
		if !l.Outstanding.Drops() {
			t.Errorf("launcher %s is not told to drop what it has of the job", l.Name)
		}
	}
	if h.Cluster.Jobs.Len() != 0 || len(h.Cluster.PendingWork()) > 0 || h.Cluster.Bundles.Len() > 0 {
		t.Errorf("%d jobs, %d with work, and %d bundles are there", h.Cluster.Jobs.Len(), len(h.Cluster.PendingWork()), h.Cluster.Bundles.Len())
	}
}

// Reservations for a job are released as soon as it ends, before any attempt is stopped.
func TestNothingIsKeptForAJobThatEnds(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 1)
	victim, j := h.RunBundle(h.Job(coretest.Maps(1)), 0, l), h.Job(coretest.Maps(2))
	running := h.RunBundle(j, 1, h.Launcher("b", 1)).Attempts[0]
	h.Later(time.Hour)
	d := scheduler.Preempt{For: j.ID, Victims: []scheduler.AttemptID{victim.Attempts[0].ID}, Mode: scheduler.PreemptKill}
	if reason, why := h.Rounds.Preemption.Preempt(d); reason != scheduler.NotRefused {
		t.Fatal(why)
	}
	h.Step.AddCost(h.Step.Set.StepWork) // the step has no budget left to process the job
	h.Jobs.EndJob(j, scheduler.JobKilled, nil)
	if h.Resources.Reservations.Len() != 0 || running.Stop() != nil {
		t.Error("something is kept for it")
	}
	h.Jobs.EndJob(j, scheduler.JobFailed, &wire.Failure{Message: "and something failed"})
	if j.End.Outcome() != scheduler.JobKilled || j.End.Failure() != nil {
		t.Errorf("it ends anew, as %v: %v", j.End.Outcome(), j.End.Failure())
	}
	h.Checked()
}

// However attempts end, outputs are lost and people kill: a finished bundle stays committed by the
// same attempt until it reopens, and every job ends.
func TestAnyJob(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := coretest.New(r)
		h.StartPolicy(0)
		h.Step.Set.LostMax = 1000
		on := []*state.Launcher{h.Launcher("a", 4), h.Launcher("b", 4)}
		spec := rapid.SampledFrom([]*wire.JobSpec{coretest.Chain(4), coretest.MapReduce(3, 2)}).Draw(r, "job")
		spec.Outputs = rapid.SampledFrom([][]string{nil, {"file:///x"}}).Draw(r, "outputs")
		j := h.Job(spec)
		p := play{h: h, r: r, j: j, on: on, by: map[int]scheduler.AttemptID{}}
		for range rapid.IntRange(0, 40).Draw(r, "moves") {
			p.move(rapid.IntRange(0, 9).Draw(r, "move"))
			p.checked()
		}
		for range 100 { // from here on there are no faults
			p.move(0)
			p.move(5)
			p.checked()
		}
		if h.Cluster.Jobs.Len() != 0 || h.Cluster.Attempts.Len() != 0 || h.Cluster.Bundles.Len() != 0 {
			r.Errorf("it does not end: %s in phase %d", coretest.PhasesOf(j), j.Phase())
		}
	})
}

type play struct {
	h  *coretest.Core
	r  *rapid.T
	j  *state.Job
	on []*state.Launcher
	by map[int]scheduler.AttemptID // the committed attempt of each finished bundle
}

// move makes one random move: it launches, ends an attempt, loses an output, or kills.
func (p *play) move(what int) {
	p.h.Later(time.Minute)
	live := p.j.Attempts().Sorted()
	var a *state.Attempt
	if len(live) > 0 {
		a = rapid.SampledFrom(live).Draw(p.r, "attempt")
	}
	p.h.Jobs.RetryPublish(p.j.ID)
	switch {
	case what < 4:
		for b := range p.j.Ready.All() {
			l := rapid.SampledFrom(p.on).Draw(p.r, "on")
			if b.Last() {
				p.h.Finishers.Start(b, l)
				return
			}
			if _, refused, _ := p.h.Attempts.Launch(scheduler.Launch{Bundle: b.ID(), Launchers: []scheduler.LauncherID{l.ID}}); refused == scheduler.NotRefused {
				return
			}
		}
	case what < 7 && a != nil:
		var stored []*wire.StoredOutput
		for c, m := range p.j.Plan.Graph.Connections {
			if int32(m.FromStage) == a.Stage {
				stored = append(stored, coretest.Stored(uint32(c), uint32(a.Index)))
			}
		}
		p.h.Finish(a, stored...)
	case what == 7 && a != nil:
		p.h.Attempts.Lose(a, "it went")
	case what == 8:
		for _, b := range p.j.Bundles {
			if b.LastCommits() != nil && !b.Last() && b.LastCommits()[0].Stored && !b.LastCommits()[0].Lost {
				l := p.h.Cluster.Launchers.Get(b.LastCommits()[0].Launcher)
				p.h.Membership.Report(&wire.LauncherReport{Launcher: uint64(l.ID), Report: &wire.Report{Incarnation: 1, What: &wire.Report_OutputLost{
					OutputLost: &wire.Stored{Job: uint64(p.j.ID), Attempt: uint64(b.LastCommits()[0].Attempt)},
				}}})
				return
			}
		}
	case what == 9 && rapid.IntRange(0, 9).Draw(p.r, "kill") == 0:
		p.h.Admission.KillJob(&wire.KillJob{Job: uint64(p.j.ID)})
	}
}

func (p *play) checked() {
	p.h.Checked()
	if p.h.Cluster.Jobs.Len() == 0 {
		return
	}
	for i := range p.j.Bundles {
		b := &p.j.Bundles[i]
		if b.Phase() != state.BundleFinished {
			delete(p.by, i)
			continue
		}
		if was, yes := p.by[i]; yes && was != b.LastCommits()[0].Attempt {
			p.r.Errorf("bundle %d was committed by attempt %d, and then by %d", i, was, b.LastCommits()[0].Attempt)
		}
		p.by[i] = b.LastCommits()[0].Attempt
	}
}
