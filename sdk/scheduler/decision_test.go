package scheduler_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TestDecisionsAreShownAsJSON, as logs are: also answers, which may have a function.
func TestDecisionsAreShownAsJSON(t *testing.T) {
	a := scheduler.Answer{Status: 200, Later: func() scheduler.Answer { return scheduler.Answer{} }}
	text, err := json.Marshal(scheduler.Decisions{Answers: []scheduler.Answer{a}})
	if err != nil || !strings.Contains(string(text), `"Status":200`) {
		t.Errorf("%s, %v", text, err)
	}
}
