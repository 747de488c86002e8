package policyhost

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/internal/inbox"
	"github.com/hamadryad/hamadryad/engine/manager/internal/metrics"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A job that has ended may stay in a status for a while. One that stays longer is told once for each
// generation, with the policy's name and a few of the jobs.
func TestStatusWithJobsThatAreNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live := map[scheduler.JobID]bool{1: true}
		s := New(t.Context(), Needs{
			Inbox: inbox.New(), Log: slog.New(slog.DiscardHandler), Stats: metrics.New(), Conditions: &Conditions{},
			Missing: func(_ context.Context, jobs []scheduler.JobID) ([]scheduler.JobID, error) {
				return slices.DeleteFunc(slices.Clone(jobs), func(j scheduler.JobID) bool { return live[j] }), nil
			},
		})
		c, ended := core.New(core.DefaultSettings()), make(chan struct{})
		defer close(ended)
		go func() {
			for {
				select {
				case e := <-s.needs.Inbox.Next():
					s.needs.Inbox.Taken([]inbox.Entry{e})
					e.Query(c)
				case <-ended:
					return
				}
			}
		}()
		h := &policyProcess{name: "p", generation: 7}
		lists := func(jobs ...scheduler.JobID) string {
			var status scheduler.Status
			for _, j := range jobs {
				status.Queue = append(status.Queue, scheduler.Queued{Job: j})
			}
			s.poll.checkJobs(h, status)
			x, _ := s.needs.Conditions.Of(ConditionJobs)
			time.Sleep(time.Second)
			return x.Text
		}
		for i := range scheduler.JobID(30) { // each has just ended
			if text := lists(1, 100+i, 101+i); text != "" {
				t.Fatal(text)
			}
		}
		text := ""
		for i := range 11 {
			if text = lists(1, 2, 3, 4, 5, 6, 7, 8); (text != "") != (i == 10) {
				t.Fatalf("after %d s: %q", i, text)
			}
		}
		if !strings.Contains(text, "the policy p has named") || !strings.HasSuffix(text, "job-2, job-3, job-4, job-5, job-6, 2 more") {
			t.Error(text)
		}
		s.needs.Conditions.Clear(ConditionJobs)
		if text := lists(2); text != "" {
			t.Errorf("told again: %s", text)
		}
		counted := `
# HELP hamadryad_policy_problems_total Problems of a policy, by kind (see "hamadryad policy") and by the policy's name.
# TYPE hamadryad_policy_problems_total counter
hamadryad_policy_problems_total{kind="jobs",policy="p"} 1
`
		if err := testutil.GatherAndCompare(s.needs.Stats.Registry, strings.NewReader(counted), "hamadryad_policy_problems_total"); err != nil {
			t.Error(err)
		}
	})
}

// A generation that leaves a job without attempts is a problem with its name, for as long as the
// core says so again.
func TestStallIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(t.Context(), Needs{Log: slog.New(slog.DiscardHandler), Stats: metrics.New(), Conditions: &Conditions{}})
		s.live[7] = &policyProcess{name: "p", generation: 7}
		stalls := core.PolicyStalls{Generation: 7, Problem: "stalls: no attempt of job-1", Every: time.Minute}
		for range 3 {
			s.Stalls(stalls)
			time.Sleep(time.Minute)
			if x, stands := s.needs.Conditions.Of(ConditionStall); !stands || x.Text != "the policy p stalls: no attempt of job-1" {
				t.Fatalf("%v %v", x, stands)
			}
		}
		time.Sleep(2 * stallForgotten)
		if x, stands := s.needs.Conditions.Of(ConditionStall); stands {
			t.Error(x)
		}
		stalls.Generation = 8 // has ended
		s.Stalls(stalls)
	})
}
