package fifo

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
)

// site is a small world that tests of single rules report to a policy by hand. The conformance kit
// plays the long games.
type site struct {
	t      *testing.T
	policy scheduler.TaskScheduler
	number uint64
	now    scheduler.Time
}

func start(t *testing.T, settings string) *site {
	t.Helper()
	s := &site{t: t, policy: New(), now: 1}
	if _, err := s.policy.Start(scheduler.Config{Text: []byte(settings)}, scheduler.Snapshot{Now: 1}, scheduler.Environment{}); err != nil {
		t.Fatal(err)
	}
	return s
}

// launchers joins n launchers with host and rack hN, rN and that many free slots.
func (s *site) launchers(n, slots int) {
	var r scheduler.Round
	for i := 1; i <= n; i++ {
		count := []scheduler.SlotCount{{Kind: "default", Count: slots}}
		r.Events = append(r.Events, scheduler.LauncherJoined{
			At: s.now, Launcher: scheduler.LauncherID(i), Host: fmt.Sprint("h", i), Rack: fmt.Sprint("r", i), Slots: count, Memory: 100,
		})
		r.Offers = append(r.Offers, scheduler.Offer{Launcher: scheduler.LauncherID(i), Free: count, Memory: 100})
	}
	s.round(r)
}

func (s *site) round(r scheduler.Round) scheduler.Decisions {
	s.t.Helper()
	s.number++
	r.Number, r.Now = s.number, s.now
	d, err := s.policy.AssignTasks(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *site) events(e ...scheduler.Event) scheduler.Decisions {
	s.t.Helper()
	return s.round(scheduler.Round{Events: e})
}

// fact returns a fact of the policy's status.
func (s *site) fact(name string) string {
	s.t.Helper()
	status, err := s.policy.Status()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range status.Facts {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

func (s *site) submit(id scheduler.JobID, p scheduler.Priority) scheduler.Event {
	return scheduler.JobSubmitted{At: s.now, Job: scheduler.Job{
		ID: id, Priority: p, Submitted: s.now, Stages: []scheduler.Stage{{Groups: 20, Kind: "default", Slots: 1}},
	}}
}

func (s *site) ready(job scheduler.JobID, bundle scheduler.BundleID, groups int, hosts ...string) scheduler.Event {
	e := scheduler.BundleReady{At: s.now, Job: job, Bundle: bundle}
	for range groups {
		g := scheduler.Group{Kind: "default", Slots: 1}
		for _, h := range hosts {
			g.Places = append(g.Places, scheduler.Place{Host: h, Rack: "r" + h[1:], Bytes: 1})
		}
		e.Groups = append(e.Groups, g)
	}
	return e
}

// accepted is the outcome of a launch of one group.
func accepted(l scheduler.Launch, attempt scheduler.AttemptID) scheduler.Event {
	return scheduler.Outcome{At: 1, Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{attempt}, Launch: l}
}

func launched(d scheduler.Decisions) string {
	var parts []string
	for _, l := range d.Launch {
		parts = append(parts, fmt.Sprintf("%d%v", l.Bundle, l.Launchers))
	}
	return strings.Join(parts, " ")
}

func want(t *testing.T, d scheduler.Decisions, launches string) {
	t.Helper()
	if got := launched(d); got != launches {
		t.Errorf("launched %q, want %q", got, launches)
	}
}

func TestHeadFirstAndNextWhenHeadHasNothing(t *testing.T) {
	s := start(t, "")
	s.launchers(1, 2)
	d := s.events(s.submit(1, scheduler.Normal), s.submit(2, scheduler.Normal), s.submit(3, scheduler.High),
		s.ready(2, 20, 1), s.ready(3, 30, 1), s.ready(1, 10, 1))
	want(t, d, "30[1] 10[1]")
	s = start(t, "")
	s.launchers(1, 2)
	want(t, s.events(s.submit(1, scheduler.Normal), s.submit(2, scheduler.Normal), s.ready(2, 20, 1)), "20[1]")
}

func TestNodeThenRackThenAny(t *testing.T) {
	s := start(t, "")
	s.launchers(3, 1)
	// Bundle 1 comes first but has no home; 3 and 2 have.
	want(t, s.events(s.submit(1, 0), s.ready(1, 1, 1), s.ready(1, 2, 1, "h3"), s.ready(1, 3, 1, "h1")), "3[1] 2[3] 1[2]")
}

func TestSmallerWorkPassesAGangOnlyForATime(t *testing.T) {
	for _, c := range []struct {
		settings string
		after    time.Duration
		want     string
	}{
		{"", 29 * time.Second, "21[1]"},
		{"", 30 * time.Second, ""},
		{"collect-after: 5s", 6 * time.Second, ""},
		{"collect-after: 0s", time.Hour, "21[1]"},
	} {
		s := start(t, c.settings)
		s.launchers(1, 2)
		busy := scheduler.Offer{Launcher: 1, Free: []scheduler.SlotCount{{Kind: "default", Count: 1}}}
		d := s.events(s.submit(1, 0), s.submit(2, 0), s.ready(2, 20, 1))
		want(t, d, "20[1]")
		d = s.round(scheduler.Round{Events: []scheduler.Event{accepted(d.Launch[0], 1), s.ready(1, 10, 2)}, Offers: []scheduler.Offer{busy}})
		want(t, d, "")
		s.now = s.now.Add(c.after)
		want(t, s.events(s.ready(2, 21, 1)), c.want)
		free := scheduler.Offer{Launcher: 1, Free: []scheduler.SlotCount{{Kind: "default", Count: 2}}}
		want(t, s.round(scheduler.Round{Offers: []scheduler.Offer{free}}), "10[1 1]")
	}
}

func TestNothingIsCollectedForWhatNeverFits(t *testing.T) {
	s := start(t, "")
	s.launchers(1, 2)
	s.events(s.submit(1, 0), s.submit(2, 0), s.ready(1, 10, 3))
	s.now = s.now.Add(time.Hour)
	want(t, s.events(s.ready(2, 20, 1)), "20[1]")
	x, err := s.policy.Explain(1)
	if err != nil || x.Reason != scheduler.WaitGang || x.Place != 1 || !strings.Contains(x.Detail, "add launchers") {
		t.Errorf("Explain = %+v, %v", x, err)
	}
}

func TestWaitingIsSentWhenItChanges(t *testing.T) {
	s := start(t, "")
	s.launchers(1, 1)
	d := s.events(s.submit(1, 0), s.submit(2, 0), s.ready(1, 10, 1), s.ready(2, 20, 1))
	if len(d.Waiting) != 1 || d.Waiting[0].Job != 2 || d.Waiting[0].Reason != scheduler.WaitTurn ||
		!strings.Contains(d.Waiting[0].Detail, "number 2") {
		t.Errorf("waiting %+v", d.Waiting)
	}
	full := scheduler.Round{Offers: []scheduler.Offer{{Launcher: 1}}, Events: []scheduler.Event{accepted(d.Launch[0], 1)}}
	if d := s.round(full); len(d.Waiting) != 0 {
		t.Errorf("sent again: %+v", d.Waiting)
	}
}

func TestSettingsAreStrict(t *testing.T) {
	p := New()
	var problems scheduler.Problems
	err := p.Check(scheduler.Config{File: "site.yaml", Line: 3, Text: []byte("collect-after: 1s\ncolect: 2s\n")})
	if !errors.As(err, &problems) || problems[0].Line != 4 || problems[0].File != "site.yaml" {
		t.Errorf("Check: %v", err)
	}
	s := start(t, "")
	bad := scheduler.SettingChanged{Version: 7, Config: scheduler.Config{Text: []byte("collect-after: -1s")}}
	d := s.events(bad)
	if len(d.Settings) != 1 || d.Settings[0].Version != 7 || len(d.Settings[0].Problems) != 1 || s.fact("collect-after") != settings.CollectAfterDefault.String() {
		t.Errorf("verdict %+v, collect-after %s", d.Settings, s.fact("collect-after"))
	}
	good := scheduler.SettingChanged{Version: 8, Config: scheduler.Config{Text: []byte("collect-after: 1m")}}
	if d := s.events(good); !reflect.DeepEqual(d.Settings, []scheduler.SettingsVerdict{{Version: 8}}) || s.fact("collect-after") != "1m0s" {
		t.Errorf("verdict %+v, collect-after %s", d.Settings, s.fact("collect-after"))
	}
}

// BenchmarkRound is one round of 10,000 pending groups with three places each and 1,000 launchers
// with one free slot. "told" is receiving and deciding it, "stands" is deciding a later round in
// which one launcher's offer changed.
func BenchmarkRound(b *testing.B) {
	const launchers, groups = 1000, 10000
	var joined, pending []scheduler.Event
	var offers []scheduler.Offer
	for i := 1; i <= launchers; i++ {
		slots := []scheduler.SlotCount{{Kind: "default", Count: 1}}
		joined = append(joined, scheduler.LauncherJoined{Launcher: scheduler.LauncherID(i), Host: fmt.Sprint("h", i), Rack: fmt.Sprint("r", i/40), Slots: slots, Memory: 1 << 34})
		offers = append(offers, scheduler.Offer{Launcher: scheduler.LauncherID(i), Free: slots, Memory: 1 << 34})
	}
	joined = append(joined, scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Groups: groups, Kind: "default", Slots: 1}}}})
	for i := range groups {
		g := scheduler.Group{Kind: "default", Slots: 1, Memory: 1 << 30}
		for k := range 3 {
			n := (i*7+k*331)%launchers + 1
			g.Places = append(g.Places, scheduler.Place{Host: fmt.Sprint("h", n), Rack: fmt.Sprint("r", n/40), Bytes: 1 << 26})
		}
		pending = append(pending, scheduler.BundleReady{Job: 1, Bundle: scheduler.BundleID(i + 1), Groups: []scheduler.Group{g}})
	}
	begin := func() scheduler.TaskScheduler {
		p := New()
		if _, err := p.Start(scheduler.Config{}, scheduler.Snapshot{Events: joined}, scheduler.Environment{}); err != nil {
			b.Fatal(err)
		}
		return p
	}
	round := func(p scheduler.TaskScheduler, r scheduler.Round, want int) {
		d, err := p.AssignTasks(r)
		if err != nil || len(d.Launch) != want {
			b.Fatalf("%d launches, %v", len(d.Launch), err)
		}
	}
	b.Run("told", func(b *testing.B) {
		for range b.N {
			b.StopTimer()
			p := begin()
			b.StartTimer()
			round(p, scheduler.Round{Number: 1, Events: pending, Offers: offers}, launchers)
		}
	})
	b.Run("stands", func(b *testing.B) {
		p := begin()
		for i := range offers {
			offers[i].Free = nil
		}
		round(p, scheduler.Round{Number: 1, Events: pending, Offers: offers}, 0)
		one := []scheduler.Offer{{Launcher: 5, Free: []scheduler.SlotCount{{Kind: "default", Count: 1}}, Memory: 1 << 34}}
		for i := 0; b.Loop(); i++ {
			round(p, scheduler.Round{Number: uint64(i + 2), Offers: one}, 1)
		}
	})
}

