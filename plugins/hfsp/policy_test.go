package hfsp

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// A small stage comes while a large one has all slots: the youngest attempts are suspended, just as many as the small
// one needs, and go on, the oldest first, once it has ended.
func TestSmallStageOvertakes(t *testing.T) {
	w := newPlay(t, "")
	w.Launchers(1, 4)
	w.at(0, reduces(4, 1000*time.Second))
	w.at(10*time.Second, reduces(2, 10*time.Second))
	w.Until(11 * time.Second)
	all := w.Policy.view.Job(1).Attempts()
	equal(t, "suspended", w.lives(1, view.Suspended), []scheduler.AttemptID{all[2].ID, all[3].ID})
	if n := len(w.lives(2, view.Running)); n != 2 {
		t.Errorf("%d attempts of the small stage run, want 2", n)
	}
	suspended := w.lives(1, view.Suspended)
	var back []scheduler.AttemptID
	w.Look = func(d scheduler.Decisions) {
		for _, r := range d.Resume {
			back = append(back, r.Attempt)
		}
	}
	w.Until(time.Hour)
	equal(t, "resumed", back, suspended)
	if n := w.Outcomes(1); n[scheduler.Finished] != 4 || len(w.Sojourn) != 2 {
		t.Errorf("%v, %d jobs ended", n, len(w.Sojourn))
	}
}

// Suspended work resumes only on its own launchers. Slots elsewhere go to work that never ran.
func TestSlotsElsewhereTakeWhatNeverRan(t *testing.T) {
	w := newPlay(t, "")
	w.Launchers(2, 1)
	w.at(0, reduces(4, 60*time.Second))
	w.at(10*time.Second, reduces(1, 10_000*time.Second))
	w.Until(11 * time.Second)
	suspended := w.lives(1, view.Suspended)
	if len(suspended) != 1 {
		t.Fatalf("suspended %v, want one", suspended)
	}
	w.Until(2000 * time.Second) // the other launcher runs the rest
	if n := w.Outcomes(1)[scheduler.Finished]; n != 3 {
		t.Errorf("%d tasks of the first job have finished, want all but the one that is suspended", n)
	}
	equal(t, "still suspended", w.lives(1, view.Suspended), suspended)
	w.Until(10 * time.Hour)
	if len(w.Sojourn) != 2 || w.Outcomes(1)[scheduler.Finished] != 4 {
		t.Errorf("%d jobs ended, %v", len(w.Sojourn), w.Outcomes(1))
	}
}

// Maps are not preempted by default, nor anything in the mode wait.
func TestWhoIsTakenOff(t *testing.T) {
	for _, c := range []struct {
		settings string
		large    cluster.Layer
		want     cluster.Tally
	}{
		{"", maps(4, time.Hour), cluster.Tally{}},
		{"", reduces(4, time.Hour), cluster.Tally{Preemptions: 2, Suspensions: 2}},
		{"preempt-maps: suspend\n", maps(4, time.Hour), cluster.Tally{Preemptions: 2, Suspensions: 2}},
		{"preempt-reduces: wait\n", reduces(4, time.Hour), cluster.Tally{}},
		{"preempt-maps: kill\nsamples: 1\n", maps(4, time.Hour), cluster.Tally{Preemptions: 2}},
		{"preempt-maps: kill\nsamples: 3\n", maps(4, time.Hour), cluster.Tally{Preemptions: 1}}, // the other three are samples
		{"suspended-max: 1\n", reduces(4, time.Hour), cluster.Tally{Preemptions: 1, Suspensions: 1}},
		{"suspended-max: 0\n", reduces(4, time.Hour), cluster.Tally{}},
		{"suspended-memory: 0.0015\n", reduces(4, time.Hour), cluster.Tally{Preemptions: 1, Suspensions: 1}}, // 1.5 GiB
	} {
		w := newPlay(t, c.settings)
		w.Launchers(1, 4)
		w.at(0, c.large)
		w.at(10*time.Second, maps(2, time.Second))
		w.Until(12 * time.Second)
		got := cluster.Tally{Preemptions: w.Cluster.Tally.Preemptions, Suspensions: w.Cluster.Tally.Suspensions}
		if got != c.want {
			t.Errorf("%q: %d preemptions, %d suspensions, want %d, %d", c.settings, got.Preemptions, got.Suspensions, c.want.Preemptions, c.want.Suspensions)
		}
	}
}

