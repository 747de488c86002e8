package view

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// cluster is two racks of two launchers with two default slots and 10 bytes each;
// launcher 4 has one more slot of kind "gpu".
func cluster(t *testing.T) *View {
	t.Helper()
	v := &View{}
	if err := v.Start(scheduler.Snapshot{}); err != nil {
		t.Fatal(err)
	}
	r := scheduler.Round{Number: 1}
	for i := 1; i <= 4; i++ {
		slots := []scheduler.SlotCount{{Kind: "default", Count: 2}}
		if i == 4 {
			slots = append(slots, scheduler.SlotCount{Kind: "gpu", Count: 1})
		}
		id := scheduler.LauncherID(i)
		r.Events = append(r.Events, scheduler.LauncherJoined{
			Launcher: id, Host: fmt.Sprint("h", i), Rack: fmt.Sprint("r", (i+1)/2), Slots: slots, Memory: 10,
		})
		r.Offers = append(r.Offers, scheduler.Offer{Launcher: id, Free: slots, Memory: 10})
	}
	r.Events = append(r.Events, scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Groups: 9, Kind: "default", Slots: 1}}}})
	apply(t, v, r)
	return v
}

func apply(t *testing.T, v *View, r scheduler.Round) {
	t.Helper()
	if err := v.Apply(r); err != nil {
		t.Fatal(err)
	}
}

func group(memory int64, places ...scheduler.Place) scheduler.Group {
	return scheduler.Group{Kind: "default", Slots: 1, Memory: memory, Places: places}
}

func ready(t *testing.T, v *View, id scheduler.BundleID, groups ...scheduler.Group) *Bundle {
	t.Helper()
	apply(t, v, scheduler.Round{Number: v.Round() + 1, Events: []scheduler.Event{
		scheduler.BundleReady{Job: 1, Bundle: id, Groups: groups},
	}})
	return v.Bundle(id)
}

func wantFit(t *testing.T, v *View, b *Bundle, want ...scheduler.LauncherID) {
	t.Helper()
	got, ok := v.Fit(b)
	if !reflect.DeepEqual(got, want) || ok != (want != nil) {
		t.Errorf("%v: Fit = %v, %t, want %v", b.ID, got, ok, want)
	}
}

func TestFitPrefersNear(t *testing.T) {
	v := cluster(t)
	wantFit(t, v, ready(t, v, 1, group(1, scheduler.Place{Host: "h3", Rack: "r2"})), 3)
	b := ready(t, v, 2, group(9, scheduler.Place{Host: "h3", Rack: "r2"}))
	wantFit(t, v, b, 3)
	wantFit(t, v, b, 4) // memory is short on 3: next in its rack
	wantFit(t, v, b, 1) // then anywhere
	b.Avoid = []scheduler.LauncherID{2}
	wantFit(t, v, b)
}

func TestFitSpreadsAndFillsUp(t *testing.T) {
	v := cluster(t)
	b := ready(t, v, 1, group(1))
	for _, want := range []scheduler.LauncherID{1, 2, 3, 4, 1, 2, 3, 4} {
		wantFit(t, v, b, want)
	}
	wantFit(t, v, b)
}

func TestFitGangIsAllOrNothing(t *testing.T) {
	v := cluster(t)
	gpu := scheduler.Group{Kind: "gpu", Slots: 1, Memory: 8}
	wantFit(t, v, ready(t, v, 1, group(9), gpu, group(9)), 1, 4, 2)
	b := ready(t, v, 2, group(1), gpu, gpu)
	before := v.Capacity.FreeSlots("default")
	wantFit(t, v, b)
	if v.Capacity.FreeSlots("default") != before {
		t.Errorf("a gang that does not fit left %d free slots of %d", v.Capacity.FreeSlots("default"), before)
	}
	// Spreading would leave no launcher with 6 bytes for the last; the second,
	// tight try packs two on one.
	wide := make([]scheduler.Group, 8)
	for i := range wide {
		wide[i] = group(5)
	}
	if _, ok := v.Fit(ready(t, v, 3, wide...)); !ok {
		t.Error("eight groups of 5 bytes do not fit four launchers of 10")
	}
}

