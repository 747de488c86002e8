package faultypolicies

import (
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/policies"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TestTheKitCatchesEach puts every bad policy through the kit.
func TestTheKitCatchesEach(t *testing.T) {
	for _, a := range All() {
		t.Run(a.Name, func(t *testing.T) {
			o := policytest.Options{Seeds: 5}
			if a.Name == "hangs" {
				o.AnswerWithin = 200 * time.Millisecond
			}
			r := policytest.Check(t.Context(), policytest.InProcess(a.New), o)
			err := r.Err()
			if err == nil {
				t.Fatalf("passes: %+v", r.Tally)
			}
			if !strings.Contains(err.Error(), a.Caught) {
				t.Errorf("does not say %q:\n%.1500s", a.Caught, err)
			}
		})
	}
}

// TestTheKitCatchesRuleBreakers: each rule that a policy can break alone has a policy that does.
func TestTheKitCatchesRuleBreakers(t *testing.T) {
	o := policytest.Options{NoStories: true, Seeds: 12, Restarts: -1, ShortenFor: -1}
	for _, a := range RuleBreakers() {
		err := policytest.Check(t.Context(), policytest.InProcess(a.New), o).Err()
		if err == nil || !strings.Contains(err.Error(), a.Caught) {
			t.Errorf("%s: the kit does not say %q:\n%.500v", a.Name, a.Caught, err)
		}
	}
}

// TestTheKitCatchesWhoIgnoresStops: a policy that preempts or resumes what the manager stops is caught. That needs a killed
// job with suspended attempts, and free slots before these have ended, which one game of some dozens has.
func TestTheKitCatchesWhoIgnoresStops(t *testing.T) {
	o := policytest.Options{NoStories: true, Seeds: 150, Restarts: -1, ShortenFor: -1}
	for caught, ignores := range map[string]func() scheduler.TaskScheduler{"is being stopped, suspended or resumed": IgnoresStops, "not suspended": ResumesWhatStops} {
		if err := policytest.Check(t.Context(), policytest.InProcess(ignores), o).Err(); err == nil || !strings.Contains(err.Error(), caught) {
			t.Errorf("the kit does not say %q:\n%.500v", caught, err)
		}
	}
}

// TestTheKitCatchesWhatIsMisshown: numbers that can't be, and texts that steer a terminal,
// are told with the field that holds them.
func TestTheKitCatchesWhatIsMisshown(t *testing.T) {
	o := policytest.Options{Seeds: 1}
	for _, a := range Misshown() {
		r := policytest.Check(t.Context(), policytest.InProcess(a.New), o)
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), a.Caught) {
			t.Errorf("%s: it does not say %q:\n%.1500v", a.Name, a.Caught, err)
		}
	}
	right := shows("", func(*scheduler.Status) {}).New
	if err := policytest.Check(t.Context(), policytest.InProcess(right), o).Err(); err != nil {
		t.Errorf("what is shown is right: %v", err)
	}
}

// TestTheKitAsksForPages: faulty pages are reported, and a policy with correct pages passes.
func TestTheKitAsksForPages(t *testing.T) {
	o := policytest.Options{Seeds: 3}
	for _, a := range PageHandlers() {
		if err := policytest.Check(t.Context(), policytest.InProcess(a.New), o).Err(); err == nil || !strings.Contains(err.Error(), a.Caught) {
			t.Errorf("%s: it does not say so:\n%.1500v", a.Name, err)
		}
	}
	right := func() scheduler.TaskScheduler {
		return &pager{TaskScheduler: policies.Remember(), answer: func(_ *pager, q scheduler.PageAsked) (scheduler.Answer, error) {
			return scheduler.Answer{Status: 200, ContentType: "text/plain", Body: []byte(q.Query)}, nil
		}}
	}
	if r := policytest.Check(t.Context(), policytest.InProcess(right), o); r.Err() != nil || r.Pages < 100 {
		t.Errorf("%d pages were asked for: %v", r.Pages, r.Err())
	}
}