// An attempt suspended on a draining launcher resumes there, also if there is no other launcher.
// Nothing new starts there.
func TestSuspendedGoesOnWhereItDrains(t *testing.T) {
	w := newPlay(t, "")
	w.Launchers(1, 4)
	w.at(0, reduces(4, time.Hour))
	w.at(10*time.Second, maps(2, 5*time.Second))
	w.Until(12 * time.Second)
	if n := w.Cluster.Tally.Suspensions; n != 2 {
		t.Fatalf("%d are suspended, want 2", n)
	}
	w.Cluster.Drain(1, true)
	w.at(0, maps(1, time.Second))
	w.Until(60 * time.Second)
	if n, m := w.Cluster.Tally.Resumptions, w.Cluster.Tally.Launches; n != 2 || m != 6 {
		t.Errorf("%d went on, and %d were launched, want 2 and 6", n, m)
	}
}

// Samples of a stage that would come last get the training slots, and no more.
func TestSamplesHaveTrainingSlots(t *testing.T) {
	for settings, want := range map[string]int{"training-part: 0.2\n": 2, "training-part: 0\n": 0, "": 1, "samples: 1\ntraining-part: 0.5\n": 1} {
		w := newPlay(t, "preempt-maps: suspend\n"+settings)
		w.Launchers(1, 10)
		w.at(0, maps(200, 20*time.Second))
		w.at(100*time.Second, maps(2000, time.Hour))
		w.Until(103 * time.Second)
		if s := w.stage(1); !s.trained {
			t.Fatal("the first stage is not trained")
		}
		if got := w.Policy.view.Job(2).Held(scheduler.DefaultKind); got != want {
			t.Errorf("%q: the stage in training has %d slots, want %d", settings, got, want)
		}
	}
}

// With an infinite xi a stage that is not trained runs its samples only, as long as those that are trained
// can use the rest.
func TestInfiniteXi(t *testing.T) {
	for xi, want := range map[string]int{"1": 4, ".inf": 1} {
		w := newPlay(t, "preempt-maps: suspend\ntask-default: 1s\nsamples: 2\nxi: "+xi+"\n")
		w.Launchers(1, 4)
		w.at(0, maps(400, 20*time.Second))
		w.at(100*time.Second, maps(8, time.Hour))
		w.Until(102 * time.Second)
		if s := w.stage(1); !s.trained {
			t.Fatal("the first stage is not trained")
		}
		if got := w.Policy.view.Job(2).Held(scheduler.DefaultKind); got != want {
			t.Errorf("xi %s: the stage that is not trained has %d slots, want %d", xi, got, want)
		}
	}
}

// A stage that is much larger than estimated is late, and would come before all others for ever.
func TestLateStages(t *testing.T) {
	for rule, want := range map[string]int{"share": 2, "plain": 0} {
		w := newPlay(t, "preempt-maps: suspend\ntask-default: 1s\ntraining-part: 0\nlate: "+rule+"\n")
		w.Launchers(1, 4)
		w.at(0, maps(100, time.Hour))
		w.at(100*time.Second, maps(2, 100*time.Second))
		w.Until(103 * time.Second)
		if s := w.stage(1); !s.job.Late() {
			t.Fatal("the first stage is not late")
		}
		if got := w.Policy.view.Job(2).Held(scheduler.DefaultKind); got != want {
			t.Errorf("late: %s: the small stage has %d slots, want %d", rule, got, want)
		}
	}
}