func TestReservationIsForItsJobOnly(t *testing.T) {
	v := cluster(t)
	offers := []scheduler.Offer{{Launcher: 1, Reserved: []scheduler.Reservation{{Job: 1, Kind: "default", Slots: 1, Memory: 5}}}}
	for id := scheduler.LauncherID(2); id <= 4; id++ {
		offers = append(offers, scheduler.Offer{Launcher: id})
	}
	apply(t, v, scheduler.Round{Number: 2, Offers: offers, Events: []scheduler.Event{
		scheduler.JobSubmitted{Job: scheduler.Job{ID: 2, Stages: []scheduler.Stage{{Groups: 1}}}},
		scheduler.BundleReady{Job: 2, Bundle: 9, Groups: []scheduler.Group{group(1)}},
		scheduler.BundleReady{Job: 1, Bundle: 8, Groups: []scheduler.Group{group(5)}},
	}})
	wantFit(t, v, v.Bundle(9))
	wantFit(t, v, v.Bundle(8), 1)
	wantFit(t, v, v.Bundle(8))
}

// Nothing is free on the launcher that holds the input, but a slot is reserved there.
func TestReservedRoomIsNear(t *testing.T) {
	v := cluster(t)
	apply(t, v, scheduler.Round{Number: 2, Offers: []scheduler.Offer{
		{Launcher: 3, Reserved: []scheduler.Reservation{{Job: 1, Kind: "default", Slots: 1, Memory: 5}}},
	}})
	b := ready(t, v, 8, group(5, scheduler.Place{Host: "h3", Rack: "r2"}))
	if where, ok := v.FitNear(b, scheduler.NodeLocal); !ok || where[0] != 3 {
		t.Errorf("FitNear = %v, %t, want 3", where, ok)
	}
	wantFit(t, v, b, 4) // the slot is taken
}

// A suspended bundle resumes, whole, on slots reserved for it alone and on free ones, but not while
// it is resuming or being killed.
func TestTakeForResume(t *testing.T) {
	v := cluster(t)
	gang := ready(t, v, 8, group(5), group(5))
	ids := []scheduler.AttemptID{11, 12}
	on := []scheduler.LauncherID{1, 1}
	apply(t, v, scheduler.Round{Number: v.Round() + 1, Events: []scheduler.Event{
		scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: ids, Launch: scheduler.Launch{Bundle: 8, Launchers: on}},
		scheduler.AttemptStarted{Job: 1, Bundle: 8, Attempt: 11, Launcher: 1},
		scheduler.AttemptStarted{Job: 1, Bundle: 8, Group: 1, Attempt: 12, Launcher: 1},
		scheduler.AttemptSuspended{Attempt: 11},
	}})
	offer := func(free int, reserved ...scheduler.Reservation) scheduler.Round {
		return scheduler.Round{Number: v.Round() + 1, Offers: []scheduler.Offer{{
			Launcher: 1, Free: []scheduler.SlotCount{{Kind: "default", Count: free}}, Suspended: 2, Held: 10, Reserved: reserved,
		}}}
	}
	can := func(want bool, what string) {
		t.Helper()
		mark := v.Capacity.Mark()
		if got := v.Capacity.TakeForResume(v.Attempt(12)); got != want {
			t.Errorf("%s: %t", what, got)
		}
		if !want && v.Capacity.Mark() != mark {
			t.Errorf("%s: something stays taken", what)
		}
	}
	apply(t, v, offer(2))
	can(false, "half of it runs")
	r := offer(1, scheduler.Reservation{Job: 1, Kind: "default", Slots: 4}, scheduler.Reservation{Job: 1, Bundle: 9, Kind: "default", Slots: 4})
	r.Events = []scheduler.Event{scheduler.AttemptSuspended{Attempt: 12}}
	apply(t, v, r)
	can(false, "with what is free, and not for it")
	r = offer(1, scheduler.Reservation{Job: 1, Bundle: 8, Kind: "default", Slots: 1})
	apply(t, v, r)
	can(true, "with what is free and for it")
	if slots, _ := v.Capacity.Room(v.Launcher(1), 0, "default"); slots != 0 || gang.Attempts()[0].State != Suspended {
		t.Errorf("%d slots are free beside it", slots)
	}
	can(false, "twice")
	accepted := scheduler.Outcome{Kind: scheduler.DecisionResume, Accepted: true, Attempts: ids}
	for i, round := range [][]scheduler.Event{
		{accepted},
		{
			scheduler.AttemptResumed{Attempt: 11},
			scheduler.AttemptResumed{Attempt: 12},
			scheduler.AttemptSuspended{Attempt: 11},
			scheduler.AttemptSuspended{Attempt: 12},
			scheduler.Outcome{Kind: scheduler.DecisionPreempt, Accepted: true, Preempt: scheduler.Preempt{Victims: ids[:1], Mode: scheduler.PreemptKill, For: 1}},
		},
	} {
		r := offer(2)
		r.Events = round
		apply(t, v, r)
		can(false, []string{"it goes on already", "it is to be killed"}[i])
	}
}