// TestCompareSeesADifference plays one game through two policies that differ.
func TestCompareSeesADifference(t *testing.T) {
	o := policytest.Options{Seeds: 3}
	good := policytest.InProcess(policies.Delay)
	if err := policytest.Compare(t.Context(), good, policytest.InProcess(policies.Delay), o).Err(); err != nil {
		t.Errorf("the same policy twice: %v", err)
	}
	if err := policytest.Compare(t.Context(), good, policytest.InProcess(LaunchesNothing), o).Err(); err == nil {
		t.Error("a policy that launches and one that does not decide the same")
	}
}

// TestTheKitWarnsOfWaste: waste that no rule forbids is reported, and passes.
func TestTheKitWarnsOfWaste(t *testing.T) {
	o := policytest.Options{Seeds: 6, Restarts: 1}
	for _, a := range Odd() {
		r := policytest.Check(t.Context(), policytest.InProcess(a.New), o)
		if err := r.Err(); err != nil {
			t.Errorf("%s: it does not pass: %.1500v", a.Name, err)
		}
		if !strings.Contains(strings.Join(r.Warnings, "\n"), a.Caught) {
			t.Errorf("%s: the warnings are %q", a.Name, r.Warnings)
		}
	}
	o.Seeds = 12 // for games enough in which there is something to do
	r := policytest.Check(t.Context(), policytest.InProcess(policies.Suspend), o)
	if len(r.Warnings) > 0 {
		t.Errorf("a policy that does all it can is warned of: %q", r.Warnings)
	}
}

// TestTheKitChangesSettings: settings change to any that Check accepts, while games go on. A
// restarted policy has the settings in force.
func TestTheKitChangesSettings(t *testing.T) {
	o := policytest.Options{NoStories: true, Seeds: 12, Config: scheduler.Config{File: "site.yaml", Line: 2, Text: []byte("# long\nwait: 4s\n")}}
	r := policytest.Check(t.Context(), policytest.InProcess(policies.Delay), o)
	if r.Err() != nil || r.Tally.Changes < 20 || r.Tally.Changed != r.Tally.Changes {
		t.Errorf("%d changes, %d of them accepted: %v", r.Tally.Changes, r.Tally.Changed, r.Err())
	}
	r = policytest.Check(t.Context(), policytest.InProcess(KeepsItsSettings), o)
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "restart after round") {
		t.Errorf("who keeps its settings: %v", err)
	}
	r = policytest.Check(t.Context(), policytest.InProcess(RefusesChanges), o)
	if r.Err() != nil || !strings.Contains(strings.Join(r.Warnings, "\n"), "while it ran, though Check") {
		t.Errorf("who refuses changes: %q, %v", r.Warnings, r.Err())
	}
}

// TestTheKitDrawsProperties, of names that the settings mention, or the author.
func TestTheKitDrawsProperties(t *testing.T) {
	plain := policytest.Options{NoStories: true, Seeds: 12}
	if err := policytest.Check(t.Context(), policytest.InProcess(TrustsProperties), plain).Err(); err != nil {
		t.Errorf("nobody told it of the property: %v", err)
	}
	mentioned, told := plain, plain
	mentioned.Config.Text = []byte("wait: 1s\n")
	told.Properties = []scheduler.Property{{Name: "wait", Value: "-inf"}, {Name: "wait", Value: "1"}}
	for name, o := range map[string]policytest.Options{"mentioned": mentioned, "told": told} {
		if err := policytest.Check(t.Context(), policytest.InProcess(TrustsProperties), o).Err(); err == nil || !strings.Contains(err.Error(), "FairShare is") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNoRestarts plays each game twice only.
func TestNoRestarts(t *testing.T) {
	for restarts, caught := range map[int]bool{-1: false, 0: true} {
		o := policytest.Options{Seeds: 3, Restarts: restarts}
		if err := policytest.Check(t.Context(), policytest.InProcess(Forgetful), o).Err(); (err != nil) != caught {
			t.Errorf("restarts %d: %v", restarts, err)
		}
	}
}