// With an error on purpose the policy goes by sizes that are wrong, each stage's otherwise, and by the same ones again.
func TestSizesAreWrongOnPurpose(t *testing.T) {
	sizes := func(settings string) (list []float64) {
		w := newPlay(t, "task-default: 10s\n"+settings)
		w.Launchers(1, 1)
		for range 5 {
			w.at(0, maps(10, time.Hour))
		}
		w.Until(time.Second)
		for id := range scheduler.JobID(5) {
			list = append(list, w.stage(id+1).size)
		}
		return list
	}
	equal(t, "right", sizes(""), []float64{100, 100, 100, 100, 100})
	wrong := sizes("estimate-error: 0.5\n")
	for i, size := range wrong {
		if size < 50 || size > 150 || size == 100 || slices.Contains(wrong[:i], size) {
			t.Errorf("sizes %v", wrong)
		}
	}
	equal(t, "again", sizes("estimate-error: 0.5\nestimate-seed: 1\n"), wrong)
	if other := sizes("estimate-error: 0.5\nestimate-seed: 2\n"); slices.Equal(other, wrong) {
		t.Errorf("another seed: %v", other)
	}
}

// A gang counts as a whole: its size is that of all tasks that start together, and slots for samples do not get it ahead of its turn.
func TestSmallGangsFirst(t *testing.T) {
	for _, settings := range []string{"", "training-part: 0\n", "training-part: 0.5\n"} {
		w := newPlay(t, settings)
		w.Launchers(1, 8)
		w.at(0, gang(8, 20*time.Minute))
		w.at(10*time.Second, gang(6, 20*time.Minute))
		w.at(20*time.Second, gang(3, 20*time.Minute))
		w.at(30*time.Second, gang(2, 20*time.Minute))
		w.Until(time.Minute)
		if size := w.stage(2).size; size != 6*60 {
			t.Errorf("%q: six tasks of a minute have a size of %v", settings, size)
		}
		if s := of(w.Policy.index.Stages(2)[1]); s.job != nil || s.trains {
			t.Errorf("%q: a stage that starts with another one has a place of its own", settings)
		}
		w.round()
		before := w.Policy.dump()
		w.Restart(settings)
		if after := w.Policy.dump(); after != before {
			t.Errorf("%q: after a restart\n%s\nbefore\n%s", settings, after, before)
		}
		w.Until(2 * time.Hour)
		if big, middle, small := w.Sojourn[2], w.Sojourn[3], w.Sojourn[4]; big < 59*time.Minute || middle > 41*time.Minute || small > 41*time.Minute {
			t.Errorf("%q: the gangs of six, three and two took %v, %v and %v", settings, big, middle, small)
		}
	}
}

// Work waits for a launcher that holds its input while so many offers are passed up, one of a launcher in a heartbeat
// period, or for a time; others use the slots.
func TestDelayScheduling(t *testing.T) {
	for settings, want := range map[string]time.Duration{
		"locality: {mode: nearest}\n":                0,
		"locality: {node-skips: 3, rack-skips: 0}\n": time.Second, // there are two offers a period
		"locality: {node-skips: 3, rack-skips: 2}\n": 2 * time.Second,
		"locality: {node-skips: 7, rack-skips: 0}\n": 4 * time.Second, // two twice, and one once the other job has its slot
		"": 3 * time.Second, // three offers, and three more
		"locality: {mode: delay, node-delay: 2s, rack-delay: 3s}\n": 5 * time.Second,
	} {
		w := newPlay(t, settings)
		w.Launchers(3, 1) // racks 1, 1 and 2
		far := maps(1, time.Hour)
		far.Hosts = []scheduler.LauncherID{3}
		hold := maps(1, 10*time.Hour)
		hold.Hosts = []scheduler.LauncherID{3}
		w.at(0, hold)
		other := maps(1, time.Hour)
		w.at(time.Second, far)
		w.at(2*time.Second, other)
		var at scheduler.Time
		w.Look = func(d scheduler.Decisions) {
			for _, l := range d.Launch {
				if b := w.Policy.view.Bundle(l.Bundle); b.Job.ID() == 2 {
					at = w.Cluster.Now()
				}
			}
		}
		w.Until(30 * time.Second)
		if got := at.Sub(w.Begin.Add(time.Second)); (got-want).Abs() > 200*time.Millisecond || at == 0 {
			t.Errorf("%q: launched after %v, want %v", settings, got, want)
		}
	}
}

