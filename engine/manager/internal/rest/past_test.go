package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// sealed waits until the files of all that ended are there.
func (w *world) sealed() {
	w.Helper()
	if err := w.history.Sync(w.Context(), w.records); err != nil {
		w.Fatal(err)
	}
}

// pastJob has a job end that had so many attempts, and others, so that history alone knows it.
func (w *world) pastJob(id scheduler.JobID, user string, attempts int) {
	w.Helper()
	w.job(id, user, attempts)
	w.attempts(id, 1000*int(id), attempts, 1)
	w.end(id, user)
	w.job(id+1, "bob", 1)
	w.end(id+1, "bob")
	w.sealed()
}

// text is something as JSON.
func text(t *testing.T, x any) string {
	t.Helper()
	b, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The whole of a job equals its parts, for a live and for an ended one, and the caller is checked
// once.
func TestTheWholeIsItsParts(t *testing.T) {
	w := newWorld(t)
	w.job(1, "ann", 9)
	w.attempts(1, 10, 700, 4)
	w.pastJob(2, "ann", 700)
	for _, job := range []string{"job-1", "job-2"} {
		limit, stage, by, state := 20, "reduce", restapi.GetTimelineParamsByStage, []restapi.AttemptState{"finished", "failed"}
		looks := w.service.looks
		whole, err := w.server.GetWhole(t.Context(), WholeQuery{Job: job, Timeline: restapi.GetTimelineParams{By: &by}, Stage: stage, Attempts: restapi.ListAttemptsParams{Limit: &limit, Stage: &stage, State: &state}})
		if err != nil || w.service.looks != looks+1 {
			t.Fatalf("%s: %v after %d looks", job, err, w.service.looks-looks)
		}
		var j restapi.Job
		var g restapi.Graph
		var d restapi.Distribution
		var l restapi.AttemptList
		var line restapi.Timeline
		var r restapi.ReasonList
		w.ask("GET", Root+"/jobs/"+job+"/reasons", "", &r)
		w.ask("GET", Root+"/jobs/"+job, "", &j)
		w.ask("GET", Root+"/jobs/"+job+"/graph", "", &g)
		w.ask("GET", Root+"/jobs/"+job+"/distribution?stage=reduce", "", &d)
		w.ask("GET", Root+"/jobs/"+job+"/attempts?limit=20&stage=reduce&state=finished&state=failed", "", &l)
		w.ask("GET", Root+"/jobs/"+job+"/timeline?by=stage", "", &line)
		if len(l.Attempts) != 20 || !l.Truncated || l.Total != 700 && job == "job-1" || d.Running.Count == 0 || len(g.Stages) != 2 || len(line.Lanes) != 2 {
			t.Errorf("%s: its parts are %d attempts of %d, a distribution of %d, %d stages, %d lanes", job, len(l.Attempts), l.Total, d.Running.Count, len(g.Stages), len(line.Lanes))
		}
		pairs := [][2]any{{j, whole.Job}, {g, whole.Graph}, {d, whole.Distribution}, {l, whole.Attempts}, {r, whole.Reasons}}
		if job == "job-2" { // that of a live one goes on
			pairs = append(pairs, [2]any{line, whole.Timeline})
		}
		for _, p := range pairs {
			if part, of := text(t, p[0]), text(t, p[1]); part != of {
				t.Errorf("%s: a part is\n%s\nand in the whole it is\n%s", job, part, of)
			}
		}
	}
}

// A live job's attempts are drawn until now, also without a change since the last drawing; an ended
// job is not drawn again.
func TestTheWholeIsOfNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Unix(0, int64(base)).Add(time.Hour)))
		w := newWorld(t)
		w.job(1, "ann", 9)
		w.tell(core.Changes{ChangeSet: changes.ChangeSet{Attempts: []changes.Attempt{{ID: 1, Job: 1, On: "oak", State: changes.Running, Launched: base, Started: base}}}})
		w.pastJob(2, "ann", 70)
		until := func(job string) time.Time {
			whole, err := w.server.GetWhole(t.Context(), WholeQuery{Job: job})
			if err != nil || len(whole.Timeline.Lanes) == 0 || whole.Again != 0 {
				t.Errorf("%s: %v, again after %v, error %v", job, whole.Timeline, whole.Again, err)
			}
			return whole.Timeline.To
		}
		lives, ended := until("job-1"), until("job-2")
		time.Sleep(time.Minute)
		if to := until("job-1"); to != lives.Add(time.Minute) {
			t.Errorf("a minute after %v it is drawn until %v", lives, to)
		}
		if to := until("job-2"); to != ended {
			t.Errorf("of one that ended it is drawn until %v, a minute before until %v", to, ended)
		}
	})
}

