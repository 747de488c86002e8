package report

import (
	"bytes"
	"encoding/csv"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/laboratory/workload"
)

func table1(t *testing.T, r *Run) []map[string]string {
	t.Helper()
	var b bytes.Buffer
	if err := r.CSV(&b); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n != strings.Count(b.String(), "\r\n") {
		t.Error("lines do not all end as RFC 4180 has it")
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]string
	for _, row := range rows[1:] {
		m := map[string]string{}
		for i, name := range rows[0] {
			m[name] = row[i]
		}
		list = append(list, m)
	}
	return list
}

// What is read back from the table is the result, to the nanosecond.
func TestCSVIsTheResult(t *testing.T) {
	for seed := range uint64(4) {
		for p := range policies {
			w, c := random(seed)
			result, recorder := play(t, w, c, p, nil)
			rows := table1(t, NewRun(policies[p].name, seed, w, c, result, recorder))
			if len(rows) != len(w.Jobs) {
				t.Fatalf("%d rows of %d jobs", len(rows), len(w.Jobs))
			}
			for i, row := range rows {
				checkRow(t, row, &w.Jobs[i], &result.Jobs[i])
			}
		}
	}
}

func checkRow(t *testing.T, row map[string]string, j *workload.Job, r *simulation.Job) {
	t.Helper()
	attempts, preempted, killed, suspended, lost, tasks, busy, wasted, started := 0, 0, 0, 0, 0, 0, time.Duration(0), time.Duration(0), time.Duration(math.MaxInt64)
	near := [3]int{}
	for s, stage := range r.Stages {
		attempts, preempted, killed, suspended, lost = attempts+stage.Attempts, preempted+stage.Preempted, killed+stage.Killed, suspended+stage.Suspended, lost+stage.Lost
		busy, wasted, tasks = busy+stage.Busy, wasted+stage.Wasted, tasks+len(j.Stages[s].Tasks)
		if stage.Attempts > 0 {
			started = min(started, stage.Began)
		}
		for i := range near {
			near[i] += stage.Near[i]
		}
	}
	for name, want := range map[string]string{"job_id": j.ID, "name": j.Name, "class": j.Class, "user": j.User, "pool": j.Pool, "state": "succeeded"} {
		if row[name] != want {
			t.Errorf("job %q: %s is %q, want %q", j.ID, name, row[name], want)
		}
	}
	for name, want := range map[string]int{
		"tasks": tasks, "attempts": attempts, "preempted_attempts": preempted, "killed_attempts": killed, "suspended_attempts": suspended, "lost_attempts": lost,
		"finished_node_local_attempts": near[0], "finished_rack_local_attempts": near[1], "finished_remote_attempts": near[2],
	} {
		if row[name] != strconv.Itoa(want) {
			t.Errorf("job %q: %s is %q, want %d", j.ID, name, row[name], want)
		}
	}
	for name, want := range map[string]time.Duration{
		"submitted_s": r.Submitted, "started_s": started, "ended_s": r.Ended, "sojourn_s": r.Ended - r.Submitted, "busy_slot_s": busy, "wasted_slot_s": wasted,
	} {
		if got, err := time.ParseDuration(row[name] + "s"); err != nil || got != want {
			t.Errorf("job %q: %s is %q, want %v", j.ID, name, row[name], want)
		}
	}
	if x, err := strconv.ParseFloat(row["slowdown"], 64); err != nil || x < 1 {
		t.Errorf("job %q: it was slowed down by %q", j.ID, row["slowdown"])
	}
}

func TestSecondsAreExact(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 1: "0.000000001", time.Second: "1", -time.Millisecond: "-0.001", 90*time.Second + 50: "90.00000005",
		math.MaxInt64: "9223372036.854775807", math.MinInt64: "-9223372036.854775808",
	} {
		if got := seconds(d); got != want {
			t.Errorf("%d ns are %q, want %q", int64(d), got, want)
		}
	}
}

// Alone on a cluster on which nothing but work takes time a job is hardly slowed down.
func TestAloneNothingSlowsDown(t *testing.T) {
	c := cluster.Default(1, map[string]int{"map": 2, "reduce": 1})
	c.Model.Start, c.Model.Stop, c.Model.Latency = 0, 0, 0
	stage := func(kind string, after []int, n int) workload.Stage {
		s := workload.Stage{Name: kind, Kind: kind, After: after}
		for range n {
			s.Tasks = append(s.Tasks, workload.Task{Work: 1000 * time.Second})
		}
		return s
	}
	w := &workload.Workload{Jobs: []workload.Job{{ID: "a", Stages: []workload.Stage{stage("map", nil, 4), stage("reduce", []int{0}, 2)}}}}
	result, _ := play(t, w, c, 0, nil)
	if r := NewRun("fifo", 1, w, c, result, nil); r.Jobs[0].Slowdown < 1 || r.Jobs[0].Slowdown > 1.001 {
		t.Errorf("it was slowed down by %v", r.Jobs[0].Slowdown)
	}
}

// A job that failed is named, counts for no sojourn time, and has empty cells for what it
// has not.
func TestAJobThatFails(t *testing.T) {
	w := &workload.Workload{Jobs: []workload.Job{
		{ID: "a", Stages: []workload.Stage{{Name: "map", Kind: "map", Tasks: []workload.Task{{Work: time.Second}}}}},
		{ID: "wide", Stages: []workload.Stage{{Name: "odd", Kind: "none of them", Tasks: []workload.Task{{Work: time.Second}}}}},
	}}
	c := cluster.Default(1, map[string]int{"map": 1})
	result, recorder := play(t, w, c, 0, nil)
	r := NewRun("fifo", 1, w, c, result, recorder)
	if s := r.Summary; s.All.Sojourn.Count != 1 || len(s.Failed) != 1 || s.Failed[0].ID != "wide" || result.Jobs[1].State != wire.JobState_JOB_STATE_FAILED {
		t.Errorf("the summary is %+v", s)
	}
	if row := table1(t, r)[1]; row["state"] != "failed" || row["started_s"] != "" || row["slowdown"] != "" || row["attempts"] != "0" {
		t.Errorf("its row is %v", row)
	}
	var b strings.Builder
	if err := Compare([]*Run{r}).Text(&b); err != nil || !strings.Contains(b.String(), "none of them") {
		t.Errorf("people do not read why (%v):\n%s", err, b.String())
	}
}