// Work with input elsewhere takes the slot that was preempted for it, and does not wait for a
// nearer one: no other slot is free, so no offer would come.
func TestLocatedWorkTakesWhatIsKeptForIt(t *testing.T) {
	for _, settings := range []string{"", "locality: {mode: delay}\n"} {
		w := newPlay(t, settings)
		w.Launchers(2, 1)
		w.at(0, reduces(2, time.Hour))
		far := maps(1, time.Second)
		far.Hosts = []scheduler.LauncherID{9}
		w.at(10*time.Second, far)
		w.Until(20 * time.Second)
		if _, over := w.Sojourn[2]; !over {
			t.Errorf("%q: the small job has not ended; %d attempts of the large one are suspended, and it waits because %v",
				settings, len(w.lives(1, view.Suspended)), w.Policy.reported[2])
		}
	}
}

// TestAStageOfAnotherKindWaitsNoMore: a stage that takes slots of the kind that it prefers starts, and leaves no
// reason for waiting behind.
func TestAStageOfAnotherKindWaitsNoMore(t *testing.T) {
	w := newPlay(t, "preempt-maps: wait\npreempt-reduces: wait\n")
	w.Launchers(1, 1)
	w.at(0, maps(1, time.Hour))
	other := maps(1, time.Hour)
	other.Prefers = "rare"
	w.at(time.Second, other)
	w.Until(2 * time.Second)
	if w.Policy.reported[2] == scheduler.WaitNone {
		t.Fatal("the job has no reason to wait for a slot")
	}
	w.Cluster.Join(2, "", 1<<40, scheduler.SlotCount{Kind: "rare", Count: 1})
	w.Until(10 * time.Second)
	if n := len(w.lives(2, view.Running)); n != 1 || w.Policy.reported[2] != scheduler.WaitNone {
		t.Errorf("%d attempts run, and the reason for waiting is %q", n, w.Policy.reported[2])
	}
}

// What was learnt outlives a restart, with all that is known of live stages. A checkpoint of another version does
// not, and a note says so.
func TestWhatARestartKeeps(t *testing.T) {
	w := newPlay(t, "")
	w.Launchers(1, 4)
	w.at(0, maps(4, 8*time.Second))
	w.at(20*time.Second, reduces(100, time.Hour))
	w.Until(30 * time.Second)
	w.round()
	before, learnt := w.Policy.dump(), w.Policy.past()
	if len(learnt) != 1 || learnt[0].Tasks != 4 {
		t.Fatalf("learnt %+v", learnt)
	}
	w.Restart("")
	if after := w.Policy.dump(); after != before {
		t.Errorf("after a restart\n%s\nbefore\n%s", after, before)
	}
	p := &Policy{}
	other := scheduler.Snapshot{Now: w.Cluster.Now(), Checkpoint: &scheduler.Checkpoint{Version: checkpointVersion + 1, Data: []byte("{}")}}
	if _, err := p.Start(scheduler.Config{}, other, policytest.Environment()); err != nil {
		t.Fatal(err)
	}
	d, err := p.AssignTasks(scheduler.Round{Number: 1, Now: w.Cluster.Now()})
	if err != nil || len(d.Notes) != 1 || !strings.Contains(string(d.Notes[0].Body), fmt.Sprintf("version %d", checkpointVersion+1)) {
		t.Errorf("notes %v, error %v", d.Notes, err)
	}
	if d, err := p.AssignTasks(scheduler.Round{Number: 2, Now: w.Cluster.Now()}); err != nil || len(d.Notes) != 0 {
		t.Errorf("noted twice: %v, %v", d.Notes, err)
	}
}

