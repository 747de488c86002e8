package rest

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/logarchive"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A waiting request also notices changes without a row: a launcher without heartbeats, a missing
// policy, the free slots for a waiting job, and a restored file of history.
func TestWhatNoRowTellsIsHeardOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		suspects := make(chan []string, 1)
		suspects <- nil
		w.server.needs.Suspects = func() []string {
			names := <-suspects
			suspects <- names
			return names
		}
		suspect := func(names ...string) func() {
			return func() { <-suspects; suspects <- names }
		}
		launcher := func(free int) func() {
			return func() {
				w.tell(core.Changes{ChangeSet: changes.ChangeSet{Launchers: []changes.Launcher{{ID: 1, Name: "l1", State: "up", Free: []scheduler.SlotCount{{Kind: "default", Count: free}}}}}})
			}
		}
		decides := func(generation uint64) func() {
			return func() {
				w.records++
				f := core.Changes{Decides: generation}
				w.history.TakeChanges(w.records, &f)
				w.model.Enqueue(f)
			}
		}
		launcher(1)()
		w.job(1, "ann", 3)
		for _, x := range []struct {
			path   string
			change func()
			code   int
		}{
			{"/launchers", suspect("l1"), 200},
			{"/launchers", suspect(), 200},
			{"/launchers/l1", suspect("l1"), 200},
			{"/cluster", suspect("l1", "l2"), 200},
			{"/jobs", suspect(), 304},
			{"/cluster", decides(0), 200},
			{"/queue", decides(4), 200},
			{"/jobs/job-1", decides(0), 200},
			{"/jobs", decides(5), 304},
			{"/jobs/job-1", launcher(2), 200},
			{"/jobs/job-1/attempts", launcher(3), 304},
			{"/jobs/job-1", func() { w.job(2, "ann", 3) }, 200}, // the policy's reason may reveal what other jobs hold
			{"/jobs/job-1/attempts", func() { w.job(2, "ann", 4) }, 304},
			{"/jobs", func() { w.service.rights.Add(1) }, 200}, // others may be looked at now
		} {
			r := httptest.NewRequest("GET", Root+x.path+"?wait=20", nil)
			r.Header.Set("If-None-Match", w.ask("GET", Root+x.path, "", nil).Header.Get("ETag"))
			began := time.Now()
			time.AfterFunc(3*time.Second, x.change)
			got, took := w.do(r, nil).StatusCode, time.Since(began)
			if most := 3*time.Second + lookEach; got != x.code || got == 200 && (took < 3*time.Second || took > most) {
				t.Errorf("%s: %d after %v, want %d until %v", x.path, got, took, x.code, most)
			}
		}
	})
}

// How history stands has no revision in all that is shown of it, such as what it keeps of logs.
func TestHowHistoryStandsIsHeardOf(t *testing.T) {
	w := newWorld(t)
	w.job(1, "ann", 3)
	r := httptest.NewRequest("GET", Root+"/cluster?wait=60", nil)
	r.Header.Set("If-None-Match", w.ask("GET", Root+"/cluster", "", nil).Header.Get("ETag"))
	if err := w.history.Tails().Add(logarchive.Key{Job: 1, Submitted: base}, []*wire.LogTail{{Job: 1, Attempt: 7, Launcher: "l1", Of: 5, Text: []byte("words")}}); err != nil {
		t.Fatal(err)
	}
	var c restapi.Cluster
	if got := w.do(r, &c).StatusCode; got != http.StatusOK || c.History.TailsBytes == 0 {
		t.Errorf("%d, and of logs %d bytes are kept", got, c.History.TailsBytes)
	}
}

// Unreadable parts of a job are shown again once they can be read: for conditional requests, and in
// answers cached for other callers.
func TestAFileComesBack(t *testing.T) {
	w := newWorld(t)
	w.pastJob(1, "ann", 700)
	path := filepath.Join(w.folder, "jobs", "1.history")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(b []byte, at time.Time) {
		if err := errors.Join(os.WriteFile(path, b, 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	b[len(b)-1] ^= 1
	write(b, time.Unix(1, 0))
	known := w.ask("GET", Root+"/jobs/job-1", "", nil).Header.Get("ETag")
	if x, err := w.server.GetWhole(t.Context(), WholeQuery{Job: "job-1"}); err != nil || x.Job.Damage == nil {
		t.Errorf("%v %v", x.Job, err)
	}
	b[len(b)-1] ^= 1
	write(b, time.Unix(2, 0))
	r := httptest.NewRequest("GET", Root+"/jobs/job-1", nil)
	r.Header.Set("If-None-Match", known)
	if got := w.do(r, nil).StatusCode; got != http.StatusOK {
		t.Errorf("that the file was put back is answered with %d", got)
	}
	if x, err := w.server.GetWhole(t.Context(), WholeQuery{Job: "job-1"}); err != nil || x.Job.Damage != nil || len(x.Timeline.Lanes) == 0 {
		t.Errorf("%v, %d lanes, %v", x.Job, len(x.Timeline.Lanes), err)
	}
}
