package core

import (
	"bytes"
	"testing"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// No step does more long work than Settings.StepWork, whatever the work is, and the following steps
// do the rest.
func TestLongWorkIsDoneInSlices(t *testing.T) {
	const groups = 3000
	b := benchCluster(t, 100, groups)
	b.c.state.Step.Set.StepWork = 300
	id := b.prepare()
	most := func(what string, perStep int, count func() int, in *wire.Input) {
		t.Helper()
		before, steps := count(), 0
		b.once(in)
		for {
			now := count()
			if n := max(now-before, before-now); n > perStep {
				t.Fatalf("%s: one step did %d, want %d at most", what, n, perStep)
			}
			before = now
			if wake, ok := b.c.NextWake(); !ok || wake > b.c.Now() {
				break
			}
			steps++
			b.once(&wire.Input{What: &wire.Input_Tick{Tick: true}})
			if err := b.c.Check(); err != nil {
				t.Fatal(err)
			}
		}
		if steps < groups/perStep-1 {
			t.Errorf("%s: it took %d more steps", what, steps)
		}
	}
	most("submit", 300/step.WorkOpen, func() int { return b.c.state.Cluster.Bundles.Len() }, &wire.Input{What: &wire.Input_Submit{Submit: &wire.Submit{
		Job: uint64(id), Spec: &wire.JobSpec{Name: "j", Graph: &wire.Graph{Stages: []*wire.Stage{{Name: "map", Nodes: groups}}}},
	}}})
	j := b.c.state.Cluster.Jobs.Get(id)
	if j.Ready.Len() != groups {
		t.Fatalf("%d bundles are ready, want %d", j.Ready.Len(), groups)
	}
	var d scheduler.Decisions
	for i := range groups {
		d.Launch = append(d.Launch, scheduler.Launch{Bundle: j.FirstBundle() + scheduler.BundleID(i), Launchers: []scheduler.LauncherID{scheduler.LauncherID(1 + i%100)}})
	}
	data, err := schedwire.EncodeDecisions(&d)
	if err != nil {
		t.Fatal(err)
	}
	for b.round == nil {
		b.step()
	}
	most("launch", 300/step.WorkDecide, func() int { return b.c.state.Cluster.Attempts.Len() }, &wire.Input{What: &wire.Input_PolicyAnswer{PolicyAnswer: &wire.PolicyAnswer{
		Generation: 1, Round: b.round.Round.Number, Decisions: data,
	}}})
	if n := len(j.Attempts()); n != groups {
		t.Fatalf("%d attempts run, want %d", n, groups)
	}
	stopped := func() (n int) {
		for _, a := range j.Attempts() {
			if a.Stop() != nil {
				n++
			}
		}
		return n
	}
	most("kill", 300/(step.WorkClose+step.WorkStop)+1, stopped, &wire.Input{What: &wire.Input_KillJob{KillJob: &wire.KillJob{Job: uint64(id)}}})
	if stopped() != groups {
		t.Fatalf("%d attempts are being stopped, want %d", stopped(), groups)
	}
	for _, a := range j.Attempts().Sorted()[1:] {
		b.once(&wire.Input{What: &wire.Input_Report{Report: &wire.LauncherReport{Launcher: uint64(a.Launcher.ID), Report: &wire.Report{
			Incarnation: 1, What: &wire.Report_Ended{Ended: &wire.AttemptEnded{Attempt: uint64(a.ID), End: wire.End_END_STOPPED}},
		}}}})
	}
	last := j.Attempts()[0]
	most("leave", 300/step.WorkClose, func() int { return b.c.state.Cluster.Bundles.Len() }, &wire.Input{What: &wire.Input_Report{Report: &wire.LauncherReport{Launcher: uint64(last.Launcher.ID), Report: &wire.Report{
		Incarnation: 1, What: &wire.Report_Ended{Ended: &wire.AttemptEnded{Attempt: uint64(last.ID), End: wire.End_END_STOPPED}},
	}}}})
	if b.c.state.Cluster.Jobs.Len() != 0 || b.c.state.Cluster.Bundles.Len() != 0 {
		t.Errorf("%d jobs and %d bundles are left", b.c.state.Cluster.Jobs.Len(), b.c.state.Cluster.Bundles.Len())
	}
}

// prepare reserves a job's id.
func (b *bench) prepare() scheduler.JobID {
	b.step(&wire.Input{What: &wire.Input_Prepare{Prepare: &wire.Prepare{Client: 1}}})
	return b.c.state.IDs.LastJob()
}

// An attempt that reports its end, or asks to commit, before a killed job's stop reached it is
// killed all the same.
func TestEndOfJobComesBeforeItsStops(t *testing.T) {
	b := benchCluster(t, 1, 10)
	b.c.state.Step.Set.StepWork = 1
	b.submit(t, 4)
	b.launchSome(4)
	id := b.c.state.IDs.LastJob()
	j := b.c.state.Cluster.Jobs.Get(id)
	b.once(&wire.Input{What: &wire.Input_KillJob{KillJob: &wire.KillJob{Job: uint64(id)}}})
	var last *state.Attempt
	for _, a := range j.Attempts() {
		if a.Stop() == nil && (last == nil || a.ID > last.ID) {
			last = a
		}
	}
	if last == nil {
		t.Fatal("all attempts are being stopped after one step")
	}
	report := func(r *wire.Report) {
		r.Incarnation = 1
		b.once(&wire.Input{What: &wire.Input_Report{Report: &wire.LauncherReport{Launcher: 1, Report: r}}})
	}
	var verdict *wire.CommitVerdict
	b.watch = func(a Action) {
		if to, ok := a.(ToLauncher); ok && to.Command.GetCommit() != nil {
			verdict = to.Command.GetCommit()
		}
	}
	report(&wire.Report{What: &wire.Report_Commit{Commit: uint64(last.ID)}})
	if verdict.GetGranted() || verdict == nil {
		t.Errorf("the commit was answered with %v", verdict)
	}
	report(&wire.Report{What: &wire.Report_Ended{Ended: &wire.AttemptEnded{Attempt: uint64(last.ID), End: wire.End_END_FINISHED}}})
	if last.Outcome() != scheduler.Killed || j.Stats.Groups() != 0 {
		t.Errorf("the attempt is %v, and %d groups count as finished", last.Outcome(), j.Stats.Groups())
	}
	if err := b.c.Check(); err != nil {
		t.Error(err)
	}
}

// A core with a draft decides the same as one without. A draft made under other settings is not
// used.
func TestDraftDecidesTheSame(t *testing.T) {
	for _, nodes := range []uint32{20, 2_000_000} { // the second is refused
		spec := &wire.JobSpec{Name: "j", Graph: &wire.Graph{
			Stages: []*wire.Stage{{Name: "map", Nodes: nodes}, {Name: "reduce", Nodes: 3}},
			Connections: []*wire.Connection{{
				FromStage: 0, ToStage: 1, FromPort: "out", ToPort: "in", Kind: wire.ChannelKind_CHANNEL_KIND_FILE, Pattern: wire.Pattern_PATTERN_ALL_TO_ALL,
			}},
		}}
		run := func(expect bool) []byte {
			b := benchCluster(t, 3, 4)
			id := b.prepare()
			set := b.c.Settings()
			if expect && !b.c.Expect(NewDraft(set, spec, nil)) {
				t.Fatal("the draft was not taken")
			}
			b.step(&wire.Input{What: &wire.Input_Submit{Submit: &wire.Submit{Job: uint64(id), Spec: spec}}})
			if in := b.c.state.Cluster.Jobs.Len() == 1; in != (nodes < 100) {
				t.Fatalf("%d jobs of %d nodes are there", b.c.state.Cluster.Jobs.Len(), nodes)
			}
			return b.c.Checkpoint()
		}
		if !bytes.Equal(run(true), run(false)) {
			t.Errorf("%d nodes: the draft makes another state", nodes)
		}
	}
	b := benchCluster(t, 1, 1)
	set := b.c.Settings()
	set.MemoryDefault++
	if b.c.Expect(NewDraft(set, &wire.JobSpec{Name: "j"}, nil)) {
		t.Error("a draft of other settings was taken")
	}
}

// While the policy thinks, a starting job offers no more bundles than a bound, and the core does
// not spin. With each round it offers more, up to the last.
func TestAStartingJobWaitsForThePolicy(t *testing.T) {
	const groups, bound, perStep = 3000, 200, 100
	b := benchCluster(t, 2, 1)
	b.c.state.Step.Set.RoundEvents, b.c.state.Step.Set.StepWork = bound, perStep*step.WorkOpen
	id := b.prepare()
	for b.round == nil {
		b.launchSome(0)
	}
	rounds := 0
	b.step(&wire.Input{What: &wire.Input_Submit{Submit: &wire.Submit{Job: uint64(id), Spec: &wire.JobSpec{Name: "j", Graph: &wire.Graph{Stages: []*wire.Stage{{Name: "map", Nodes: groups}}}}}}})
	j := b.c.state.Cluster.Jobs.Get(id)
	for ; j.Slices.Opened() < groups; rounds++ {
		for range 5 { // unrelated inputs
			b.once()
		}
		if n := b.c.state.Policy.Events(); n > bound+perStep {
			t.Fatalf("%d events wait for a policy that thinks, want %d at most", n, bound+perStep)
		}
		if err := b.c.Check(); err != nil {
			t.Fatal(err)
		}
		b.launchSome(0)
	}
	if j.Ready.Len() != groups || rounds < groups/(bound+2*perStep) {
		t.Errorf("%d bundles are ready after %d rounds", j.Ready.Len(), rounds)
	}
}

// Very many readers of one writer become ready some in a step. If its output is lost before all
// did, the ready ones wait again, and the others never become ready.
func TestReadersAreToldInSlices(t *testing.T) {
	const readers = 3000
	b := benchCluster(t, 2, 1)
	id := b.prepare()
	b.step(&wire.Input{What: &wire.Input_Submit{Submit: &wire.Submit{Job: uint64(id), Spec: &wire.JobSpec{Name: "j", Graph: &wire.Graph{
		Stages: []*wire.Stage{{Name: "map", Nodes: 1}, {Name: "reduce", Nodes: readers}},
		Connections: []*wire.Connection{{
			FromStage: 0, ToStage: 1, FromPort: "out", ToPort: "in", Kind: wire.ChannelKind_CHANNEL_KIND_FILE, Pattern: wire.Pattern_PATTERN_ALL_TO_ALL,
		}},
	}}}}})
	j := b.c.state.Cluster.Jobs.Get(id)
	b.next, b.last = j.FirstBundle(), j.FirstBundle()
	b.c.state.Step.Set.StepWork = 300
	ready := func(most int) {
		t.Helper()
		before := j.Ready.Len()
		b.once()
		if n := max(j.Ready.Len()-before, before-j.Ready.Len()); n > most {
			t.Fatalf("%d readers were told in one step, want %d at most", n, most)
		}
		if err := b.c.Check(); err != nil {
			t.Fatal(err)
		}
	}
	runWriter := func() *wire.LauncherReport {
		b.lives = nil
		for b.next = j.FirstBundle(); len(b.lives) == 0; {
			b.launchSome(1)
		}
		return &wire.LauncherReport{Launcher: uint64(b.lives[0].Launcher), Report: &wire.Report{
			Incarnation: 1, What: &wire.Report_Ended{Ended: &wire.AttemptEnded{
				Attempt: b.lives[0].Command.GetStart().Attempt, End: wire.End_END_FINISHED, Stored: []*wire.StoredOutput{{Bytes: readers}},
			}},
		}}
	}
	end := runWriter()
	b.once(&wire.Input{What: &wire.Input_Report{Report: end}})
	for range 5 {
		ready(300 / step.WorkOpen)
	}
	if n := j.Ready.Len(); n < 300/step.WorkOpen || n > readers/2 {
		t.Fatalf("%d readers are ready after a few steps", n)
	}
	b.once(&wire.Input{What: &wire.Input_LauncherLost{LauncherLost: &wire.LauncherLost{Launcher: end.Launcher, Incarnation: 1}}})
	for wake, ok := b.c.NextWake(); ok && wake <= b.c.Now(); wake, ok = b.c.NextWake() {
		ready(readers)
	}
	if n := j.Ready.Len(); n != 1 {
		t.Fatalf("%d bundles are ready, want the writer alone", n)
	}
	b.step(&wire.Input{What: &wire.Input_Report{Report: runWriter()}})
	if n := j.Ready.Len(); n != readers {
		t.Errorf("%d readers are ready, want %d", n, readers)
	}
	if err := b.c.Check(); err != nil {
		t.Error(err)
	}
}