// A policy may take over, from another one, jobs of which stages are over, and have no checkpoint.
func TestTakesOverWithoutCheckpoint(t *testing.T) {
	w := newPlay(t, "preempt-maps: suspend\n")
	w.Launchers(2, 2)
	second := reduces(3, 60*time.Second)
	second.After = []int{0}
	w.Cluster.Submit(cluster.Spec{Name: "two stages", Layers: []cluster.Layer{maps(3, time.Second), second}})
	w.Until(20 * time.Second)
	if !w.stage(1).over {
		t.Fatal("the first stage is not over")
	}
	w.at(21*time.Second, maps(2, time.Second))
	w.Replace("")
	if s := w.stage(1); !s.over || s.job != nil || w.Policy.past()[0].Tasks != 3 {
		t.Errorf("over %t, learnt %+v", s.over, w.Policy.past())
	}
	w.Until(time.Hour)
	if len(w.Sojourn) != 2 {
		t.Errorf("%d of 2 jobs ended", len(w.Sojourn))
	}
}

// A stage that could start early, and would wait for its input, comes after all that could run, and
// is preempted for them.
func TestEarlyReaders(t *testing.T) {
	p := &Policy{}
	kind := scheduler.DefaultKind
	slots := func(n int) []scheduler.SlotCount { return []scheduler.SlotCount{{Kind: kind, Count: n}} }
	number := uint64(0)
	round := func(free int, events ...scheduler.Event) scheduler.Decisions {
		t.Helper()
		number++
		d, err := p.AssignTasks(scheduler.Round{Number: number, Now: 1, Offers: []scheduler.Offer{{Launcher: 1, Free: slots(free), Memory: 1}}, Events: events})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	ready := func(id scheduler.JobID, b scheduler.BundleID, s scheduler.StageID) scheduler.BundleReady {
		return scheduler.BundleReady{At: 1, Job: id, Bundle: b, Groups: []scheduler.Group{{Stage: s, Kind: kind, Slots: 1}}}
	}
	runs := func(l scheduler.Launch, id scheduler.AttemptID, j scheduler.JobID, s scheduler.StageID) []scheduler.Event {
		return []scheduler.Event{
			scheduler.Outcome{At: 1, Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{id}, Launch: l},
			scheduler.AttemptStarted{At: 1, Attempt: id, Job: j, Bundle: l.Bundle, Stage: s, Launcher: 1},
		}
	}
	stages := []scheduler.Stage{{ID: 0, Name: "map", Groups: 1, Kind: kind, Slots: 1}, {ID: 1, Name: "reduce", Groups: 2, Kind: kind, Slots: 1, Shuffles: true, After: []scheduler.StageID{0}}}
	if _, err := p.Start(scheduler.Config{}, scheduler.Snapshot{Now: 1, Events: []scheduler.Event{
		scheduler.LauncherJoined{At: 1, Launcher: 1, Slots: slots(3), Memory: 1},
		scheduler.JobSubmitted{At: 1, Job: scheduler.Job{ID: 1, Stages: stages}},
		scheduler.JobSubmitted{At: 1, Job: scheduler.Job{ID: 2, Stages: []scheduler.Stage{{Name: "map", Groups: 50, Kind: kind, Slots: 1}}}},
	}}, policytest.Environment()); err != nil {
		t.Fatal(err)
	}
	// The map runs, and a reduce besides, as slots are free.
	d := round(3, ready(1, 1, 0), ready(1, 2, 1))
	if len(d.Launch) != 2 || d.Launch[0].Bundle != 1 {
		t.Fatalf("launched %v, want the map and, with what is left over, the reduce", d.Launch)
	}
	s := of(p.index.Stages(1)[1])
	if !s.early || s.job != nil || s.trains {
		t.Errorf("early %t, in the virtual cluster %t, in training %t", s.early, s.job != nil, s.trains)
	}
	// A much larger stage has the free slot before the second reduce, and the first gives way to it.
	d = round(1, append(append(runs(d.Launch[0], 1, 1, 0), runs(d.Launch[1], 2, 1, 1)...), ready(1, 3, 1), ready(2, 10, 0), ready(2, 11, 0))...)
	if len(d.Launch) != 1 || d.Launch[0].Bundle != 10 || len(d.Preempt) != 1 || d.Preempt[0].Victims[0] != 2 || d.Preempt[0].For != 2 {
		t.Errorf("launched %v, preempted %+v", d.Launch, d.Preempt)
	}
	// Once the map has finished, the reduces are small and come first.
	d = round(1, append(runs(d.Launch[0], 3, 2, 0), scheduler.AttemptEnded{At: 1, Attempt: 1, Outcome: scheduler.Finished})...)
	if len(d.Launch) != 1 || d.Launch[0].Bundle != 3 || s.early || s.job == nil {
		t.Errorf("launched %v, early %t", d.Launch, s.early)
	}
}

// The manager starts its own last stage by itself, and tells no policy of it. A stage that is called
// publish is a job's own, and is served as others.
func TestAStageThatIsCalledPublish(t *testing.T) {
	p := &Policy{}
	kind := scheduler.DefaultKind
	slots := []scheduler.SlotCount{{Kind: kind, Count: 1}}
	job := func(id scheduler.JobID, names ...string) scheduler.JobSubmitted {
		j := scheduler.Job{ID: id}
		for i, n := range names {
			j.Stages = append(j.Stages, scheduler.Stage{ID: scheduler.StageID(i), Name: n, Groups: 1, Kind: kind, Slots: 1})
		}
		return scheduler.JobSubmitted{At: 1, Job: j}
	}
	ready := func(id scheduler.JobID, b scheduler.BundleID, s scheduler.StageID) scheduler.BundleReady {
		return scheduler.BundleReady{At: 1, Job: id, Bundle: b, Groups: []scheduler.Group{{Stage: s, Kind: kind, Slots: 1}}}
	}
	if _, err := p.Start(scheduler.Config{}, scheduler.Snapshot{Now: 1, Events: []scheduler.Event{
		scheduler.LauncherJoined{At: 1, Launcher: 1, Slots: slots}, job(1, "map", "publish"), job(2, "publish"), job(3, "map"),
	}}, policytest.Environment()); err != nil {
		t.Fatal(err)
	}
	d, err := p.AssignTasks(scheduler.Round{Number: 1, Now: 1, Offers: []scheduler.Offer{{Launcher: 1, Free: slots}}, Events: []scheduler.Event{
		ready(3, 1, 0), ready(2, 2, 0), ready(1, 3, 1),
	}})
	if err != nil || len(d.Launch) != 1 {
		t.Errorf("launched %v, %v, want one", d.Launch, err)
	}
	for _, s := range []*stage{of(p.index.Stages(1)[1]), of(p.index.Stages(2)[0])} {
		if s.job == nil {
			t.Errorf("stage %s of %s is not served as others", name(s), s.Job.ID())
		}
	}
}

// The virtual cluster has the usable slots: not those of a draining or excluded launcher.
func TestVirtualSlotsAreThoseOfTheCluster(t *testing.T) {
	slots := []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: 3}}
	join := func(id scheduler.LauncherID) scheduler.Event {
		return scheduler.LauncherJoined{At: 1, Launcher: id, Slots: slots}
	}
	p := &Policy{}
	if _, err := p.Start(scheduler.Config{}, scheduler.Snapshot{Now: 1, Events: []scheduler.Event{
		join(1), scheduler.JobSubmitted{At: 1, Job: scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Groups: 1, Kind: scheduler.DefaultKind, Slots: 1}}}},
	}}, policytest.Environment()); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		event scheduler.Event
		want  int
	}{
		{join(2), 6},
		{scheduler.LauncherExcluded{At: 1, Launcher: 2, Excluded: true}, 3},
		{scheduler.LauncherDraining{At: 1, Launcher: 1, Draining: true}, 0},
		{scheduler.LauncherExcluded{At: 1, Launcher: 2}, 3},
		{scheduler.LauncherLost{At: 1, Launcher: 2}, 0},
	} {
		if _, err := p.AssignTasks(scheduler.Round{Number: uint64(i + 1), Now: 1, Events: []scheduler.Event{c.event}}); err != nil { //nolint:gosec // few
			t.Fatal(err)
		}
		if got := p.kinds[0].slots; got != c.want {
			t.Errorf("after %T: %d slots, want %d", c.event, got, c.want)
		}
	}
}

