package zoo

import (
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedtest"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedtest/policies"
)

// TestTheKitCatchesEach puts every bad policy through the kit.
func TestTheKitCatchesEach(t *testing.T) {
	for _, a := range All() {
		t.Run(a.Name, func(t *testing.T) {
			o := schedtest.Options{Seeds: 5}
			if a.Name == "hangs" {
				o.AnswerWithin = 200 * time.Millisecond
			}
			r := schedtest.Check(t.Context(), schedtest.InProcess(a.New), o)
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

// TestTheKitCatchesWhatIsMisshown: numbers that can't be, and texts that steer a terminal,
// are told with the field that holds them.
func TestTheKitCatchesWhatIsMisshown(t *testing.T) {
	o := schedtest.Options{Seeds: 1}
	for _, a := range Misshown() {
		r := schedtest.Check(t.Context(), schedtest.InProcess(a.New), o)
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), a.Caught) {
			t.Errorf("%s: it does not say %q:\n%.1500v", a.Name, a.Caught, err)
		}
	}
	right := shows("", func(*scheduler.Status) {}).New
	if err := schedtest.Check(t.Context(), schedtest.InProcess(right), o).Err(); err != nil {
		t.Errorf("what is shown is right: %v", err)
	}
}

// TestCompareSeesADifference plays one game through two policies that differ.
func TestCompareSeesADifference(t *testing.T) {
	o := schedtest.Options{Seeds: 3}
	good := schedtest.InProcess(policies.Delay)
	if err := schedtest.Compare(t.Context(), good, schedtest.InProcess(policies.Delay), o).Err(); err != nil {
		t.Errorf("the same policy twice: %v", err)
	}
	if err := schedtest.Compare(t.Context(), good, schedtest.InProcess(LaunchesNothing), o).Err(); err == nil {
		t.Error("a policy that launches and one that does not decide the same")
	}
}

// TestTheKitWarnsOfWaste: what no rule forbids is told, and passes.
func TestTheKitWarnsOfWaste(t *testing.T) {
	o := schedtest.Options{Seeds: 6, Restarts: 1}
	for _, a := range Odd() {
		r := schedtest.Check(t.Context(), schedtest.InProcess(a.New), o)
		if err := r.Err(); err != nil {
			t.Errorf("%s: it does not pass: %.1500v", a.Name, err)
		}
		if !strings.Contains(strings.Join(r.Warnings, "\n"), a.Caught) {
			t.Errorf("%s: the warnings are %q", a.Name, r.Warnings)
		}
	}
	r := schedtest.Check(t.Context(), schedtest.InProcess(policies.Suspend), o)
	if len(r.Warnings) > 0 {
		t.Errorf("a policy that does all it can is warned of: %q", r.Warnings)
	}
}
