package rest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// array adds a live job array with the indices 10 to 28 in steps of 2. Its second element has failed
// twice, and its third runs.
func (w *world) array(id scheduler.JobID) (spec *wire.Elements, set wire.ElementSet) {
	ranges, err := wire.ParseElements("10-28:2")
	if err != nil {
		w.Fatal(err)
	}
	if set, err = wire.ElementsOf(ranges); err != nil {
		w.Fatal(err)
	}
	spec = &wire.Elements{Ranges: ranges, AtOnce: 4}
	failed := wire.ElementState_ELEMENT_STATE_FAILED
	attempt := func(id2 scheduler.AttemptID, index int32, state changes.State) changes.Attempt {
		return changes.Attempt{ID: id2, Job: id, Bundle: scheduler.BundleID(index + 1), On: "l1", Launcher: 1, Index: index, State: state, Outcome: scheduler.Failed, Launched: base, Started: base, Since: base + 1, Reason: fmt.Sprint("why ", id2)}
	}
	w.tell(core.Changes{ChangeSet: changes.ChangeSet{
		Jobs: []changes.Job{{
			ID: id, Spec: &wire.JobSpec{Name: "sweep", Principal: &wire.Principal{Name: "ann"}}, Plan: &graph.Expanded{Graph: &wire.Graph{Stages: []*wire.Stage{{Name: "array", Nodes: 10, Elements: spec}}}},
			StageNames: []string{"array"}, State: wire.JobState_JOB_STATE_RUNNING, Submitted: base, Groups: 10, Array: changes.Array{Set: set, Spec: spec},
		}},
		Stages:   []changes.Stage{{Job: id, Nodes: 10, Waiting: 8, Running: 1, GivenUp: 1}},
		Elements: []changes.Elements{{Job: id, First: 1, Count: 1, State: failed}, {Job: id, First: 2, Count: 1, State: wire.ElementState_ELEMENT_STATE_RUNNING}},
		Attempts: []changes.Attempt{attempt(1, 1, changes.Ended), attempt(2, 1, changes.Ended), attempt(3, 2, changes.Running)},
	}})
	return spec, set
}

// TestElements: a job array is described, and its elements are listed with their last attempts, a page
// at a time.
func TestElements(t *testing.T) {
	w := newWorld(t)
	spec, set := w.array(1)
	w.job(2, "ann", 3)
	check := func() {
		t.Helper()
		var j restapi.Job
		w.ask("GET", Root+"/jobs/job-1", "", &j)
		if j.Array == nil || j.Array.Elements != "10-28:2" || *j.Array.AtOnce != 4 || *j.Elements != 10 {
			t.Fatalf("the array is %+v", j.Array)
		}
		var page restapi.ElementList
		w.ask("GET", Root+"/jobs/job-1/elements?limit=2", "", &page)
		if !page.Truncated || len(page.Elements) != 2 || page.Elements[0].Index != 10 || page.Elements[0].Attempts != 0 || page.Elements[0].Attempt != nil {
			t.Fatalf("the first page is %+v", page)
		}
		if e := page.Elements[1]; e.Index != 12 || e.State != "failed" || e.Attempts != 2 || *e.Attempt != "attempt-2" || *e.Reason != "why attempt-2" {
			t.Errorf("the element that failed is %+v", e)
		}
		var next restapi.ElementList
		w.ask("GET", Root+"/jobs/job-1/elements?cursor="+*page.Next, "", &next)
		if next.Truncated || next.Next != nil || len(next.Elements) != 8 || next.Elements[0].Index != 14 {
			t.Errorf("the second page is %+v", next)
		}
		var some restapi.ElementList
		w.ask("GET", Root+"/jobs/job-1/elements?state=failed&elements=10,12,20-28:4", "", &some)
		if len(some.Elements) != 1 || some.Elements[0].Index != 12 {
			t.Errorf("those that failed are %+v", some)
		}
		var attempts restapi.AttemptList
		w.ask("GET", Root+"/jobs/job-1/attempts?elements=12", "", &attempts)
		if len(attempts.Attempts) != 2 || attempts.Attempts[1].ID != "attempt-2" {
			t.Errorf("the attempts of an element are %+v", attempts)
		}
	}
	check()
	for path, want := range map[string]string{
		"job-2/elements": "it is no job array", "job-1/elements?elements=11": "has no element 11: it has 10-28:2", "job-1/elements?elements=9-1": "goes backwards",
		"job-1/elements?cursor=jobs-1": "none that was given here", "job-1/attempts?elements=11": "has no element 11", "job-2/attempts?elements=1": "it is no job array",
	} {
		if r := w.ask("GET", Root+"/jobs/"+path, "", nil); r.StatusCode != http.StatusBadRequest || !strings.Contains(r.Text, want) {
			t.Errorf("%s: %d %s, want %q", path, r.StatusCode, r.Text, want)
		}
	}

	// An ended job keeps the states of its elements.
	states := make([]wire.ElementState, set.Len())
	for i := range states {
		states[i] = wire.ElementState_ELEMENT_STATE_SUCCEEDED
	}
	states[1] = wire.ElementState_ELEMENT_STATE_FAILED
	a := wire.NewArrayStatus(spec, set, 0, states)
	a.States = wire.PackElementStates(states)
	w.tell(core.Changes{ChangeSet: changes.ChangeSet{
		Attempts: []changes.Attempt{{ID: 3, Job: 1, Bundle: 3, On: "l1", Launcher: 1, Index: 2, State: changes.Ended, Outcome: scheduler.Finished, Launched: base, Started: base, Since: base + 1}},
		Ended:    []*wire.JobStatus{{Summary: &wire.JobSummary{Job: 1, Name: "sweep", User: "ann", State: wire.JobState_JOB_STATE_FAILED, Submitted: int64(base), Ended: int64(base) + 1, Elements: 10}, Stages: []*wire.StageStatus{{Name: "array", Nodes: 10, Finished: 9, GivenUp: 1}}, Array: a}},
	}})
	check()
	w.sealed()
	check()
}

// TestChangesOfElements: kills and retries name elements.
func TestChangesOfElements(t *testing.T) {
	w := newWorld(t)
	w.array(1)
	for path, body := range map[string]string{"kill": `{"elements": "12,14", "reason": "a whim"}`, "retry": `{"elements": "12"}`} {
		if r := w.ask("POST", Root+"/jobs/job-1/"+path, body, nil); r.StatusCode != http.StatusNoContent {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.Text)
		}
	}
	if r := w.ask("POST", Root+"/jobs/job-1/retry", "", nil); r.StatusCode != http.StatusNoContent {
		t.Errorf("a retry of all: %d %s", r.StatusCode, r.Text)
	}
	said := strings.Join(w.service.asked, "\n")
	if strings.Count(said, "first:12") != 2 || len(w.service.asked) != 3 {
		t.Errorf("asked is %s", said)
	}
	for _, wrong := range []string{`{"elements": "x"}`, `{"elements": ""}`, `{"element": "1"}`} {
		if r := w.ask("POST", Root+"/jobs/job-1/kill", wrong, nil); r.StatusCode != http.StatusBadRequest {
			t.Errorf("kill with %s: %d %s", wrong, r.StatusCode, r.Text)
		}
	}
	if len(w.service.asked) != 3 {
		t.Errorf("a wrong request was passed on: %s", w.service.asked)
	}
}
