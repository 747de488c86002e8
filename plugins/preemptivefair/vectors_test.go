package preemptivefair

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/plugins/internal/variants"
	"github.com/hamadryad/hamadryad/plugins/internal/vectors"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// paper is the settings of the published policy.
var paper = variants.Named("preemptive-fair", "paper").Settings

// vector is one case of a file in testdata/vectors. Fields of kinds that are left
// out on purpose are not listed: see excluded.json.
type vector struct {
	ID, Kind, Origin, Source, Note string
	Cores                          int
	RunningTasksPerJob             []int
	Jobs                           []struct {
		Job                                string
		Queued, Running, TransitionsWaited int
	}
	CannotRunNow                  []string
	Reserved                      json.RawMessage
	Expected                      json.RawMessage
	GrantsAsCoded, GrantsIntended int
}

func TestVectors(t *testing.T) {
	vectors.Run(t, map[string]func(*testing.T, vector){
		"preemptive-fair-new-job":     newJob,
		"preemptive-fair-next-job":    nextJob,
		"preemptive-fair-reservation": reservation,
	})
}

// newJob submits one more job, with more work than there are slots. Where the
// original goes wrong it kills although slots are free; then the rule of the
// case's note holds: no more than free slots do not cover.
func newJob(t *testing.T, v vector) {
	var want struct {
		FairShare                                float64
		KillPerJob, KillTotal, ReservedForNewJob int
	}
	if err := json.Unmarshal(v.Expected, &want); err != nil {
		t.Fatal(err)
	}
	s := start(t, paper, 1)
	s.launcher(1, v.Cores)
	unused := v.Cores
	for i, n := range v.RunningTasksPerJob {
		id := scheduler.JobID(i + 1)
		s.events(append([]scheduler.Event{s.submit(id, n)}, s.running(id, n, 1)...)...)
		unused -= n
	}
	s.settled()
	id := scheduler.JobID(len(v.RunningTasksPerJob) + 1)
	s.events(s.submit(id, 2*v.Cores))
	reserved := 0
	if d := s.policy.State().memory.newcomer(id).due(scheduler.DefaultKind); d != nil {
		reserved = d.First
	}
	r := free(1, unused)
	r.Events = s.ready(id, 2*v.Cores)
	d := s.round(r)
	if got := s.fact(id, "share default"); got != fmt.Sprintf("%.1f", want.FairShare) {
		t.Errorf("share %s, want %.1f", got, want.FairShare)
	}
	if reserved != want.ReservedForNewJob {
		t.Errorf("%d slots are the newcomer's first share, want %d", reserved, want.ReservedForNewJob)
	}
	lost := s.lost(d)
	if strings.HasPrefix(v.Note, "UPSTREAM BUG") {
		want.KillTotal, want.KillPerJob = max(0, reserved-unused), 0
	}
	if n := len(victims(d)); n != want.KillTotal {
		t.Errorf("%d victims (%v by job), want %d", n, lost, want.KillTotal)
	}
	for i := range v.RunningTasksPerJob {
		if n := lost[scheduler.JobID(i+1)]; n != want.KillPerJob {
			t.Errorf("job %d loses %d, want %d", i+1, n, want.KillPerJob)
		}
	}
}

// nextJob checks which job gets the one free slot.
func nextJob(t *testing.T, v vector) {
	s := start(t, paper, 1)
	s.launcher(1, v.Cores)
	ids := map[string]scheduler.JobID{}
	var reserved [][2]any
	if err := json.Unmarshal(v.Reserved, &reserved); err != nil {
		t.Fatal(err)
	}
	var queued []scheduler.Event
	for i, j := range v.Jobs {
		id := scheduler.JobID(i + 1)
		ids[j.Job] = id
		isNew := slices.ContainsFunc(reserved, func(r [2]any) bool { return r[0] == j.Job })
		if !isNew {
			s.settled()
		}
		// One map more has ended: the job has run.
		s.events(append([]scheduler.Event{s.submit(id, j.Queued+j.Running+1)}, s.running(id, j.Running, 1)...)...)
		if !isNew {
			s.events(s.running(id, 1, 1)...)
			s.events(s.ended(s.attempt, scheduler.Finished))
			s.settled()
		}
		if !slices.Contains(v.CannotRunNow, j.Job) {
			queued = append(queued, s.ready(id, j.Queued)...)
		}
	}
	r := free(1, 1)
	r.Events = queued
	got := s.launchedBy(s.round(r))
	var want string
	if err := json.Unmarshal(v.Expected, &want); err != nil {
		t.Fatal(err)
	}
	switch {
	case want == "" && len(got) > 0, want != "" && (len(got) != 1 || got[0] != ids[want]):
		t.Errorf("the slot went to %v, want %q of %v", got, want, ids)
	}
}

// reservation offers a newcomer with a first share, and another job with less
// than the newcomer soon has, twice as many slots: the newcomer comes first just so
// often.
func reservation(t *testing.T, v vector) {
	var first int
	if err := json.Unmarshal(v.Reserved, &first); err != nil {
		t.Fatal(err)
	}
	s := start(t, "", 1)
	s.launcher(1, 2*first)
	s.events(s.submit(1, 4*first))
	s.events(s.submit(2, 4*first))
	r := free(1, 2*first)
	r.Events = append(s.ready(1, 4*first), s.ready(2, 4*first)...)
	got := s.launchedBy(s.round(r))
	for i, id := range got {
		if isNew := id == 2; isNew != (i < v.GrantsIntended) {
			t.Fatalf("slots went to %v, want the first %d to job-2", got, v.GrantsIntended)
		}
	}
}
