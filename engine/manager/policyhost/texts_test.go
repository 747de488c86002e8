package policyhost

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/manager/internal/inbox"
	"github.com/hamadryad/hamadryad/engine/manager/internal/limits"
	"github.com/hamadryad/hamadryad/engine/manager/internal/metrics"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Whatever a plug-in says goes into log, event log and status as a text of bounded
// length, and is still the error that it is.
func TestTextsOfAPolicyAreCut(t *testing.T) {
	long := strings.Repeat("words ", 1<<20)
	for name, err := range map[string]error{
		"an error":           &policy.Error{Kind: policy.Faulted, Op: "AssignTasks", Err: errors.New("why: " + long)},
		"a rejected setting": &policy.Error{Kind: policy.Invalid, Op: "Start", Err: scheduler.Problems{{Message: "why: " + long}}},
	} {
		t.Run(name, func(t *testing.T) {
			var logged strings.Builder
			var fatal error
			to := inbox.New()
			s := New(t.Context(), Needs{
				Inbox: to, Log: slog.New(slog.NewTextHandler(&logged, nil)), Conditions: &Conditions{}, Stats: metrics.New(), Fatal: func(err error) { fatal = err },
			})
			h := &policyProcess{generation: 1, announced: true, inProcess: true, end: make(chan struct{})}
			told := h.await()
			s.current, s.live[1] = h, h
			h.spec.FailuresWindow, h.spec.FailuresMax = 1, 100
			s.failed(h, err)
			s.starts++ // it is not started again
			reason, outcome := (<-to.Next()).Inputs[0].GetPolicyFailed().GetReason(), <-told
			if policy.KindOf(outcome) != policy.KindOf(err) {
				t.Errorf("it is of another kind: %v", policy.KindOf(outcome))
			}
			shown, _ := s.needs.Conditions.Of(ConditionPolicy)
			texts := map[string]string{"event log": reason, "outcome": outcome.Error(), "problem": shown.Text, "log": logged.String()}
			if fatal != nil {
				texts["end"] = fatal.Error()
			}
			for where, text := range texts {
				if len(text) > 2*limits.FailureTextMax || !strings.Contains(text, "why: words") || where != "problem" && !strings.Contains(text, "bytes more") {
					t.Errorf("%s has %d bytes: %.200s", where, len(text), text)
				}
			}
		})
	}
}