// With slots free and no memory beside them, the word is about memory.
func TestLackOfMemoryIsNamed(t *testing.T) {
	s := start(t, "")
	s.launchers(2, 3)
	b := s.ready(1, 10, 1).(scheduler.BundleReady)
	b.Groups[0].Memory = 300 << 20
	s.events(s.submit(1, 0), b)
	x, err := s.policy.Explain(1)
	if err != nil || !strings.Contains(x.Detail, "memory is what lacks: no launcher with a free default slot has more than 0 MiB free") {
		t.Errorf("%q, error %v", x.Detail, err)
	}
	b = s.ready(1, 11, 1).(scheduler.BundleReady)
	b.Groups[0].Slots = 4
	s = start(t, "")
	s.launchers(2, 3)
	s.events(s.submit(1, 0), b)
	if x, err := s.policy.Explain(1); err != nil || strings.Contains(x.Detail, "lacks") {
		t.Errorf("%q, error %v", x.Detail, err)
	}
}

// Rounds wait while a job is explained, several times a second for each that somebody
// watches: it takes no longer for a job with very many ready bundles.
func TestExplainDoesNotWalkWhatIsReady(t *testing.T) {
	quickest := func(ready int) time.Duration {
		s := start(t, "")
		events := []scheduler.Event{s.submit(1, 0)}
		for i := range ready {
			events = append(events, s.ready(1, scheduler.BundleID(10+i), 1))
		}
		s.events(events...)
		best := time.Hour
		for range 20 {
			began := time.Now()
			x, err := s.policy.Explain(1)
			best = min(best, time.Since(began))
			if err != nil || !strings.Contains(x.Detail, fmt.Sprintf("%d bundles ready", ready)) {
				t.Fatalf("%+v, %v", x, err)
			}
		}
		return best
	}
	if few, many := quickest(100), quickest(100_000); many > 20*few+20*time.Microsecond {
		t.Errorf("with 100 ready bundles it takes %v, with 100,000 %v", few, many)
	}
}

