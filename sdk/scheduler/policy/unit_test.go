package policy_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/policy"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

func job(tasks int, run time.Duration) cluster.Spec {
	one := []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1}}
	return cluster.Spec{Name: "tasks", Layers: []cluster.Layer{{Bundles: tasks, Groups: one, Run: run}}}
}

// TestSettingsAreReadStrictly: a wrong key and a value that Check refuses are named with their line, and defaults
// stay as they are.
func TestSettingsAreReadStrictly(t *testing.T) {
	type options struct {
		Weights map[string]int `yaml:"weights"`
		Most    int            `yaml:"most"`
	}
	p := policy.Policy[options, policy.None]{
		Name: "p", Version: "1", Options: options{Weights: map[string]int{"a": 1}, Most: 3},
		Assign: func(*policy.Pass[options, policy.None]) error { return nil },
		Check: func(o *options) error {
			return errors.Join(wrongIf(o.Most < 1, "most", "give 1 or more"), wrongIf(o.Weights["b"] > 9, "weights", "give at most 9"))
		},
	}
	for text, want := range map[string]string{
		"moist: 1\n":                     "site.yaml:7: unknown setting \"moist\"",
		"\nmost: 0\n":                    "site.yaml:8: most: give 1 or more",
		"most: many\n":                   "site.yaml:7: ",
		"weights: {b: 10}\n\nmost: -1\n": "site.yaml:9: most: give 1 or more\nsite.yaml:7: weights: give at most 9",
		"weights: {b: 2}\nmost: 5\n":     "",
	} {
		err := p.New().Check(scheduler.Config{File: "site.yaml", Line: 7, Text: []byte(text)})
		if got := message(err); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if want := map[string]int{"a": 1}; !reflect.DeepEqual(p.Options.Weights, want) {
		t.Errorf("the defaults are %v after other settings were read, want %v", p.Options.Weights, want)
	}
}

func wrongIf(wrong bool, key, message string) error {
	if wrong {
		return policy.WrongSetting(key, "%s", message)
	}
	return nil
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestPreemptAsksWhatTheManagerAsks: a long job holds both slots, and a short one comes. The policy tries preemptions
// that the manager would refuse, then one that it accepts. None is refused by the manager.
func TestPreemptAsksWhatTheManagerAsks(t *testing.T) {
	var refused []scheduler.RefusalReason
	done := false
	p := policy.Policy[policy.None, policy.None]{
		Name: "p", Version: "1",
		Assign: func(p *pass) error {
			for _, j := range p.Jobs() {
				p.LaunchNear(j)
			}
			short := p.Job(2)
			if short == nil || short.ReadyCount() == 0 || done || p.Coming(short) {
				return nil
			}
			done = true
			var b *view.Bundle
			for b = range p.Ready(policy.Filter{Job: short}) {
				break
			}
			victims := p.Victims(p.Job(1), scheduler.PreemptKill)
			for _, try := range [][]*view.Attempt{nil, victims[:1], victims, victims} {
				reason, ok := p.Preempt(b, scheduler.PreemptKill, try...)
				if refused = append(refused, reason); ok != (reason == scheduler.NotRefused) {
					t.Errorf("got %v with %t", reason, ok)
				}
			}
			if p.Launch(b) {
				t.Error("the bundle that slots are taken back for was launched")
			}
			return nil
		},
	}
	play := policytest.Play(t, "", p.New)
	play.Launchers(1, 2)
	play.At(0, job(2, time.Hour))
	wide := job(1, time.Second)
	wide.Layers[0].Groups[0].Slots = 2
	play.At(time.Minute, wide)
	play.Until(24 * time.Hour)
	want := []scheduler.RefusalReason{scheduler.WrongShape, scheduler.NothingGained, scheduler.NotRefused, scheduler.NotReady}
	if !reflect.DeepEqual(refused, want) {
		t.Errorf("got %v, want %v", refused, want)
	}
	if n := play.Cluster.Tally.PreemptionsRefused; n != 0 || play.Sojourn[2] > 5*time.Second {
		t.Errorf("the manager refused %d preemptions, and the short job took %s; want 0 and about a second", n, play.Sojourn[2])
	}
}

// TestSuspensionsOfOnePassAreCountedTogether: a launcher may have 4 suspended attempts. A pass that suspends 3 may not
// suspend 3 more there.
func TestSuspensionsOfOnePassAreCountedTogether(t *testing.T) {
	var refused []scheduler.RefusalReason
	p := policy.Policy[policy.None, policy.None]{
		Name: "p", Version: "1",
		Assign: func(p *pass) error {
			for b := range p.Ready(policy.Filter{}) {
				if !p.Launch(b) && p.Job(2) != nil && p.Job(3) != nil {
					reason, _ := p.Preempt(b, scheduler.PreemptSuspend, p.Victims(p.Job(1), scheduler.PreemptSuspend)[:3]...)
					refused = append(refused, reason)
				}
			}
			return nil
		},
	}
	play := policytest.Play(t, "", p.New)
	play.Launchers(1, 6)
	play.At(0, job(6, 24*time.Hour))
	for range 2 {
		wide := job(1, time.Second)
		wide.Layers[0].Groups[0].Slots = 3
		play.At(time.Minute, wide)
	}
	play.Until(2 * time.Minute)
	if want := []scheduler.RefusalReason{scheduler.NotRefused, scheduler.LimitReached}; len(refused) < 2 || !reflect.DeepEqual(refused[:2], want) {
		t.Errorf("got %v, want %v first", refused, want)
	}
	if n := play.Cluster.Tally.PreemptionsRefused; n != 0 {
		t.Errorf("the manager refused %d preemptions, want none", n)
	}
}

// TestLaunchOnGivenLaunchers: a bundle goes where the policy says, or nowhere.
func TestLaunchOnGivenLaunchers(t *testing.T) {
	p := policy.Policy[policy.None, policy.None]{
		Name: "p", Version: "1",
		Assign: func(p *pass) error {
			for b := range p.Ready(policy.Filter{}) {
				if p.Launch(b, 1, 2) || p.Launch(b, 9) {
					t.Error("a bundle of one group was launched on two launchers, or on one that is not there")
				}
				p.Launch(b, 2)
			}
			return nil
		},
	}
	play := policytest.Play(t, "", p.New)
	play.Launchers(2, 1)
	play.At(0, job(2, time.Minute))
	play.Until(time.Hour)
	if play.Sojourn[1] == 0 {
		t.Error("the job did not end")
	}
	for _, d := range play.Decisions {
		for _, l := range d.Launch {
			if l.Launchers[0] != 2 {
				t.Errorf("got a launch on %v, want 2", l.Launchers)
			}
		}
	}
}

// TestAReasonOfItsOwnStopsNoDelay: the input of a task lies on launcher 1, which is busy for an hour. The task takes
// launcher 2 after its delay, though the policy gives another reason meanwhile.
func TestAReasonOfItsOwnStopsNoDelay(t *testing.T) {
	p := policy.Policy[policy.None, policy.None]{
		Name: "p", Version: "1",
		Assign: func(p *pass) error {
			for _, j := range p.Jobs() {
				if p.LaunchNear(j) == 0 && j.ReadyCount() > 0 {
					p.Waits(j, scheduler.WaitHeld, "for the test")
				}
			}
			return nil
		},
	}
	play := policytest.Play(t, "", p.New)
	play.Cluster.Join(1, cluster.Rack(1), 1<<40, scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: 1})
	near := job(1, time.Hour)
	near.Layers[0].Hosts = []scheduler.LauncherID{1}
	play.At(0, near)
	short := job(1, time.Second)
	short.Layers[0].Hosts = []scheduler.LauncherID{1}
	play.Cluster.After(time.Minute, func() {
		play.Cluster.Join(2, cluster.Rack(2), 1<<40, scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: 1})
	})
	play.At(2*time.Minute, short)
	play.Until(24 * time.Hour)
	if got := play.Sojourn[2]; got == 0 || got > time.Minute {
		t.Errorf("the short task took %s, want a few seconds", got)
	}
}

// TestAPolicyNeedsItsName: a mistake of the author shows at once.
func TestAPolicyNeedsItsName(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a policy without Assign was made")
		}
	}()
	policy.Policy[policy.None, policy.None]{Name: "p", Version: "1"}.New()
}

// TestSpeculate: a policy that asks for second attempts of what runs long gets them, launches them, and is refused
// nothing that it could know.
func TestSpeculate(t *testing.T) {
	p := policy.Policy[policy.None, policy.None]{Name: "hasty", Version: "1", Assign: func(p *policy.Pass[policy.None, policy.None]) error {
		for _, j := range p.Jobs() {
			p.LaunchNear(j)
			for _, a := range j.Attempts() {
				if p.Now().Sub(a.AssignedAt) > time.Second && p.Speculate(a.Bundle) && p.Speculate(a.Bundle) {
					t.Error("a pass asks twice for one bundle")
				}
			}
		}
		return nil
	}}
	r := policytest.Run(t, p.New, policytest.Options{Seeds: 10, First: 6000})
	if r.Tally.Speculated == 0 || r.Tally.Seconds == 0 {
		t.Errorf("got %d offers that it asked for, and %d second attempts, want some", r.Tally.Speculated, r.Tally.Seconds)
	}
}
