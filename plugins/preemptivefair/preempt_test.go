package preemptivefair

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func priority(p scheduler.Priority) func(*scheduler.Job) {
	return func(j *scheduler.Job) { j.Priority = p }
}

func property(name, value string) func(*scheduler.Job) {
	return func(j *scheduler.Job) { j.Properties = []scheduler.Property{{Name: name, Value: value}} }
}

// busy is ten slots on two launchers, all in use: job 1 runs six, job 2 four. Attempts
// 1 to 6 and 7 to 10 are theirs; the later, the newer.
func busy(t *testing.T, settings string, seed uint64, one, two func(*scheduler.Job)) *site {
	s := start(t, settings, seed)
	s.launcher(1, 5)
	s.launcher(2, 5)
	s.events(s.submit(1, 20, one), s.submit(2, 20, two))
	for i := range 10 {
		s.now = s.now.Add(time.Second)
		job := scheduler.JobID(1)
		if i >= 6 {
			job = 2
		}
		s.events(s.running(job, 1, scheduler.LauncherID(1+i%2))...)
	}
	s.settled()
	return s
}

func plain(*scheduler.Job) {}

// comes submits job 3 with work at once.
func (s *site) comes(groups int, change ...func(*scheduler.Job)) scheduler.Decisions {
	s.t.Helper()
	return s.events(append([]scheduler.Event{s.submit(3, groups, change...)}, s.ready(3, groups)...)...)
}

func TestWhoLoses(t *testing.T) {
	low, high := priority(scheduler.Low), priority(scheduler.High)
	for _, c := range []struct {
		name, settings string
		one, two       func(*scheduler.Job)
		newcomer       func(*scheduler.Job)
		want           map[scheduler.JobID]int
	}{
		// The share is 3.3 of 10, the first share 3.
		{"evenly", "", plain, plain, plain, map[scheduler.JobID]int{1: 2, 2: 1}},
		{"the furthest over its share", "job-loses: furthest-over-share", plain, plain, plain, map[scheduler.JobID]int{1: 3}},
		{"the lowest priority, down to its share", "job-loses: lowest-priority", high, low, plain, map[scheduler.JobID]int{1: 2, 2: 1}},
		{"nobody of the same priority", "only-higher-priority: true", plain, plain, plain, map[scheduler.JobID]int{}},
		{"only lower priority", "only-higher-priority: true", low, plain, plain, map[scheduler.JobID]int{1: 3}},
		{"not a job that opted out", "", property("preemptible", "false"), plain, plain, map[scheduler.JobID]int{2: 1}},
		{"nobody for a newcomer that opted out", "", plain, plain, property("preempt", "false"), map[scheduler.JobID]int{}},
		{"nobody for a newcomer that did not ask", "preemption: asked", plain, plain, plain, map[scheduler.JobID]int{}},
		{"for a newcomer that asked", "preemption: asked", plain, plain, property("preempt", "true"), map[scheduler.JobID]int{1: 2, 2: 1}},
		{"nobody ever", "preemption: none", plain, plain, property("preempt", "true"), map[scheduler.JobID]int{}},
	} {
		s := busy(t, c.settings, 1, c.one, c.two)
		d := s.comes(20, c.newcomer)
		if got := s.lost(d); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: lost %v, want %v", c.name, got, c.want)
		}
		reason := scheduler.WaitBelowShare
		if len(c.want) > 0 {
			reason = scheduler.WaitPreempting
		}
		if x, err := s.policy.Explain(3); err != nil || x.Reason != reason {
			t.Errorf("%s: Explain %+v, %v, want %s", c.name, x, err, reason)
		}
	}
}

