package shares

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/hamadryad/hamadryad/plugins/fair/allocation"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// start is a state by its settings, of no launchers and no jobs.
func start(t *testing.T, settings string) *State {
	t.Helper()
	v := &view.View{}
	if err := v.Start(scheduler.Snapshot{}); err != nil {
		t.Fatal(err)
	}
	s := &State{}
	s.Start(v, []scheduler.SlotKind{"map"})
	s.Rebuild(parse(t, settings))
	return s
}

func parse(t *testing.T, settings string) *allocation.Config {
	t.Helper()
	config, err := allocation.Parse(scheduler.Config{Text: []byte(settings)}, allocation.Parts{Adjusters: WeightAdjusters.Names()})
	if err != nil {
		t.Fatal(err)
	}
	return &config
}

// play has the view and the state take events in.
func play(t *testing.T, s *State, events ...scheduler.Event) {
	t.Helper()
	if err := s.View.Apply(scheduler.Round{Number: s.View.Round() + 1, Events: events}); err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		switch e := e.(type) {
		case scheduler.JobSubmitted:
			s.Add(s.View.Job(e.Job.ID))
		case scheduler.JobUpdated:
			s.Move(e.Job)
		case scheduler.JobFinished:
			s.Remove(e.Job)
		case scheduler.BundleReady:
			s.Mark(s.Jobs[e.Job])
		}
	}
	if s.View.LaunchersChanged() {
		s.World.CountLaunchers(s.View)
	}
	s.Sync()
}

func submitted(id scheduler.JobID, user, pool string) scheduler.JobSubmitted {
	stages := []scheduler.Stage{{Groups: 9, Kind: "map", Slots: 1}}
	return scheduler.JobSubmitted{Job: scheduler.Job{ID: id, User: user, Pool: pool, Stages: stages}}
}

func ready(id scheduler.JobID, b scheduler.BundleID) scheduler.BundleReady {
	return scheduler.BundleReady{Job: id, Bundle: b, Groups: []scheduler.Group{{Kind: "map", Slots: 1}}}
}

// pools says where the jobs are; one that may not run is in brackets.
func pools(s *State) map[scheduler.JobID]string {
	all := map[scheduler.JobID]string{}
	for id, j := range s.Jobs {
		if all[id] = j.Pool.Spec.Path; !j.Runnable {
			all[id] = "(" + all[id] + ")"
		}
	}
	return all
}

func want(t *testing.T, when string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, want %v", when, got, want)
	}
}

// TestPoolsComeAndGo: a declared pool stays, another is removed with its last job.
func TestPoolsComeAndGo(t *testing.T) {
	s := start(t, "allocations: {pools: {declared: {}}}")
	play(t, s, submitted(1, "ann", "declared"), submitted(2, "ann", "made"))
	want(t, "two jobs", pools(s), map[scheduler.JobID]string{1: "declared", 2: "made"})
	play(t, s, scheduler.JobFinished{Job: 1}, scheduler.JobFinished{Job: 2})
	if s.Pools["declared"] == nil || s.Pools["made"] != nil || len(s.Jobs) != 0 {
		t.Errorf("pools are %v", s.Pools)
	}
}

// TestOneAfterTheOther: of a user's two jobs one runs, and who may not run is in no
// queue; the other has its turn when the first has ended, and at once without the limit.
func TestOneAfterTheOther(t *testing.T) {
	const limit = "allocations: {users: {ann: {running-jobs-max: 1}}}"
	s := start(t, limit)
	play(t, s, submitted(1, "ann", "p"), submitted(2, "ann", "q"), submitted(3, "bob", "q"), ready(1, 1), ready(2, 2), ready(3, 3))
	want(t, "three jobs", pools(s), map[scheduler.JobID]string{1: "p", 2: "(q)", 3: "q"})
	k := s.World.Kind("map")
	want(t, "demand of q", s.Pools["q"].Node.Of(k).Demand(), 1)
	s.Rebuild(parse(t, ""))
	s.Sync()
	want(t, "without a limit", pools(s), map[scheduler.JobID]string{1: "p", 2: "q", 3: "q"})
	want(t, "demand of q", s.Pools["q"].Node.Of(k).Demand(), 2)
	s.Rebuild(parse(t, limit))
	s.Sync()
	play(t, s, scheduler.JobFinished{Job: 1})
	want(t, "the first has ended", pools(s), map[scheduler.JobID]string{2: "q", 3: "q"})
}