// What is reserved for one bundle is no room for another of its job, and is what that
// bundle takes first.
func TestReservationForOneBundle(t *testing.T) {
	v := cluster(t)
	offers := []scheduler.Offer{{Launcher: 1, Reserved: []scheduler.Reservation{
		{Job: 1, Kind: "default", Slots: 1, Memory: 5}, {Job: 1, Bundle: 8, Kind: "default", Slots: 1, Memory: 5},
	}}}
	for id := scheduler.LauncherID(2); id <= 4; id++ {
		offers = append(offers, scheduler.Offer{Launcher: id})
	}
	apply(t, v, scheduler.Round{Number: 2, Offers: offers, Events: []scheduler.Event{
		scheduler.BundleReady{Job: 1, Bundle: 8, Groups: []scheduler.Group{group(5)}},
		scheduler.BundleReady{Job: 1, Bundle: 9, Groups: []scheduler.Group{group(5)}},
	}})
	for _, x := range []struct {
		whose string
		room  func() (int, int64)
		slots int
	}{
		{"any bundle of the job", func() (int, int64) { return v.Capacity.Room(v.Launcher(1), 1, "default") }, 1},
		{"the bundle", func() (int, int64) { return v.Capacity.RoomFor(v.Launcher(1), v.Bundle(8), "default") }, 2},
		{"another bundle", func() (int, int64) { return v.Capacity.RoomFor(v.Launcher(1), v.Bundle(9), "default") }, 1},
		{"another job", func() (int, int64) { return v.Capacity.Room(v.Launcher(1), 2, "default") }, 0},
	} {
		if slots, memory := x.room(); slots != x.slots || memory != int64(5*x.slots) {
			t.Errorf("%s has room for %d slots and %d bytes, want %d and %d", x.whose, slots, memory, x.slots, 5*x.slots)
		}
	}
	if n := v.Capacity.ReservedSlots(1, "default"); n != 2 {
		t.Errorf("%d slots are kept for the job, want 2", n)
	}
	wantFit(t, v, v.Bundle(8), 1)
	wantFit(t, v, v.Bundle(9), 1)
	wantFit(t, v, v.Bundle(9))
	apply(t, v, scheduler.Round{Number: 3, Offers: offers})
	wantFit(t, v, v.Bundle(9), 1)
	wantFit(t, v, v.Bundle(9))
	wantFit(t, v, v.Bundle(8), 1)
}

func TestUndoRestoresAndGiveAdds(t *testing.T) {
	v := cluster(t)
	b := ready(t, v, 1, group(10))
	mark := v.Capacity.Mark()
	for range 4 {
		if _, ok := v.Fit(b); !ok {
			t.Fatal("no room on an empty cluster")
		}
	}
	wantFit(t, v, b)
	v.Capacity.AddRoom(v.Launcher(3), &scheduler.Group{Kind: "default", Slots: 1, Memory: 10})
	wantFit(t, v, b, 3)
	if _, fits := v.FitIfEmpty(b); !fits {
		t.Error("FitIfEmpty looks at what is taken")
	}
	v.Capacity.Undo(mark)
	wantFit(t, v, b, 1)
}

func TestBundleLeavesReadyAndComesBack(t *testing.T) {
	v := cluster(t)
	ready(t, v, 1, group(1, scheduler.Place{Host: "h1"}))
	apply(t, v, scheduler.Round{Number: 3, Events: []scheduler.Event{
		scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{7}, Launch: scheduler.Launch{Bundle: 1, Launchers: []scheduler.LauncherID{1}}},
	}})
	for range v.Job(1).ReadyAt("h1") {
		t.Error("a launched bundle is still ready")
	}
	apply(t, v, scheduler.Round{Number: 4, Events: []scheduler.Event{
		scheduler.AttemptEnded{Attempt: 7, Outcome: scheduler.Lost},
		scheduler.BundleReady{Job: 1, Bundle: 1, Groups: []scheduler.Group{group(1, scheduler.Place{Host: "h2"})}},
	}})
	at := map[string]int{}
	for _, h := range []string{"h1", "h2"} {
		for range v.Job(1).ReadyAt(h) {
			at[h]++
		}
	}
	if at["h1"] != 0 || at["h2"] != 1 {
		t.Errorf("ready again with input on h2, but found at %v", at)
	}
}