// TestAheadInTheQueue: the first job of the queue that waits gets the next slots, so its bundles are
// launched ahead although another job waits. One with a higher priority comes before it.
func TestAheadInTheQueue(t *testing.T) {
	s := start(t, "")
	s.launchers(1, 1)
	group := []scheduler.Group{{Kind: "default", Slots: 1, Memory: 1}}
	ready := func(j scheduler.JobID, b scheduler.BundleID) scheduler.Event {
		return scheduler.BundleReady{At: s.now, Job: j, Bundle: b, Groups: group}
	}
	d := s.events(s.submit(1, scheduler.Normal), s.submit(2, scheduler.Normal), ready(1, 1), ready(1, 2), ready(2, 3))
	if len(d.Launch) != 1 || d.Launch[0].Bundle != 1 {
		t.Fatalf("launched %v, want bundle-1", d.Launch)
	}
	room := []scheduler.AheadRoom{{Job: 1, Count: 1}, {Job: 2, Count: 1}}
	busy := []scheduler.Offer{{Launcher: 1, Memory: 99, Ahead: room}}
	launched := scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Round: s.number, Attempts: []scheduler.AttemptID{1}, Launch: d.Launch[0]}
	d = s.round(scheduler.Round{Events: []scheduler.Event{launched}, Offers: busy})
	if len(d.Launch) != 1 || d.Launch[0].Bundle != 2 || !d.Launch[0].Ahead {
		t.Errorf("launched %v, want bundle-2 ahead", d.Launch)
	}
	refused := scheduler.Outcome{Kind: scheduler.DecisionLaunch, Round: s.number, Reason: scheduler.NoCapacity, Launch: d.Launch[0]}
	d = s.round(scheduler.Round{Events: []scheduler.Event{refused, s.submit(3, scheduler.High), ready(3, 4)}, Offers: busy})
	if len(d.Launch) > 0 {
		t.Errorf("launched %v although the next slot is another job's", d.Launch)
	}
}
