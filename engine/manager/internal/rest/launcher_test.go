package rest

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// How busy a machine is may be nothing, and may not be known: these differ.
func TestHowBusyALauncherIs(t *testing.T) {
	none, half := 0.0, 0.5
	if l := restapi.LauncherOf(&wire.LauncherStatus{Load: &wire.MachineLoad{Cpu: &none, Memory: &half}}); l.CPU == nil || *l.CPU != 0 || l.MemoryUsed == nil || *l.MemoryUsed != 0.5 {
		t.Errorf("it is %v, %v", l.CPU, l.MemoryUsed)
	}
	for _, m := range []*wire.MachineLoad{nil, {}} {
		if l := restapi.LauncherOf(&wire.LauncherStatus{Load: m}); l.CPU != nil || l.MemoryUsed != nil {
			t.Errorf("of %v is told %v, %v", m, l.CPU, l.MemoryUsed)
		}
	}
}

// A launcher is shown with its live attempts and its last ended ones, of jobs that the caller may
// look at; a lost one is marked so.
func TestLauncherIsDescribed(t *testing.T) {
	w := newWorld(t)
	w.tell(core.Changes{ChangeSet: changes.ChangeSet{Launchers: []changes.Launcher{{ID: 1, Name: "l1", Host: "h", State: "up"}, {ID: 2, Name: "l2", Host: "h", State: "lost"}, {
		ID: 4, Name: "l4", Host: "h", State: "excluded", ExcludedFor: []scheduler.JobID{7, 8}, ExcludedUntil: scheduler.Time(time.Date(2026, 5, 4, 13, 14, 15, 0, time.Local).UnixNano()),
	}}}})
	w.job(1, "ann", 3)
	w.job(2, secretive, 3)
	for id := range scheduler.AttemptID(100) {
		row := changes.Attempt{ID: id + 1, Job: scheduler.JobID(1 + id%2), Launcher: 1, On: "l1", Stage: 0, Index: int32(id % 90), State: changes.Running, Started: base}
		w.tell(core.Changes{ChangeSet: changes.ChangeSet{Attempts: []changes.Attempt{row}}})
		if id < 90 {
			row.State, row.Outcome, row.Since = changes.Ended, scheduler.Finished, base.Add(1e9)
			w.tell(core.Changes{ChangeSet: changes.ChangeSet{Attempts: []changes.Attempt{row}}})
		}
	}
	var l restapi.LauncherDetails
	w.ask("GET", "/api/v1/launchers/l1", "", &l)
	ids := func(list []restapi.LauncherAttempt) (ids []scheduler.AttemptID) {
		for _, a := range list {
			id, err := scheduler.ParseAttemptID(a.ID)
			if err != nil || a.Job != "job-1" || a.JobName != "name of job-1" || (a.Index == nil || uint64(*a.Index) != uint64(id-1)%90) || a.Stage == nil {
				t.Errorf("it shows %+v", a)
			}
			ids = append(ids, id)
		}
		return ids
	}
	if got := fmt.Sprint(ids(l.Attempts)); got != "[attempt-91 attempt-93 attempt-95 attempt-97 attempt-99]" || l.AttemptsLeftOut != 5 {
		t.Errorf("there live %s, and %d are left out", got, l.AttemptsLeftOut)
	}
	if got := fmt.Sprint(ids(l.Ended)); got != "[attempt-89 attempt-87 attempt-85 attempt-83 attempt-81 attempt-79 attempt-77 attempt-75 attempt-73 attempt-71]" {
		t.Errorf("ended have %s", got)
	}
	w.ask("GET", "/api/v1/launchers/l2", "", &l)
	if l.State != "lost" || len(l.Problems) != 1 {
		t.Errorf("a lost one is %+v", l)
	}
	w.ask("GET", "/api/v1/launchers/l4", "", &l)
	if want := `attempts of job-7, job-8 failed there: excluded until 13:14:15: it gets no new work until then, or until "hamadryad undrain l4"`; l.State != "excluded" || len(l.Problems) != 1 || l.Problems[0] != want {
		t.Errorf("one that is excluded is %s, with the problems %q, want %q", l.State, l.Problems, want)
	}
	if a := w.ask("GET", "/api/v1/launchers/l3", "", nil); a.StatusCode != http.StatusNotFound {
		t.Errorf("one that is not there: %d", a.StatusCode)
	}
}