// Two jobs hold five slots each, in turns. The newcomer's first victim is the newest attempt of
// all, whoever's it is: of jobs that hold the same, the one loses that has least to lose.
func TestOfEqualJobsTheNewestAttemptLoses(t *testing.T) {
	for _, last := range []scheduler.JobID{1, 2} {
		s := start(t, "", 1)
		s.launcher(1, 10)
		s.events(s.submit(1, 20), s.submit(2, 20))
		for i := range 10 {
			s.now = s.now.Add(time.Second)
			s.events(s.running(1+scheduler.JobID(i+int(last))%2, 1, 1)...)
		}
		s.settled()
		d := s.comes(1)
		if got := victims(d); len(got) != 1 || got[0] != 10 || s.lost(d)[last] != 1 {
			t.Errorf("the newest is attempt 10 of job %d: %v lose, of %v", last, got, s.lost(d))
		}
	}
}

func TestWhichAttemptLoses(t *testing.T) {
	at := func(settings string, change ...func(*scheduler.Group)) []scheduler.AttemptID {
		s := busy(t, settings, 1, plain, plain)
		s.events(
			scheduler.AttemptProgress{At: s.now, Attempt: 2, Progress: 0.1}, scheduler.AttemptProgress{At: s.now, Attempt: 1, Progress: 0.9},
			scheduler.AttemptProgress{At: s.now, Attempt: 3, Progress: 0.9}, scheduler.AttemptProgress{At: s.now, Attempt: 5, Progress: 0.9},
			scheduler.AttemptProgress{At: s.now, Attempt: 4, Progress: 0.2}, scheduler.AttemptProgress{At: s.now, Attempt: 6, Progress: 0.3},
		)
		return victims(s.events(append([]scheduler.Event{s.submit(3, 20)}, s.ready(3, 20, change...)...)...))
	}
	onSecond := func(g *scheduler.Group) { g.Places = []scheduler.Place{{Host: "h2", Bytes: 5}} }
	for settings, want := range map[string][]scheduler.AttemptID{
		"job-loses: furthest-over-share\nattempt-loses: newest":         {4, 5, 6},
		"job-loses: furthest-over-share\nattempt-loses: least-progress": {2, 4, 6},
		"attempt-loses: newest":            {5, 6, 10},
		"":                                 {5, 6, 10}, // the default
		"attempt-loses: newest-in-cluster": {8, 9, 10},
	} {
		if got := at(settings); !slices.Equal(got, want) {
			t.Errorf("%s: %v lose, want %v", settings, got, want)
		}
	}
	for _, id := range at("attempt-loses: newcomer-data", onSecond) {
		if id%2 != 0 {
			t.Errorf("attempt %d loses, which is not where the newcomer's input is", id)
		}
	}
}

// TestRandomVictimsAreSeeded: another seed, other victims; the same seed, the
// same.
func TestRandomVictimsAreSeeded(t *testing.T) {
	const lot = "attempt-loses: random"
	seen := map[string]bool{}
	for seed := range uint64(20) {
		one, two := victims(busy(t, lot, seed, plain, plain).comes(20)), victims(busy(t, lot, seed, plain, plain).comes(20))
		if !slices.Equal(one, two) || len(one) != 3 {
			t.Errorf("seed %d: %v and %v", seed, one, two)
		}
		seen[fmt.Sprint(one)] = true
	}
	if len(seen) < 5 {
		t.Errorf("20 seeds chose only %v", seen)
	}
}

func TestOnlyWhatFreeSlotsDoNotCover(t *testing.T) {
	s := busy(t, "", 1, plain, plain)
	s.events(s.ended(1, scheduler.Finished))
	r := free(1, 1)
	r.Events = append([]scheduler.Event{s.submit(3, 20)}, s.ready(3, 20)...)
	d := s.round(r)
	if got := s.launchedBy(d); !slices.Equal(got, []scheduler.JobID{3}) || len(victims(d)) != 2 {
		t.Errorf("one slot was free: launched %v, %d victims, want job-3 and 2", got, len(victims(d)))
	}
	// A job that needs less than its share takes no more than it needs.
	if d := busy(t, "", 1, plain, plain).comes(1); len(victims(d)) != 1 {
		t.Errorf("%d victims for a job of one map", len(victims(d)))
	}
}