// A snapshot does not show that a launch was the second of two, if the first is gone.
// The first start of its groups does, for all of them.
func TestTheGroupsOfALaunchAreSpeculativeTogether(t *testing.T) {
	var v View
	err := v.Start(scheduler.Snapshot{Now: 30, Events: []scheduler.Event{
		scheduler.LauncherJoined{Launcher: 1, Slots: []scheduler.SlotCount{{Kind: "map", Count: 3}}},
		scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Groups: 3, Kind: "map", Slots: 1}}}},
		scheduler.BundleReady{At: 10, Job: 1, Bundle: 1, Groups: []scheduler.Group{{Kind: "map", Slots: 1}, {Kind: "map", Slots: 1}, {Kind: "map", Slots: 1}}},
		scheduler.Outcome{
			At: 10, Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{4, 5, 6},
			Launch: scheduler.Launch{Bundle: 1, Launchers: []scheduler.LauncherID{1, 1, 1}},
		},
		scheduler.AttemptStarted{At: 20, Attempt: 5, Job: 1, Bundle: 1, Group: 1, Launcher: 1, Speculative: true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range v.Job(1).Attempts() {
		if !a.Speculative {
			t.Errorf("attempt %d (%s) is not", a.ID, a.State)
		}
	}
}

func TestInconsistentEventNamesItself(t *testing.T) {
	v := cluster(t)
	before := v.World().String()
	err := v.Apply(scheduler.Round{Number: 2, Events: []scheduler.Event{
		scheduler.AttemptStarted{Attempt: 5, Job: 1},
		scheduler.LauncherLost{Launcher: 1},
	}})
	if err == nil || !strings.Contains(err.Error(), "round 2, event 0 (scheduler.AttemptStarted): attempt-5") {
		t.Errorf("error %v does not name the event", err)
	}
	if after := v.World().String(); after != before {
		t.Errorf("the view changed:\n%s", after)
	}
}

func TestWhyNothingFits(t *testing.T) {
	v := cluster(t)
	for want, b := range map[scheduler.WaitReason]*Bundle{
		scheduler.WaitNoCapacity: ready(t, v, 1, group(11)),
		scheduler.WaitExcluded:   ready(t, v, 2, group(1)),
		scheduler.WaitGang:       ready(t, v, 3, group(11), group(11)),
	} {
		if want == scheduler.WaitExcluded {
			b.Avoid = []scheduler.LauncherID{1, 2, 3, 4}
		}
		wantFit(t, v, b)
		if got := b.Unfit(); got != want {
			t.Errorf("%v waits for %v, want %v", b.ID, got, want)
		}
	}
}