func TestExplainAndStatus(t *testing.T) {
	w := newPlay(t, "")
	w.Launchers(1, 4)
	w.at(0, maps(40, time.Hour))
	w.at(time.Second, maps(400, time.Hour))
	w.Until(10 * time.Second)
	x, err := w.Policy.Explain(2)
	if err != nil || x.Reason != scheduler.WaitTurn || x.Place != 2 || !strings.Contains(x.Detail, "24000.0 slot-seconds") {
		t.Errorf("Explain = %+v, %v", x, err)
	}
	facts := map[string]string{}
	for _, f := range x.Facts {
		facts[f.Name] = f.Value
	}
	if facts["stage 0 layer-0-0: trained"] != "false" || facts["stage 0 layer-0-0: place"] != "2" {
		t.Errorf("facts %v", facts)
	}
	if _, err := w.Policy.Explain(9); !errors.Is(err, scheduler.ErrUnknownJob) {
		t.Errorf("of a job that is not there: %v", err)
	}
	s, err := w.Policy.Status()
	if err != nil || s.Check() != nil || len(s.Pools) != 3 || s.Pools[0].Running != 4 || s.Pools[0].Demand != 440 || s.Pools[1].Parent != "hfsp" {
		t.Errorf("Status = %+v, %v", s, err)
	}
}