// accepted is the outcomes of a round's preemptions.
func (s *site) accepted(d scheduler.Decisions) []scheduler.Event {
	var all []scheduler.Event
	for i, p := range d.Preempt {
		all = append(all, scheduler.Outcome{At: s.now, Kind: scheduler.DecisionPreempt, Index: i, Accepted: true, Preempt: p})
	}
	return all
}

func TestNothingIsTakenTwice(t *testing.T) {
	s := busy(t, "", 1, plain, plain)
	d := s.comes(20)
	taken := victims(d)
	if d := s.events(s.accepted(d)...); len(d.Preempt) > 0 {
		t.Errorf("asked again while victims leave: %v", d.Preempt)
	}
	// The victims have ended, and their slots are reserved.
	var events []scheduler.Event
	for _, id := range taken {
		events = append(events, s.ended(id, scheduler.Preempted))
	}
	kept := scheduler.Offer{Launcher: 1, Reserved: []scheduler.Reservation{{Job: 3, Kind: scheduler.DefaultKind, Slots: len(taken)}}}
	d = s.round(scheduler.Round{Events: events, Offers: []scheduler.Offer{kept}})
	if got := s.launchedBy(d); len(got) != 3 || len(d.Preempt) > 0 {
		t.Fatalf("launched %v and preempted %v on the slots reserved", got, d.Preempt)
	}
	events = nil
	for _, l := range d.Launch {
		events = append(events, s.started(l)...)
	}
	d = s.round(scheduler.Round{Events: events, Offers: []scheduler.Offer{{Launcher: 1}}})
	if len(d.Preempt) > 0 || len(s.policy.State().memory.Newcomers) > 0 {
		t.Errorf("it had its first share, and %v, %v", d.Preempt, s.policy.State().memory.Newcomers)
	}
	// An attempt of it is lost: it waits its turn like others.
	s.events(s.ended(s.attempt, scheduler.Lost))
	if d := s.events(s.ready(3, 1)...); len(d.Preempt) > 0 {
		t.Errorf("preempted again for it: %v", d.Preempt)
	}
}

// TestTakenAndLostAgain: slots that were preempted for a new job and went to another are not
// preempted once more.
func TestTakenAndLostAgain(t *testing.T) {
	s := busy(t, "", 1, plain, plain)
	d := s.comes(20)
	events := s.accepted(d)
	for _, id := range victims(d) {
		events = append(events, s.ended(id, scheduler.Preempted))
	}
	s.events(events...)
	s.events(s.running(1, 3, 1)...)
	s.now = s.now.Add(time.Minute)
	if d := s.events(scheduler.TimePassed{At: s.now}); len(d.Preempt) > 0 {
		t.Errorf("taken again: %v", d.Preempt)
	}
}

func TestRefusedIsTriedAgainForATime(t *testing.T) {
	s := busy(t, "", 1, plain, plain)
	d := s.comes(20)
	tries := 0
	for ; len(d.Preempt) > 0; tries++ {
		if tries > 2*refusedMax {
			t.Fatal("it never gives up")
		}
		events := s.accepted(d)
		for i := range events {
			o := events[i].(scheduler.Outcome)
			o.Accepted, o.Reason = false, scheduler.Protected
			events[i] = o
		}
		d = s.events(events...)
		if len(d.Preempt) > 0 {
			t.Fatal("tried again at once")
		}
		if tries+1 < refusedMax && d.WakeAt != s.now.Add(retryAfter) {
			t.Fatalf("wakes at %d, want %s from now", d.WakeAt, retryAfter)
		}
		s.now = s.now.Add(retryAfter)
		d = s.events(scheduler.TimePassed{At: s.now})
	}
	if tries != refusedMax || d.WakeAt != 0 {
		t.Errorf("%d tries, want %d; wakes at %d", tries, refusedMax, d.WakeAt)
	}
}

