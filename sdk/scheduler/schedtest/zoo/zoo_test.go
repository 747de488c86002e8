package zoo

import (
	"strings"
	"testing"
	"time"

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
