package policy_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/policy"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
)

// TestReports: a policy that reports tells each change of a reason once, and asks for the numbers only then. The
// package finds no reason beside it, and sends no checkpoint, as there is nothing to keep.
func TestReports(t *testing.T) {
	details := 0
	p := policy.Policy[policy.None, policy.None]{
		Name: "p", Version: "1", Reports: true,
		Assign: func(p *pass) error {
			for _, j := range p.Jobs() {
				p.LaunchNear(j)
				why := scheduler.WaitNone
				if p.View().Capacity.FreeSlots(scheduler.DefaultKind) == 0 && j.ID() == 2 && len(j.Attempts()) == 0 {
					why = scheduler.WaitAtLimit
				}
				p.Report(j, why, func() string { details++; return "as it is told" })
			}
			return nil
		},
	}
	play := policytest.Play(t, "", p.New)
	play.Launchers(1, 1)
	play.At(0, job(3, time.Minute))
	play.At(time.Second, job(1, time.Minute))
	play.Until(90 * time.Second)
	x, err := play.Policy.Explain(2)
	if err != nil || x.Reason != scheduler.WaitAtLimit || !strings.HasPrefix(x.Detail, "1 bundles ready, 0 attempts live; ") {
		t.Errorf("job 2 is explained with %+v, %v", x, err)
	}
	play.Until(time.Hour)
	var told []scheduler.WaitReason
	for _, d := range play.Decisions {
		for _, w := range d.Waiting {
			if told = append(told, w.Reason); w.Job != 2 {
				t.Errorf("%s has a reason that the policy did not report: %+v", w.Job, w)
			}
		}
		if d.Checkpoint != nil {
			t.Errorf("a checkpoint of nothing was sent: %s", d.Checkpoint.Data)
		}
	}
	if want := []scheduler.WaitReason{scheduler.WaitAtLimit, scheduler.WaitNone}; !reflect.DeepEqual(told, want) || details != 1 {
		t.Errorf("told %v with %d details, want %v with 1", told, details, want)
	}
}

// TestAStateBeginsAnew: a policy that is started again does not find the state of its time before.
func TestAStateBeginsAnew(t *testing.T) {
	type state struct{ Rounds int }
	p := policy.Policy[policy.None, state]{
		Name: "p", Version: "1",
		Assign: func(p *policy.Pass[policy.None, state]) error { p.State().Rounds++; return nil },
		Status: func(l policy.Look[policy.None, state]) (s scheduler.Status) {
			s.AddFact("rounds", l.State().Rounds)
			return s
		},
	}
	policyOf := p.New()
	for range 2 {
		if _, err := policyOf.Start(scheduler.Config{}, scheduler.Snapshot{}, scheduler.Environment{}); err != nil {
			t.Fatal(err)
		}
		if _, err := policyOf.AssignTasks(scheduler.Round{Number: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := policyOf.Status(); err != nil || s.Facts[0].Value != "1" {
		t.Errorf("after two starts with a round each it has counted %v rounds, %v; want 1", s.Facts, err)
	}
}

// TestChecksHaveLines: what settings.Checks finds in Policy.Check is shown with the line of the key.
func TestChecksHaveLines(t *testing.T) {
	type options struct {
		Mode string `yaml:"mode"`
		Max  int    `yaml:"max"`
	}
	p := policy.Policy[options, policy.None]{
		Name: "p", Version: "1", Assign: func(*policy.Pass[options, policy.None]) error { return nil },
		Check: func(o *options) error {
			var c settings.Checks
			c.Choice("mode", o.Mode, "slow", "fast")
			c.That(o.Max >= 0, "max", "must not be negative")
			return c.Err()
		},
	}
	got := message(p.New().Check(scheduler.Config{File: "site.yaml", Line: 3, Text: []byte("max: -1\nmode: odd\n")}))
	want := "site.yaml:4: mode: \"odd\" is unknown: use one of slow, fast\nsite.yaml:3: max: must not be negative"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAbilitiesFollowOptions: a policy declares only what its options need, at its start and after each change.
func TestAbilitiesFollowOptions(t *testing.T) {
	type options struct {
		Eager bool `yaml:"eager"`
	}
	p := policy.Policy[options, policy.None]{
		Name: "p", Version: "1", Progress: time.Second, Load: true,
		Assign: func(*policy.Pass[options, policy.None]) error { return nil },
		Abilities: func(o *options) scheduler.Ability {
			if o.Eager {
				return scheduler.AbilityProgress
			}
			return 0
		},
	}.New()
	about, err := p.Start(scheduler.Config{Text: []byte("eager: true")}, scheduler.Snapshot{}, scheduler.Environment{})
	if want := scheduler.AbilityCheckpoint | scheduler.AbilityProgress; err != nil || about.Abilities != want || about.ProgressEvery != time.Second {
		t.Errorf("got %+v, %v; want abilities %b and progress each second", about, err, want)
	}
	change := scheduler.SettingChanged{Version: 2, Config: scheduler.Config{Text: []byte("eager: false")}}
	d, err := p.AssignTasks(scheduler.Round{Number: 1, Events: []scheduler.Event{change}})
	if want := (scheduler.SettingsVerdict{Version: 2, Abilities: scheduler.AbilityCheckpoint}); err != nil || !reflect.DeepEqual(d.Settings, []scheduler.SettingsVerdict{want}) {
		t.Errorf("got %+v, %v; want %+v", d.Settings, err, want)
	}
}