// A suspension frees the memory that moves to swap, and a resumed attempt needs it again. Within a
// round the view shows the state after its decisions, and Undo restores it.
func TestMemoryInSwap(t *testing.T) {
	v := &View{}
	need := scheduler.Group{Kind: "default", Slots: 1, Memory: 4}
	r := scheduler.Round{Number: 1, Events: []scheduler.Event{
		scheduler.LauncherJoined{Launcher: 1, Slots: []scheduler.SlotCount{{Kind: "default", Count: 4}}, Memory: 12, Swap: 6},
		scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Groups: 9, Kind: "default", Slots: 1}}}},
	}}
	for id := range scheduler.BundleID(3) {
		r.Events = append(r.Events, scheduler.BundleReady{Job: 1, Bundle: id + 1, Groups: []scheduler.Group{need}},
			scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{scheduler.AttemptID(id) + 1}, Launch: scheduler.Launch{Bundle: id + 1, Launchers: []scheduler.LauncherID{1}}},
			scheduler.AttemptStarted{Job: 1, Bundle: id + 1, Attempt: scheduler.AttemptID(id) + 1, Launcher: 1})
	}
	r.Offers = []scheduler.Offer{{Launcher: 1, Free: []scheduler.SlotCount{{Kind: "default", Count: 1}}, Swap: 6}}
	apply(t, v, r)
	has := func(what string, slots int, memory int64) {
		t.Helper()
		if s, m := v.Capacity.Room(v.Launcher(1), 0, "default"); s != slots || m != memory {
			t.Errorf("%s: %d slots and %d bytes are free, want %d and %d", what, s, m, slots, memory)
		}
	}
	mark := v.Capacity.Mark()
	v.Capacity.Release(v.Attempt(1), true)
	has("one is suspended", 2, 4)
	v.Capacity.Release(v.Attempt(2), true)
	has("a second, half of it", 3, 6)
	v.Capacity.Release(v.Attempt(3), false)
	has("the third is killed", 4, 10)
	v.Capacity.Undo(mark)
	has("none", 1, 0)
	apply(t, v, scheduler.Round{
		Number: 2, Events: []scheduler.Event{scheduler.AttemptSuspended{Attempt: 1}, scheduler.AttemptSuspended{Attempt: 2}},
		Offers: []scheduler.Offer{{Launcher: 1, Free: []scheduler.SlotCount{{Kind: "default", Count: 3}}, Memory: 3, Suspended: 2, Held: 8, Reserved: []scheduler.Reservation{{Job: 1, Bundle: 9, Memory: 3}}}},
	})
	mark = v.Capacity.Mark()
	if !v.Capacity.TakeForResume(v.Attempt(1)) {
		t.Error("the first does not go on with 2 of 3 bytes")
	}
	has("the first goes on", 2, 1)
	if v.Capacity.TakeForResume(v.Attempt(2)) {
		t.Error("the second goes on with 1 of 4 bytes")
	}
	has("the second does not", 2, 1)
	v.Capacity.Undo(mark)
	v.Capacity.Release(v.Attempt(1), false)
	has("the first is killed, of which the second has two bytes of swap", 3, 5)
	if v.Capacity.TakeForResume(v.Attempt(2)); v.Launcher(1).Swap != 6 {
		t.Error("it has other swap")
	}
	has("the second goes on", 2, 1)
}

// On a closed launcher only suspended attempts resume, and nothing else fits, also if it closes
// after its last offer. A launcher that opens again has what it offers.
func TestClosedLaunchers(t *testing.T) {
	for what, event := range map[string]func(closed bool) scheduler.Event{
		"draining": func(c bool) scheduler.Event { return scheduler.LauncherDraining{Launcher: 1, Draining: c} },
		"excluded": func(c bool) scheduler.Event { return scheduler.LauncherExcluded{Launcher: 1, Excluded: c} },
	} {
		v := &View{}
		slots := func(n int) []scheduler.SlotCount { return []scheduler.SlotCount{{Kind: "default", Count: n}} }
		need := scheduler.Group{Kind: "default", Slots: 1, Memory: 4, Places: []scheduler.Place{{Host: "h1", Rack: "r1"}}}
		apply(t, v, scheduler.Round{Number: 1, Events: []scheduler.Event{
			scheduler.LauncherJoined{Launcher: 1, Host: "h1", Rack: "r1", Slots: slots(2), Memory: 8},
			scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Groups: 9, Kind: "default", Slots: 1}}}},
			scheduler.BundleReady{Job: 1, Bundle: 1, Groups: []scheduler.Group{need}},
			scheduler.BundleReady{Job: 1, Bundle: 2, Groups: []scheduler.Group{need}},
			scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{11}, Launch: scheduler.Launch{Bundle: 1, Launchers: []scheduler.LauncherID{1}}},
			scheduler.AttemptStarted{Job: 1, Bundle: 1, Attempt: 11, Launcher: 1},
			scheduler.AttemptSuspended{Attempt: 11},
		}, Offers: []scheduler.Offer{{Launcher: 1, Free: slots(2), Memory: 4, Suspended: 1, Held: 4}}})
		b := v.Bundle(2)
		closed := func(again int) {
			t.Helper()
			wantFit(t, v, b)
			_, near := v.FitNear(b, scheduler.NodeLocal)
			_, on := v.FitOn(v.Launcher(1), b)
			hosts, racks := v.NearRoom(v.Job(1), "default")
			if n := v.Capacity.FreeSlots("default") + v.Capacity.Withheld("default") + len(hosts) + len(racks); n != 0 || near || on || v.Capacity.FreeForResume("default") != again {
				t.Errorf("%s: something finds room, or %d slots are free for what is suspended, want %d", what, v.Capacity.FreeForResume("default"), again)
			}
		}
		apply(t, v, scheduler.Round{Number: 2, Events: []scheduler.Event{event(true)}})
		closed(0)
		if v.Capacity.TakeForResume(v.Attempt(11)) {
			t.Errorf("%s: it goes on with what was free before", what)
		}
		apply(t, v, scheduler.Round{Number: 3, Offers: []scheduler.Offer{{Launcher: 1, ForResume: slots(1), ForResumeMemory: 4, Suspended: 1, Held: 4}}})
		closed(1)
		mark := v.Capacity.Mark()
		if !v.Capacity.TakeForResume(v.Attempt(11)) || v.Capacity.FreeForResume("default") != 0 {
			t.Errorf("%s: it does not go on with the slot that is for that", what)
		}
		v.Capacity.Undo(mark)
		closed(1)
		apply(t, v, scheduler.Round{Number: 4, Events: []scheduler.Event{event(false)}, Offers: []scheduler.Offer{{Launcher: 1, Free: slots(2), Memory: 4, Suspended: 1, Held: 4}}})
		if n := v.Capacity.FreeForResume("default"); n != 0 || v.Capacity.FreeSlots("default") != 2 {
			t.Errorf("%s no more: %d slots are free, and %d for what is suspended", what, v.Capacity.FreeSlots("default"), n)
		}
		wantFit(t, v, b, 1)
	}
}

