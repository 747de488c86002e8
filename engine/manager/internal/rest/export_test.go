package rest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/logarchive"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A job's export has all data about it, whether it lives or has ended.
func TestExport(t *testing.T) {
	w := newWorld(t)
	w.job(1, "ann", 3)
	rows := w.attempts(1, 1, 5000, 3)
	printed := []*wire.LogTail{{Job: 1, Attempt: 7, Launcher: "l1", Of: 10, Text: []byte("a\xff<b>"), Failed: true}, {Job: 1, Attempt: 8, Launcher: "l2", Of: 5, Lacks: "why not"}}
	if err := w.history.Tails().Add(logarchive.Key{Job: 1, Submitted: base}, printed); err != nil {
		t.Fatal(err)
	}
	var rest []changes.Attempt // that end later
	for _, r := range rows {
		if r.State != changes.Ended {
			r.State, r.Outcome, r.Since = changes.Ended, 1, base.Add(5e9)
			rest = append(rest, r)
		}
	}
	export := func() {
		t.Helper()
		a := w.ask("GET", "/api/v1/jobs/job-1/export", "", nil)
		count := map[string]int{}
		var end exportEnd
		var logs []exportLog
		for line := range strings.Lines(a.Text) {
			var x struct {
				Kind    string
				Job     restapi.Job
				Attempt restapi.Attempt
				Log     exportLog
				End     exportEnd
			}
			if err := json.Unmarshal([]byte(line), &x); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			if x.Kind == "attempt" && x.Attempt.ID != scheduler.AttemptID(count["attempt"]+1).String() {
				t.Fatalf("%s comes after %d others", x.Attempt.ID, count["attempt"])
			}
			if x.Kind == "log" {
				logs = append(logs, x.Log)
			}
			count[x.Kind]++
			end = x.End
		}
		if count["job"] != 1 || count["graph"] != 1 || count["attempt"] != 5000 || count["end"] != 1 || end != (exportEnd{Attempts: 5000, Of: 5000, Logs: 2}) {
			t.Errorf("it has %v, and says %+v", count, end)
		}
		if len(logs) != 2 || logs[0] != (exportLog{"attempt-7", "l1", 5, 10, "a\ufffd<b>", ""}) || logs[1] != (exportLog{"attempt-8", "l2", 5, 5, "", "why not"}) {
			t.Errorf("the logs are %+v", logs)
		}
		if !strings.Contains(a.Header.Get("Content-Disposition"), "job-1.jsonl") || a.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%v", a.Header)
		}
	}
	export()
	w.tell(core.Changes{ChangeSet: changes.ChangeSet{Attempts: rest}})
	w.end(1, "ann")
	export()
	if a := w.ask("GET", "/api/v1/jobs/job-9/export", "", nil); a.StatusCode != http.StatusNotFound {
		t.Errorf("of a job that is not there: %d", a.StatusCode)
	}
}
