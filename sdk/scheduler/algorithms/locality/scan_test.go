package locality_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// site is two launchers in two racks with slots of each and a job with bundles, each of which has input on a host.
func site(t *testing.T, slots int, hosts ...string) *view.View {
	t.Helper()
	v := &view.View{}
	r := scheduler.Round{Number: 1}
	for id := range scheduler.LauncherID(2) {
		free := []scheduler.SlotCount{{Kind: "map", Count: slots}}
		r.Events = append(r.Events, scheduler.LauncherJoined{Launcher: id + 1, Host: fmt.Sprint("h", id+1), Rack: fmt.Sprint("r", id+1), Slots: free})
		r.Offers = append(r.Offers, scheduler.Offer{Launcher: id + 1, Free: free})
	}
	r.Events = append(r.Events, scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Groups: 99, Kind: "map", Slots: 1}}}})
	for i, host := range hosts {
		g := scheduler.Group{Kind: "map", Slots: 1, Places: []scheduler.Place{{Host: host, Rack: "r2"}}}
		r.Events = append(r.Events, scheduler.BundleReady{Job: 1, Bundle: scheduler.BundleID(i + 1), Groups: []scheduler.Group{g}})
	}
	if err := v.Apply(r); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestPass launches work on the hosts of its input first, then in its rack, then anywhere, until the job is full.
func TestPass(t *testing.T) {
	for _, test := range []struct {
		most  int
		level scheduler.Locality
		want  map[scheduler.BundleID]scheduler.LauncherID
	}{
		{9, scheduler.NodeLocal, map[scheduler.BundleID]scheduler.LauncherID{2: 2}},
		{9, scheduler.RackLocal, map[scheduler.BundleID]scheduler.LauncherID{2: 2, 1: 2}},
		{1, scheduler.RackLocal, map[scheduler.BundleID]scheduler.LauncherID{2: 2}},
		{9, scheduler.Remote, map[scheduler.BundleID]scheduler.LauncherID{2: 2, 1: 2, 3: 1}},
	} {
		v := site(t, 2, "h9", "h2", "h9")
		got := map[scheduler.BundleID]scheduler.LauncherID{}
		p := locality.Pass{View: v, Job: v.Job(1), Kind: "map", Launch: func(b *view.Bundle, where []scheduler.LauncherID) {
			v.Launch(b, where)
			got[b.ID] = where[0]
		}}
		p.Full = func() bool { return len(got) == test.most || !p.Open() }
		p.Near(min(test.level, scheduler.RackLocal))
		if test.level == scheduler.Remote {
			p.Each(v.Job(1).ReadyOfKind("map", 0), v.Fit)
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("at most %d, level %s: got launches %v, want %v", test.most, test.level, got, test.want)
		}
	}
}

// TestPassGivesUp: a pass tries a bounded number of bundles that do not fit.
func TestPassGivesUp(t *testing.T) {
	v := site(t, 1, make([]string, 3*locality.MissesMax)...)
	tried := 0
	p := locality.Pass{View: v, Job: v.Job(1), Kind: "map", Full: func() bool { return false }}
	p.Each(v.Job(1).ReadyOfKind("map", 0), func(*view.Bundle) ([]scheduler.LauncherID, bool) {
		tried++
		return nil, false
	})
	if tried != locality.MissesMax {
		t.Errorf("got %d bundles tried, want %d", tried, locality.MissesMax)
	}
}

// TestPassOfSeconds: near its input, a pass launches a bundle that is offered for a second attempt only if it is to.
func TestPassOfSeconds(t *testing.T) {
	for _, seconds := range []bool{false, true} {
		v := site(t, 2, "h1")
		first := v.Launch(v.Bundle(1), []scheduler.LauncherID{2})
		offered := scheduler.SpeculationOffered{Job: 1, Bundle: 1, Groups: v.Bundle(1).Groups, Avoid: []scheduler.LauncherID{2}}
		if err := v.Apply(scheduler.Round{Number: 2, Events: []scheduler.Event{
			scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Launch: first, Attempts: []scheduler.AttemptID{1}}, offered,
		}}); err != nil {
			t.Fatal(err)
		}
		launched := 0
		p := locality.Pass{View: v, Job: v.Job(1), Kind: "map", Seconds: seconds, Launch: func(*view.Bundle, []scheduler.LauncherID) { launched++ }}
		p.Full = func() bool { return !p.Open() }
		p.Near(scheduler.NodeLocal)
		if want := map[bool]int{true: 1}[seconds]; launched != want {
			t.Errorf("seconds %t: got %d launches, want %d", seconds, launched, want)
		}
	}
}
