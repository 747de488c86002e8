package hfsp

import (
	"slices"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedtest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

func environment() scheduler.Environment {
	return scheduler.Environment{
		Heartbeat: time.Second, Kinds: []scheduler.SlotKind{scheduler.DefaultKind}, Simulated: true,
		Limits: scheduler.Limits{GraceMax: time.Minute, CheckpointBytes: 1 << 20},
	}
}

// play is a policy on the kit's small manager, in virtual time.
type play struct {
	t      *testing.T
	c      *cluster.Cluster
	p      *Policy
	e      scheduler.Environment
	begin  scheduler.Time
	rounds []scheduler.Decisions
	events []scheduler.Event
	came   map[scheduler.JobID]scheduler.Time
	ended  map[scheduler.JobID]time.Duration // sojourn times
	look   func(d scheduler.Decisions)       // after each answer
}

func newPlay(t *testing.T, settings string) *play {
	t.Helper()
	w := &play{t: t, c: cluster.New(1), p: &Policy{}, e: environment(), came: map[scheduler.JobID]scheduler.Time{}, ended: map[scheduler.JobID]time.Duration{}}
	w.begin = w.c.Now()
	w.start(settings, w.c.Snapshot(nil, 0))
	return w
}

func (w *play) start(settings string, s scheduler.Snapshot) {
	w.t.Helper()
	w.p = &Policy{}
	d, err := w.p.Start(scheduler.Config{Text: []byte(settings)}, s, w.e)
	if err != nil {
		w.t.Fatal(err)
	}
	w.c.Abilities = d.Abilities
}

// restart goes on with a policy that knows what a snapshot and the last checkpoint
// tell.
func (w *play) restart(settings string) {
	w.t.Helper()
	w.start(settings, w.c.SnapshotAsOf(w.c.Snapshot(nil, 0), w.checkpoint()))
}

// checkpoint is what the policy has given as one; nil for none.
func (w *play) checkpoint() (all *scheduler.Checkpoint) {
	for _, d := range w.rounds {
		if d.Checkpoint != nil {
			sum := d.Checkpoint.After(all)
			all = &sum
		}
	}
	return all
}

// launchers joins n launchers of one rack each.
func (w *play) launchers(n, slots int) {
	for id := scheduler.LauncherID(1); int(id) <= n; id++ {
		w.c.Join(id, cluster.Rack(id), 1<<40, scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: slots})
	}
}

// maps is a stage of single-slot tasks that take so long; reduces is one that shuffles.
func maps(n int, run time.Duration) cluster.Layer {
	return cluster.Layer{Bundles: n, Run: run, Groups: []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1, Memory: 1 << 30}}}
}

func reduces(n int, run time.Duration) cluster.Layer {
	l := maps(n, run)
	l.Shuffles = true
	return l
}

// at submits a job of one stage at a time. Jobs are numbered in the order of their coming.
func (w *play) at(d time.Duration, l cluster.Layer) {
	w.c.After(w.begin.Add(d).Sub(w.c.Now()), func() { w.c.Submit(cluster.Spec{Name: "job", Layers: []cluster.Layer{l}}) })
}

// until plays rounds up to a time from the beginning, or to the end of all.
func (w *play) until(d time.Duration) {
	w.t.Helper()
	passed := false
	w.c.After(w.begin.Add(d).Sub(w.c.Now()), func() { passed = true; w.c.Note(scheduler.Note{Name: "time"}) })
	for !passed && w.c.Step() {
		w.round()
	}
}

func (w *play) round() scheduler.Decisions {
	w.t.Helper()
	r := w.c.Round()
	d, err := w.p.AssignTasks(r)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range r.Events {
		switch e := e.(type) {
		case scheduler.JobSubmitted:
			w.came[e.Job.ID] = e.At
		case scheduler.JobFinished:
			w.ended[e.Job] = e.At.Sub(w.came[e.Job])
		}
	}
	w.events = append(w.events, r.Events...)
	w.rounds = append(w.rounds, d)
	if w.look != nil {
		w.look(d)
	}
	w.c.Apply(r.Number, d)
	for _, f := range w.c.Faults {
		w.t.Fatal(f)
	}
	return d
}

// lives lists the attempts of a job that are in a state, by id.
func (w *play) lives(id scheduler.JobID, s view.AttemptState) (ids []scheduler.AttemptID) {
	if j := w.p.view.Job(id); j != nil {
		for _, a := range j.Attempts() {
			if a.State == s {
				ids = append(ids, a.ID)
			}
		}
	}
	return ids
}

// stage returns the first stage of a job.
func (w *play) stage(id scheduler.JobID) *stage { return of(w.p.book.Stages(id)[0]) }

// outcomes counts how the attempts of a job ended.
func (w *play) outcomes(id scheduler.JobID) map[scheduler.AttemptOutcome]int {
	mine := map[scheduler.AttemptID]bool{}
	n := map[scheduler.AttemptOutcome]int{}
	for _, e := range w.events {
		switch e := e.(type) {
		case scheduler.AttemptStarted:
			mine[e.Attempt] = e.Job == id
		case scheduler.AttemptEnded:
			if mine[e.Attempt] {
				n[e.Outcome]++
			}
		}
	}
	return n
}

// mean is the mean sojourn time.
func (w *play) mean() time.Duration {
	sum := time.Duration(0)
	for _, d := range w.ended {
		sum += d
	}
	return sum / time.Duration(max(len(w.ended), 1))
}

func equal[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