// Jobs that only history knows are listed, counted, found by filters, and hidden from callers
// without the right.
func TestJobsThatEndedLongAgo(t *testing.T) {
	w := newWorld(t)
	w.pastJob(1, "ann", 5)
	w.pastJob(3, secretive, 5)
	w.job(5, "ann", 1)
	for query, want := range map[string]string{"": "job-5 job-4 job-2 job-1 of 4", "?user=ann": "job-5 job-1 of 2", "?user=eve": "of 0", "?state=failed&limit=1": "job-4 of 3", "?name=job-1": "job-1 of 1"} {
		var l restapi.JobList
		w.ask("GET", Root+"/jobs"+query, "", &l)
		got := ""
		for _, j := range l.Jobs {
			got += j.ID + " "
		}
		if got += fmt.Sprint("of ", l.Total); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	var c restapi.Cluster
	if w.ask("GET", Root+"/cluster", "", &c); c.JobsByState["failed"] != 3 || c.JobsByState["running"] != 1 {
		t.Errorf("it counts %v", c.JobsByState)
	}
	for _, path := range []string{"", "/graph", "/attempts", "/timeline", "/distribution?stage=map"} {
		for job, want := range map[string]int{"job-1": http.StatusOK, "job-3": http.StatusForbidden, "job-9": http.StatusNotFound} {
			if r := w.ask("GET", Root+"/jobs/"+job+path, "", nil); r.StatusCode != want {
				t.Errorf("%s of %s: %d %s", path, job, r.StatusCode, r.Text)
			}
		}
	}
	for job, want := range map[string]int{"job-1": http.StatusNotModified, "job-3": http.StatusForbidden} {
		r := httptest.NewRequest("GET", Root+"/jobs/"+job, nil)
		r.Header.Set("If-None-Match", w.ask("GET", Root+"/jobs/job-1", "", nil).Header.Get("ETag"))
		if got := w.do(r, nil).StatusCode; got != want {
			t.Errorf("whether %s changed: %d, want %d", job, got, want)
		}
	}
}

// For a job with a damaged file the summary is shown with the fault, and each part's error has the
// file's name, and says that a retry does not help.
func TestAFileIsDamaged(t *testing.T) {
	for how, spoil := range map[string]func(path string) error{
		"cut":     func(path string) error { return os.Truncate(path, 100) },
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"gone":    os.Remove,
		"another": func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("another", 99)), 0o600) },
	} {
		w := newWorld(t)
		w.pastJob(1, "ann", 5)
		path := filepath.Join(w.folder, "jobs", "1.history")
		if err := spoil(path); err != nil {
			t.Fatal(err)
		}
		var j restapi.Job
		if w.ask("GET", Root+"/jobs/job-1", "", &j); j.Damage == nil || !strings.Contains(*j.Damage, path) || j.User != "ann" || j.State != "failed" {
			t.Errorf("%s: %+v", how, j)
		}
		for _, part := range []string{"/graph", "/attempts", "/attempts?stage=map", "/timeline", "/distribution?stage=map", "/reasons"} {
			var p restapi.Problem
			r := w.ask("GET", Root+"/jobs/job-1"+part, "", &p)
			if r.StatusCode != http.StatusGone || p.Type != Root+"/openapi.yaml#/components/responses/Damaged" || p.File == nil || *p.File != path || !strings.Contains(p.Detail, path) {
				t.Errorf("%s: %s: %d %s", how, part, r.StatusCode, r.Text)
			}
		}
		if r := w.ask("GET", Root+"/jobs/job-1/export", "", nil); r.StatusCode != http.StatusOK || !strings.Contains(r.Text, `"damage":"history file `+path) {
			t.Errorf("%s: exported is %d %s", how, r.StatusCode, r.Text)
		}
		var c restapi.Cluster
		if w.ask("GET", Root+"/cluster", "", &c); how != "gone" && (c.History.Jobs != 2 || c.History.Bytes == 0 || len(c.History.Damaged) != 1 || !strings.Contains(c.History.Damaged[0], path) || c.History.BehindSince != nil || c.History.TailsBehindSince != nil) {
			t.Errorf("%s: %+v", how, c)
		}
		stage := "map"
		whole, err := w.server.GetWhole(t.Context(), WholeQuery{Job: "job-1", Stage: stage, Attempts: restapi.ListAttemptsParams{Stage: &stage}})
		if err != nil || whole.Job.Damage == nil || whole.Job.Name != "name of job-1" {
			t.Errorf("%s: %+v %v", how, whole, err)
		}
	}
}

// A file that is damaged behind its beginning is shown as far as it can be read, and the rest is
// reported as damaged.
func TestAFileIsDamagedInAPart(t *testing.T) {
	w := newWorld(t)
	w.pastJob(1, "ann", 700)
	path := filepath.Join(w.folder, "jobs", "1.history")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]int{}
	for at := 0; at < len(whole); at += max(1, len(whole)/60) {
		spoilt := slices.Clone(whole)
		spoilt[at] ^= 0xff
		if err := os.WriteFile(path, spoilt, 0o600); err != nil {
			t.Fatal(err)
		}
		var j restapi.Job
		if r := w.ask("GET", Root+"/jobs/job-1", "", &j); r.StatusCode != http.StatusOK || j.User != "ann" {
			t.Errorf("with byte %d changed: %d %s", at, r.StatusCode, r.Text)
		}
		for _, part := range []string{"/graph", "/attempts?limit=1000", "/timeline", "/distribution?stage=map", "/reasons"} {
			var p restapi.Problem
			r := w.ask("GET", Root+"/jobs/job-1"+part, "", &p)
			seen[r.StatusCode]++
			if r.StatusCode != http.StatusOK && (r.StatusCode != http.StatusGone || p.File == nil || *p.File != path) {
				t.Errorf("with byte %d changed: %s: %d %s", at, part, r.StatusCode, r.Text)
			}
		}
		if w, err := w.server.GetWhole(t.Context(), WholeQuery{Job: "job-1"}); err != nil || w.Job.User != "ann" {
			t.Errorf("with byte %d changed: %v", at, err)
		}
	}
	if seen[http.StatusOK] == 0 || seen[http.StatusGone] == 0 {
		t.Errorf("answers were %v", seen)
	}
}
