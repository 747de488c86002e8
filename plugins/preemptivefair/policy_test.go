package preemptivefair

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func TestNothingRemainsOfAJob(t *testing.T) {
	s := busy(t, "", 1, plain, plain)
	d := s.comes(20)
	s.events(s.accepted(d)...)
	var events []scheduler.Event
	for id := scheduler.AttemptID(1); id <= 10; id++ {
		events = append(events, s.ended(id, scheduler.Killed))
	}
	for id := scheduler.JobID(1); id <= 3; id++ {
		events = append(events, scheduler.JobFinished{At: s.now, Job: id, Outcome: scheduler.JobKilled})
	}
	s.events(events...)
	m := s.policy.State().memory
	if len(m.Newcomers)+len(m.Between)+len(s.policy.Leaving())+len(s.policy.State().world.known)+len(s.policy.State().world.waiting) > 0 {
		t.Errorf("remains: %+v, %v", m, s.policy.State().world)
	}
	if _, err := s.policy.Explain(3); !errors.Is(err, scheduler.ErrUnknownJob) {
		t.Errorf("Explain: %v", err)
	}
}

func TestSettingsAreStrict(t *testing.T) {
	p := New()
	for text, want := range map[string]string{
		"hold: sometimes":              "share, all, none",
		"preemption: true":             "all, asked, none",
		"job-loses: the rich":          "evenly, furthest-over-share",
		"attempt-loses: oldest":        "newcomer-data",
		"mode: murder":                 "kill, soft, suspend",
		"hold-max: -1s":                "must not be negative",
		"grace: -1s":                   "must not be negative",
		"collect-after: -1s":           "must not be negative",
		"times-max: -1":                "must not be negative",
		"grace: .nan":                  "cannot unmarshal",
		"work-conserving: maybe":       "cannot unmarshal",
		"hold: all\nhold: none":        "already defined",
		"mode: soft\nno-such-thing: 1": "unknown setting",
	} {
		var problems scheduler.Problems
		err := p.Check(scheduler.Config{File: "site.yaml", Line: 3, Text: []byte(text)})
		if !errors.As(err, &problems) || problems[0].Line < 3 || problems[0].File != "site.yaml" || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	s := start(t, "hold: all", 1)
	version := uint64(0)
	change := func(text string) scheduler.SettingsVerdict {
		version++
		d := s.events(scheduler.SettingChanged{At: s.now, Version: version, Config: scheduler.Config{Text: []byte(text)}})
		if len(d.Settings) != 1 || d.Settings[0].Version != version {
			t.Fatalf("verdicts %+v", d.Settings)
		}
		return d.Settings[0]
	}
	if v := change("hold: x"); len(v.Problems) != 1 || s.policy.Options().Hold != holdAll {
		t.Errorf("%+v, hold: %s", v, s.policy.Options().Hold)
	}
	if v := change("attempt-loses: least-progress"); len(v.Problems) != 0 || !v.Abilities.Has(scheduler.AbilityProgress) || v.ProgressEvery != progressEvery {
		t.Errorf("%+v, and progress is not asked for", v)
	}
	if v := change("hold: none"); len(v.Problems) != 0 || v.Abilities.Has(scheduler.AbilityProgress) || s.policy.Options().Hold != holdNone {
		t.Errorf("%+v, hold: %s", v, s.policy.Options().Hold)
	}
}

func TestUnclearPropertyIsNamed(t *testing.T) {
	s := busy(t, "", 1, plain, plain)
	if d := s.comes(20, property("preempt", "maybe")); len(d.Preempt) == 0 {
		t.Error("maybe counts as false")
	}
	if x, err := s.policy.Explain(3); err != nil || !strings.Contains(x.Detail, "property preempt is neither true nor false") {
		t.Errorf("Explain %+v, %v", x, err)
	}
}

func TestStatusShowsShares(t *testing.T) {
	s := busy(t, "", 1, plain, plain)
	s.comes(20)
	st, err := s.policy.Status()
	want := scheduler.PoolStatus{Name: "preemptive-fair", Kind: scheduler.DefaultKind, Weight: 1, FairShare: 10, Jobs: 3, Running: 10, Demand: 63}
	if err != nil || len(st.Pools) != 1 || st.Pools[0] != want {
		t.Errorf("%+v, %v", st, err)
	}
	if got := s.fact(3, "first share default"); got != "3" {
		t.Errorf("first share %q", got)
	}
}

// TestRestartKeepsWhatIsDue starts a second policy from the checkpoint of the
// first.
func TestRestartKeepsWhatIsDue(t *testing.T) {
	s := busy(t, "", 1, plain, plain)
	s.comes(20)
	p := newTested()
	events := []scheduler.Event{s.submit(1, 20), s.submit(3, 20)}
	snapshot := scheduler.Snapshot{Now: s.now, Events: events, Checkpoint: s.saved, Since: len(events)}
	if _, err := p.Start(scheduler.Config{}, snapshot, scheduler.Environment{}); err != nil {
		t.Fatal(err)
	}
	if d := p.State().memory.newcomer(3).due(scheduler.DefaultKind); d == nil || d.First != 3 || p.State().memory.newcomer(1) != nil {
		t.Errorf("due %+v, newcomers %+v", d, p.State().memory.Newcomers)
	}
	snapshot.Checkpoint = &scheduler.Checkpoint{Version: s.saved.Version, Data: []byte("{")}
	if _, err := p.Start(scheduler.Config{}, snapshot, scheduler.Environment{}); err != nil || p.State().memory.newcomer(3) == nil {
		t.Errorf("a broken checkpoint: %v, %+v", err, p.State().memory)
	}
	snapshot.Checkpoint = &scheduler.Checkpoint{Version: s.saved.Version + 1, Data: []byte("{")}
	if _, err := p.Start(scheduler.Config{}, snapshot, scheduler.Environment{}); err != nil || p.State().memory.newcomer(3) == nil {
		t.Errorf("a checkpoint of another version: %v, %+v", err, p.State().memory)
	}
}

// TestRestartKnowsProgress: a policy that was started again picks the victims that it
// would have picked before, from the progress that the snapshot tells. Where no
// progress is known, the newest lose.
func TestRestartKnowsProgress(t *testing.T) {
	const settings = "job-loses: furthest-over-share\nattempt-loses: least-progress"
	for name, c := range map[string]struct {
		told bool
		want []scheduler.AttemptID
	}{
		"told":     {true, []scheduler.AttemptID{2, 4, 6}},
		"not told": {false, []scheduler.AttemptID{4, 5, 6}},
	} {
		s := busy(t, settings, 1, plain, plain)
		var snapshot []scheduler.Event
		for id, progress := range []float64{0.9, 0.1, 0.9, 0.2, 0.9, 0.3} {
			if c.told {
				snapshot = append(snapshot, scheduler.AttemptProgress{At: s.now, Attempt: scheduler.AttemptID(id + 1), Progress: progress})
			}
		}
		s.events() // by the checkpoint no job is new
		s.restart(snapshot...)
		if got := victims(s.comes(20)); !slices.Equal(got, c.want) {
			t.Errorf("progress %s: %v lose, want %v", name, got, c.want)
		}
	}
}

func TestClockGoesBack(t *testing.T) {
	s := start(t, "", 1)
	s.events()
	if _, err := s.policy.AssignTasks(scheduler.Round{Number: 2, Now: s.now - 1}); err == nil {
		t.Error("a round before the last one is taken")
	}
}

// A stage takes another kind of slots while its job waits. The reason that the job waited for is taken back when its
// bundle starts.
func TestAJobThatChangesItsKindWaitsNoMore(t *testing.T) {
	s := start(t, "", 1)
	d := s.events(append([]scheduler.Event{s.submit(1, 1)}, s.ready(1, 1)...)...)
	if len(d.Waiting) != 1 || d.Waiting[0].Reason == scheduler.WaitNone {
		t.Fatalf("told %+v, want why job 1 waits", d.Waiting)
	}
	rare := []scheduler.SlotCount{{Kind: "rare", Count: 1}}
	d = s.round(scheduler.Round{
		Events: []scheduler.Event{
			scheduler.LauncherJoined{At: s.now, Launcher: 1, Host: "h", Slots: rare, Memory: 1 << 30},
			scheduler.BundleWithdrawn{At: s.now, Job: 1, Bundle: s.bundle},
			scheduler.StageGrown{At: s.now, Job: 1, Stage: 0, Groups: 1, Kind: "rare"},
			scheduler.BundleReady{At: s.now, Job: 1, Bundle: s.bundle, Groups: []scheduler.Group{{Kind: "rare", Slots: 1}}},
		},
		Offers: []scheduler.Offer{{Launcher: 1, Free: rare, Memory: 1 << 30}},
	})
	if want := []scheduler.Waiting{{Job: 1}}; len(d.Launch) != 1 || !slices.Equal(d.Waiting, want) {
		t.Errorf("launched %v and told %+v, want one launch and %+v", d.Launch, d.Waiting, want)
	}
}
