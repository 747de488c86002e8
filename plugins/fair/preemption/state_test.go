package preemption

import (
	"reflect"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
)

// TestSinceWhen: the clock starts in the update in which a pool is found below its
// share, goes on while it is, and starts anew later. A policy that starts again takes
// over where the clock was.
func TestSinceWhen(t *testing.T) {
	const begin = scheduler.Time(time.Hour)
	second := func(n int) scheduler.Time { return begin.Add(time.Duration(n) * time.Second) }
	p, x := one(t, begin, "min-share: {map: 2}, min-share-timeout: 3s")
	k := p.World.Kind("map")
	p.World.Total[k] = 4
	job := p.Tree.AddJob(x.Node, pooltree.Job{ID: 1})
	update := func(at, running int, want Since, due int) {
		t.Helper()
		if err := p.View.Apply(scheduler.Round{Number: p.View.Round() + 1, Now: second(at)}); err != nil {
			t.Fatal(err)
		}
		job.Of(k).Set(running, 4-running)
		p.Update()
		if got := p.starved[of{x, k}]; got != want || p.Due(x, k) != due {
			t.Errorf("second %d: since %v, %d slots due, want %v and %d", at, got, p.Due(x, k), want, due)
		}
	}
	update(1, 4, Since{}, 0)
	update(2, 1, Since{Min: second(2), Fair: second(2)}, 0)
	update(5, 1, Since{Min: second(2), Fair: second(2)}, 0)
	update(6, 1, Since{Min: second(2), Fair: second(2)}, 1) // longer than 3 s
	all := p.List()
	if want := []Starved{{"p", "map", Since{second(2), second(2)}}}; !reflect.DeepEqual(all, want) {
		t.Errorf("starved are %v, want %v", all, want)
	}
	p.Configure()
	if len(p.List()) > 0 || p.Due(x, k) > 0 {
		t.Error("pools are starved that are new")
	}
	p.Restore(all)
	update(7, 0, Since{Min: second(2), Fair: second(2)}, 2)
	update(8, 2, Since{}, 0) // at its minimum, and at half of its share
	update(9, 1, Since{Min: second(9), Fair: second(9)}, 0)
}

// TestRefusalsAreRemembered: what is protected is spared without being counted, what was
// taken is counted, and nothing is suspended any more where it cannot be.
func TestRefusalsAreRemembered(t *testing.T) {
	p, _ := one(t, scheduler.Time(time.Hour), "min-share: 1")
	p.Spared, p.Leaving = map[scheduler.BundleID]Spared{}, map[scheduler.JobID][]scheduler.AttemptID{}
	launch := scheduler.Launch{Bundle: 4, Launchers: []scheduler.LauncherID{1}}
	slots := []scheduler.SlotCount{{Kind: "map", Count: 1}}
	err := p.View.Apply(scheduler.Round{Number: 1, Now: scheduler.Time(time.Hour), Events: []scheduler.Event{
		scheduler.LauncherJoined{Launcher: 1, Slots: slots},
		scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Groups: 1, Kind: "map", Slots: 1}}}},
		scheduler.BundleReady{Job: 1, Bundle: 4, Groups: []scheduler.Group{{Kind: "map", Slots: 1}}},
		scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{8}, Launch: launch},
	}})
	if err != nil {
		t.Fatal(err)
	}
	set := scheduler.Preempt{Mode: scheduler.PreemptSuspend, For: 2, Victims: []scheduler.AttemptID{8}}
	p.Outcome(scheduler.Outcome{At: 1, Kind: scheduler.DecisionPreempt, Reason: scheduler.Protected, Preempt: set})
	protect := p.Config.Protect
	if want := map[scheduler.BundleID]Spared{4: {Until: scheduler.Time(1).Add(protect)}}; !reflect.DeepEqual(p.Spared, want) || p.Expects(2) {
		t.Errorf("spared are %v, want %v", p.Spared, want)
	}
	p.Outcome(scheduler.Outcome{At: 5, Kind: scheduler.DecisionPreempt, Accepted: true, Preempt: set})
	if want := map[scheduler.BundleID]Spared{4: {scheduler.Time(5).Add(protect), 1}}; !reflect.DeepEqual(p.Spared, want) || !p.Expects(2) {
		t.Errorf("spared are %v, want %v; slots are expected: %t", p.Spared, want, p.Expects(2))
	}
	p.Outcome(scheduler.Outcome{At: 6, Kind: scheduler.DecisionPreempt, Reason: scheduler.Unsupported, Preempt: set})
	if !p.NoSuspend || !p.Changed {
		t.Error("it would suspend where nothing can be")
	}
}