// TestRebuiltJobsKeepWhatOthersKnow of them.
func TestRebuiltJobsKeepWhatOthersKnow(t *testing.T) {
	s := start(t, "")
	var heard []string
	s.Trace = func(event string, j *Job) { heard = append(heard, fmt.Sprint(event, " ", j.ID())) }
	play(t, s, submitted(1, "ann", "p"))
	s.Jobs[1].Wait.Skip(7)
	s.Jobs[1].Reported = scheduler.WaitLocality
	s.Rebuild(parse(t, ""))
	if j := s.Jobs[1]; !j.Wait.Skipped || j.Reported != scheduler.WaitLocality {
		t.Errorf("the job is %+v", j)
	}
	play(t, s, scheduler.JobUpdated{Job: 1, Pool: "q"}, scheduler.JobFinished{Job: 1})
	want(t, "heard", heard, []string{"job added job-1", "job added job-1", "job moved job-1", "job removed job-1"})
}

// TestWorldCounts: slots are counted by kind, without draining or excluded launchers, and the
// nearest locality to a place is found.
func TestWorldCounts(t *testing.T) {
	s := start(t, "")
	play(t, s,
		scheduler.LauncherJoined{Launcher: 1, Host: "h1", Rack: "r1", Slots: []scheduler.SlotCount{{Kind: "map", Count: 3}, {Kind: "gpu", Count: 1}}},
		scheduler.LauncherJoined{Launcher: 2, Host: "h2", Rack: "r2", Slots: []scheduler.SlotCount{{Kind: "map", Count: 2}}})
	total := func() map[scheduler.SlotKind]int {
		all := map[scheduler.SlotKind]int{}
		for _, k := range s.World.Order {
			all[s.World.Kinds[k]] = s.World.Total[k]
		}
		return all
	}
	at := func(host, rack string) scheduler.Locality {
		return s.World.Nearest(&scheduler.Group{Places: []scheduler.Place{{Host: host, Rack: rack}}})
	}
	want(t, "two launchers", total(), map[scheduler.SlotKind]int{"gpu": 1, "map": 5})
	want(t, "places", []scheduler.Locality{at("h1", "r1"), at("h9", "r2"), at("h9", "")}, []scheduler.Locality{scheduler.NodeLocal, scheduler.RackLocal, scheduler.Remote})
	play(t, s, scheduler.LauncherDraining{Launcher: 1, Draining: true}, scheduler.LauncherLost{Launcher: 2})
	want(t, "none that takes work", total(), map[scheduler.SlotKind]int{"gpu": 0, "map": 0})
	want(t, "place", at("h1", "r1"), scheduler.Remote)
	play(t, s, scheduler.LauncherExcluded{Launcher: 1, Excluded: true}, scheduler.LauncherDraining{Launcher: 1})
	want(t, "one that is excluded", total(), map[scheduler.SlotKind]int{"gpu": 0, "map": 0})
	want(t, "its place", at("h1", "r1"), scheduler.Remote)
	var fresh World
	fresh.Start(s.View, s.World.Kinds)
	want(t, "looked at anew", fresh.Total, s.World.Total)
	play(t, s, scheduler.LauncherExcluded{Launcher: 1})
	want(t, "one again", total(), map[scheduler.SlotKind]int{"gpu": 1, "map": 3})
	play(t, s, scheduler.LauncherExcluded{Launcher: 1, Excluded: true}, scheduler.LauncherLost{Launcher: 1})
	want(t, "none", total(), map[scheduler.SlotKind]int{"gpu": 0, "map": 0})
}