// If there are fewer slots than stages, the virtual cluster has slots only for the stages of fewest
// tasks, those of more urgent jobs first. The others come after them, and share once there are
// slots for all. A restart keeps which stages have slots.
func TestFewerSlotsThanStages(t *testing.T) {
	w := newPlay(t, "training-part: 0\ntask-default: 1000s\n")
	w.Launchers(1, 2)
	for _, j := range []struct {
		tasks    int
		priority scheduler.Priority
	}{{5, 0}, {9, 1}, {3, 0}, {4, 0}} {
		w.Cluster.Submit(cluster.Spec{Name: "job", Priority: j.priority, Layers: []cluster.Layer{maps(j.tasks, time.Hour)}})
	}
	w.Until(time.Minute)
	done := func() (all []float64) {
		w.Policy.kinds[0].cluster.Advance(w.Cluster.Now())
		for id := range scheduler.JobID(4) {
			all = append(all, math.Round(w.stage(id+1).job.Done()))
		}
		return all
	}
	// Of 120 slot-seconds the urgent job has two thirds, and of the others the one of three tasks
	// the rest.
	equal(t, "virtual work", done(), []float64{0, 80, 40, 0})
	if x, err := w.Policy.Explain(4); err != nil || !strings.Contains(x.Detail, "stages of fewer tasks have all slots of the virtual cluster") {
		t.Errorf("it says %q (%v)", x.Detail, err)
	}
	before := w.Policy.dump()
	w.Restart("training-part: 0\ntask-default: 1000s\n")
	if after := w.Policy.dump(); after != before {
		t.Errorf("after a restart\n%s\nbefore\n%s", after, before)
	}
	w.Cluster.Join(2, cluster.Rack(2), 1<<40, scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: 8})
	w.Until(2 * time.Minute)
	for id, n := range done() {
		if n < 40 {
			t.Errorf("job %d has done %v, though there are slots for all", id+1, n)
		}
	}
}