// MaySuspend keeps to the manager's bounds, counting suspended attempts, those being suspended and
// the new ones. Undo goes back.
func TestMaySuspend(t *testing.T) {
	v := &View{}
	need := scheduler.Group{Kind: "default", Slots: 1, Memory: 4}
	r := scheduler.Round{Number: 1, Events: []scheduler.Event{
		scheduler.LauncherJoined{Launcher: 1, Slots: []scheduler.SlotCount{{Kind: "default", Count: 5}}, Memory: 20, Swap: 10},
		scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Groups: 9, Kind: "default", Slots: 1}}}},
	}, Offers: []scheduler.Offer{{Launcher: 1, Suspended: 1, Held: 4, Swap: 6}}}
	for id := range scheduler.BundleID(5) {
		r.Events = append(r.Events, scheduler.BundleReady{Job: 1, Bundle: id + 1, Groups: []scheduler.Group{need}},
			scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{scheduler.AttemptID(id) + 1}, Launch: scheduler.Launch{Bundle: id + 1, Launchers: []scheduler.LauncherID{1}}},
			scheduler.AttemptStarted{Job: 1, Bundle: id + 1, Attempt: scheduler.AttemptID(id) + 1, Launcher: 1})
	}
	for id, mode := range map[scheduler.AttemptID]scheduler.PreemptMode{2: scheduler.PreemptSuspend, 3: scheduler.PreemptKill} {
		r.Events = append(r.Events, scheduler.Outcome{Kind: scheduler.DecisionPreempt, Accepted: true, Preempt: scheduler.Preempt{Victims: []scheduler.AttemptID{id}, Mode: mode, For: 1}})
	}
	r.Events = append(r.Events, scheduler.AttemptSuspended{Attempt: 1})
	apply(t, v, r)
	may := func(what string, want bool, n, percent int, ids ...scheduler.AttemptID) {
		t.Helper()
		var list []*Attempt
		for _, id := range ids {
			list = append(list, v.Attempt(id))
		}
		if got := v.Capacity.MaySuspend(list, scheduler.Limits{SuspendedMax: n, SuspendedPercent: percent}); got != want {
			t.Errorf("%s: %t", what, got)
		}
	}
	may("a third of three", true, 3, 100, 4)
	may("a third of two", false, 2, 100, 4)
	may("12 bytes of 12", true, 3, 40, 4)
	may("12 bytes of 11", false, 3, 39, 4)
	may("a fourth with it of three", false, 3, 100, 4, 5)
	may("no bounds", true, 0, 0, 4, 5)
	for what, more := range map[string]func(*Attempt){"leaves": func(a *Attempt) { v.Capacity.Release(a, true) }, "leaves something that counts for nothing": v.Capacity.CountSuspending} {
		mark := v.Capacity.Mark()
		more(v.Attempt(5))
		may("a fourth of four, as one "+what, true, 4, 100, 4)
		may("a fourth of three, as one "+what, false, 3, 100, 4)
		v.Capacity.Undo(mark)
		may("a third of three, as none "+what, true, 3, 100, 4)
	}
	v.Launcher(1).NoSuspend = true
	may("where the launcher can't suspend", false, 0, 0, 4)
}