func TestModes(t *testing.T) {
	for settings, want := range map[string]scheduler.Preempt{
		"":                         {Mode: scheduler.PreemptKill},
		"mode: soft":               {Mode: scheduler.PreemptSoft, Grace: graceDefault},
		"mode: soft\ngrace: 2h":    {Mode: scheduler.PreemptSoft, Grace: time.Minute}, // the manager's bound
		"mode: suspend\ngrace: 1s": {Mode: scheduler.PreemptSuspend},
	} {
		d := busy(t, settings, 1, plain, plain).comes(20)
		if len(d.Preempt) == 0 || d.Preempt[0].Mode != want.Mode || d.Preempt[0].Grace != want.Grace || d.Preempt[0].For != 3 {
			t.Errorf("%q: %+v", settings, d.Preempt)
		}
	}
	// Where launchers cannot suspend, victims are killed.
	s := busy(t, "mode: suspend", 1, plain, plain)
	o := s.accepted(s.comes(20))[0].(scheduler.Outcome)
	o.Accepted, o.Reason = false, scheduler.Unsupported
	s.events(o)
	s.now = s.now.Add(retryAfter)
	if d := s.events(scheduler.TimePassed{At: s.now}); len(d.Preempt) == 0 || d.Preempt[0].Mode != scheduler.PreemptKill {
		t.Errorf("after a refusal: %+v", d.Preempt)
	}
	// A launcher that says so needs no refusal.
	n := busy(t, "mode: suspend", 1, plain, plain)
	n.events(scheduler.LauncherJoined{At: n.now, Launcher: 99, NoSuspend: true})
	if d := n.comes(20); len(d.Preempt) == 0 || d.Preempt[0].Mode != scheduler.PreemptKill {
		t.Errorf("after a launcher that can't suspend joined: %+v", d.Preempt)
	}
}

// TestGangTakesOneSet: victims of a bundle of several groups, or of several
// slots, are named as one set with the placement, and no more than it needs.
func TestGangTakesOneSet(t *testing.T) {
	for name, groups := range map[string][]scheduler.Group{
		"three groups":    {{Kind: scheduler.DefaultKind, Slots: 1}, {Kind: scheduler.DefaultKind, Slots: 1}, {Kind: scheduler.DefaultKind, Slots: 1}},
		"a group of two":  {{Kind: scheduler.DefaultKind, Slots: 2}},
		"one of two, one": {{Kind: scheduler.DefaultKind, Slots: 2}, {Kind: scheduler.DefaultKind, Slots: 1}},
	} {
		s := busy(t, "", 1, plain, plain)
		s.bundle++
		d := s.events(s.submit(3, 3), scheduler.BundleReady{At: s.now, Job: 3, Bundle: s.bundle, Groups: groups})
		need := 0
		for _, g := range groups {
			need += g.Slots
		}
		if len(d.Preempt) != 1 || d.Preempt[0].Bundle != s.bundle || len(d.Preempt[0].Placement) != len(groups) || len(d.Preempt[0].Victims) != need {
			t.Errorf("%s: %+v", name, d.Preempt)
		}
	}
	// For a bundle that can't fit, nothing is preempted.
	s := busy(t, "", 1, plain, plain)
	s.bundle++
	wide := []scheduler.Group{{Kind: scheduler.DefaultKind, Slots: 6}}
	if d := s.events(s.submit(3, 1), scheduler.BundleReady{At: s.now, Job: 3, Bundle: s.bundle, Groups: wide}); len(d.Preempt) > 0 {
		t.Errorf("six slots are on no launcher: %+v", d.Preempt)
	}
}