func TestSettingsAreStrict(t *testing.T) {
	p := New()
	for _, c := range []struct{ text, says string }{
		{"estimator: oracle", `estimator: "oracle" is unknown: use one of sampling`},
		{"xi: 0.5", "xi: must be 1 or more"},
		{"xi: .nan", "xi: must be 1 or more"},
		{"samples: 0", "samples: must be from 1"},
		{"delta: -1s", "delta: must not be negative"},
		{"task-default: -1s", "task-default: must not be negative"},
		{"distribution: zipf", `distribution: "zipf" is unknown: use one of uniform, normal, exponential`},
		{"training-part: 1.5", "training-part: must be from 0 to 1"},
		{"late: never", `late: "never" is unknown: use one of share, plain`},
		{"preempt-maps: soft", "use one of wait, kill, suspend"},
		{"preempt-reduces: 3", "use one of wait, kill, suspend"},
		{"suspended-max: -1", "suspended-max: must not be negative"},
		{"suspended-memory: -0.1", "suspended-memory: must be from 0 to 1"},
		{"locality: {mode: near}", "use one of attempts, delay, min-cost-flow, nearest, none"},
		{"locality: {node-skips: 3s}", "node-skips: must be auto, or how many"},
		{"locality: {rack-skips: -3}", "rack-skips: must be auto, or how many"},
		{"locality: {mode: delay, node-delay: 3}", "node-delay: must be auto, or a duration"},
		{"locality: {mode: delay, rack-delay: soon}", "rack-delay: must be auto, or a duration"},
		{"priority-weight: 0", "priority-weight: must be from 1 to 1024"},
		{"collect-after: -1s", "collect-after: must not be negative"},
		{"estimate-error: 1.1", "estimate-error: must be from 0 to 1"},
		{"estimate-seed: -1", "cannot unmarshal"},
		{"trainings: 3", `unknown setting "trainings"`},
	} {
		var problems scheduler.Problems
		err := p.Check(scheduler.Config{File: "site.yaml", Line: 3, Text: []byte("\n" + c.text + "\n")})
		if !errors.As(err, &problems) || problems[0].Line != 4 || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want line 4 and %q", c.text, err, c.says)
		}
	}
	good := "xi: .inf\nlocality: {node-skips: 3, rack-skips: auto}\n"
	if err := p.Check(scheduler.Config{Text: []byte(good)}); err != nil {
		t.Error(err)
	}
	w := newPlay(t, "")
	w.Launchers(1, 1)
	w.Cluster.Config = scheduler.Config{}
	w.at(0, maps(2, time.Hour))
	w.Until(time.Second)
	w.Cluster.Settings(scheduler.Config{Text: []byte("priority-weight: 4\n")}, cluster.MustAccept)
	w.Cluster.Settings(scheduler.Config{Text: []byte("priority-weight: -4\n")}, cluster.MustReject)
	w.Until(2 * time.Second)
	if w.Policy.options.PriorityWeight != 4 {
		t.Errorf("settings %+v", w.Policy.options)
	}
}

// A launcher that can't suspend is asked once; its attempts are waited for, not killed.
func TestLaunchersThatCannotSuspend(t *testing.T) {
	w := newPlay(t, "")
	w.Launchers(1, 2)
	w.at(0, reduces(2, time.Hour))
	w.Until(time.Second)
	w.at(2*time.Second, maps(1, time.Second))
	asked := 0
	w.Look = func(d scheduler.Decisions) {
		for _, x := range d.Preempt {
			asked++
			w.Policy.outcome(scheduler.Outcome{At: w.Cluster.Now(), Kind: scheduler.DecisionPreempt, Reason: scheduler.Unsupported, Preempt: x})
		}
	}
	for w.Cluster.Step() && asked == 0 {
		r := w.Cluster.Round()
		d, err := w.Policy.AssignTasks(r)
		if err != nil {
			t.Fatal(err)
		}
		w.Look(d)
		d.Preempt = nil // as if it had been refused
		w.Cluster.Apply(r.Number, d)
	}
	w.Until(10 * time.Minute)
	if asked != 1 || w.Cluster.Tally.Preemptions != 0 || !slices.Equal(w.Policy.memory.NoSuspend, []scheduler.LauncherID{1}) {
		t.Errorf("asked %d times, %d preemptions, %v", asked, w.Cluster.Tally.Preemptions, w.Policy.memory.NoSuspend)
	}
}