// TestWholeBundlesLose: a victim of a bundle of two groups means both, and both
// are counted.
func TestWholeBundlesLose(t *testing.T) {
	s := start(t, "", 1)
	s.launcher(1, 8)
	s.events(s.submit(1, 8))
	for range 4 {
		s.bundle++
		s.owner[s.bundle] = 1
		g := scheduler.Group{Kind: scheduler.DefaultKind, Slots: 1}
		s.events(append([]scheduler.Event{scheduler.BundleReady{At: s.now, Job: 1, Bundle: s.bundle, Groups: []scheduler.Group{g, g}}},
			s.started(scheduler.Launch{Bundle: s.bundle, Launchers: []scheduler.LauncherID{1, 1}})...)...)
	}
	s.settled()
	d := s.events(append([]scheduler.Event{s.submit(2, 3)}, s.ready(2, 3)...)...)
	got := victims(d)
	if len(got) != 4 {
		t.Fatalf("%v lose for three slots, want two whole bundles", got)
	}
	for i := 0; i < len(got); i += 2 {
		if got[i+1] != got[i]+1 || got[i]%2 != 1 {
			t.Errorf("%v lose, which are not whole bundles", got)
		}
	}
}

// TestWhatWholeBundlesFreeIsCounted: the newcomer's first share is four slots, and
// what runs are bundles of two groups. Two of them cover it, though three bundles of
// the newcomer are ready.
func TestWhatWholeBundlesFreeIsCounted(t *testing.T) {
	s := start(t, "", 1)
	s.launcher(1, 12)
	s.events(s.submit(1, 12))
	g := scheduler.Group{Kind: scheduler.DefaultKind, Slots: 1}
	for range 6 {
		s.bundle++
		s.owner[s.bundle] = 1
		s.events(append([]scheduler.Event{scheduler.BundleReady{At: s.now, Job: 1, Bundle: s.bundle, Groups: []scheduler.Group{g, g}}},
			s.started(scheduler.Launch{Bundle: s.bundle, Launchers: []scheduler.LauncherID{1, 1}})...)...)
	}
	s.settled()
	d := s.events(append([]scheduler.Event{s.submit(2, 3)}, s.ready(2, 3)...)...)
	if got := victims(d); len(got) != 4 {
		t.Errorf("%v lose for a first share of four slots", got)
	}
}

// TestNothingIsTakenBeyondTheShareOfNow: the new job's share was three when it came, and it lacks
// two of them. Before it gets them so many jobs come that its share is one slot.
func TestNothingIsTakenBeyondTheShareOfNow(t *testing.T) {
	s := busy(t, "", 1, plain, plain)
	s.events(append([]scheduler.Event{s.ended(1, scheduler.Finished), s.submit(3, 20)}, s.ready(3, 1)...)...)
	d := s.round(free(1, 1)) // one slot comes free, and one bundle is ready
	if got := s.launchedBy(d); !slices.Equal(got, []scheduler.JobID{3}) || len(d.Preempt) > 0 {
		t.Fatalf("launched %v, preempted %v", got, d.Preempt)
	}
	s.events(s.started(d.Launch[0])...)
	var others []scheduler.Event
	for id := scheduler.JobID(4); id <= 9; id++ {
		others = append(others, s.submit(id, 20))
	}
	d = s.events(append(others, s.ready(3, 19)...)...)
	if len(d.Preempt) > 0 || s.fact(3, "first share default") != "3" {
		t.Errorf("it has a slot of a share of 1.1, and %v lose for it", victims(d))
	}
}

// TestProtectedIsLeftAlone: nobody is asked for that the manager protects, and the next try
// is made when the first is not protected any more.
func TestProtectedIsLeftAlone(t *testing.T) {
	s := busy(t, "", 1, plain, plain)
	until := s.now.Add(10 * time.Second)
	var told []scheduler.Event
	for b := scheduler.BundleID(1); b <= s.bundle; b++ {
		told = append(told, scheduler.BundleProtected{At: s.now, Job: s.owner[b], Bundle: b, Until: until.Add(time.Duration(s.bundle - b))})
	}
	s.events(told...)
	if d := s.comes(20); len(d.Preempt) > 0 || d.WakeAt != until {
		t.Errorf("it preempts %v, and wakes at %d, want %d", d.Preempt, d.WakeAt, until)
	}
	s.now = until.Add(time.Microsecond)
	if d := s.events(scheduler.TimePassed{At: s.now}); len(d.Preempt) == 0 {
		t.Error("nobody is taken who may be")
	}
}
