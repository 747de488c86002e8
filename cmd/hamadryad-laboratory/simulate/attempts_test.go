package simulate

import (
	"bytes"
	"context"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// oneJob is a job with a stage m of a task.
var oneJob = &workload.Workload{Jobs: []workload.Job{{ID: "a\xff", User: "u", Pool: "p", Class: "c", Stages: []workload.Stage{{Name: "m", Kind: "map", Tasks: []workload.Task{{Work: time.Second}}}}}}}

// A reader finds each column of an attempt, and nothing where it is unknown.
func TestAttemptsAreRead(t *testing.T) {
	var b bytes.Buffer
	f := newAttemptsFile(&b)
	o := simulation.Options{Workload: oneJob, Cluster: cluster.Default(1, map[string]int{"map": 1})}
	o.Cluster.Seed = 7
	kept := f.of(0)
	kept.watch("fair", &o)
	resources := scheduler.NewResources(scheduler.ResourceCount{Kind: "gpu", Count: 2})
	full := simulation.Attempt{
		Number: 3, Tasks: 1, Bundle: 4, Group: 5, Run: 6, ID: 8, Launcher: "l", Speculative: true, Kind: "map", Slots: 2, Memory: 9, Resources: resources,
		Ready: time.Second, Launched: 2 * time.Second, Started: 3 * time.Second, Executing: 4 * time.Second, Ended: 5500 * time.Millisecond, Suspended: time.Second / 2,
		Outcome: scheduler.Preempted, Reason: "for another", For: 0, Near: scheduler.RackLocal, HasInput: true, Read: [scheduler.LocalityLevels]int64{1, 2, 3}, Shuffled: 10, Written: 11,
	}
	o.Attempts(&full)
	o.Attempts(&simulation.Attempt{Ready: simulation.Never, Started: simulation.Never, Executing: simulation.Never, Outcome: scheduler.Lost, For: -1})
	if err := kept.write(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := f.rows.Close(); err != nil {
		t.Fatal(err)
	}
	rows, err := parquet.Read[attemptRow](bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(rows) != 2 {
		t.Fatalf("got %d rows and the error %v", len(rows), err)
	}
	a, rest := rows[0], rows[1]
	plain := attemptRow{
		Policy: "fair", Seed: 7, Job: "a\uFFFD", JobNumber: 3, User: "u", Pool: "p", Class: "c", Stage: "m", Tasks: 1, Bundle: 4, Group: 5, BundleAttempt: 6, Attempt: 8,
		Launcher: "l", Speculative: true, Kind: "map", Slots: 2, Memory: 9, Launched: 2, Ended: 5.5, Suspended: 0.5, Outcome: "preempted", Reason: "for another",
		ReadNode: 1, ReadRack: 2, ReadRemote: 3, Shuffled: 10, Written: 11,
	}
	if *a.Ready != 1 || *a.Started != 3 || *a.Executing != 4 || *a.PreemptedFor != "a\uFFFD" || *a.Locality != "rack-local" || !slices.Equal(a.Resources, []attemptResource{{"gpu", 2}}) {
		t.Errorf("got %+v", a)
	}
	a.Ready, a.Started, a.Executing, a.PreemptedFor, a.Locality, a.Resources = nil, nil, nil, nil, nil, nil
	if !reflect.DeepEqual(a, plain) {
		t.Errorf("got %+v, want %+v", a, plain)
	}
	if rest.Ready != nil || rest.Started != nil || rest.Executing != nil || rest.PreemptedFor != nil || rest.Locality != nil || rest.Outcome != "lost" {
		t.Errorf("got %+v", rest)
	}
}

// Runs that end in any order are written in their own, and many attempts of one run in row groups.
func TestAttemptsComeRunByRun(t *testing.T) {
	const runs, most, each = 6, 100, 51
	var b bytes.Buffer
	f := newAttemptsFile(&b)
	f.most = most
	var playing sync.WaitGroup
	for run := range runs {
		playing.Go(func() {
			kept := f.of(run)
			o := simulation.Options{Workload: oneJob, Cluster: cluster.Default(1, map[string]int{"map": 1})}
			o.Cluster.Seed = uint64(run)
			kept.watch("fair", &o)
			for i := range each * (1 + run%2*2) {
				o.Attempts(&simulation.Attempt{ID: scheduler.AttemptID(i), For: -1})
			}
			if err := kept.write(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	playing.Wait()
	if err := f.rows.Close(); err != nil {
		t.Fatal(err)
	}
	rows, err := parquet.Read[attemptRow](bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(rows) != 12*each {
		t.Fatalf("got %d rows and the error %v", len(rows), err)
	}
	for i := range rows[1:] {
		if a, next := rows[i], rows[i+1]; next.Seed < a.Seed || next.Seed == a.Seed && next.Attempt != a.Attempt+1 {
			t.Fatalf("attempt %d of run %d comes after %d of run %d", next.Attempt, next.Seed, a.Attempt, a.Seed)
		}
	}
	file, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range file.RowGroups() {
		if g.NumRows() > most {
			t.Errorf("a row group has %d rows", g.NumRows())
		}
	}
}

// A run whose turn never comes does not wait for ever.
func TestAttemptsOfACancelledRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newAttemptsFile(&bytes.Buffer{}).of(1).write(ctx); err == nil {
		t.Error("it was written before another")
	}
}

// docs/SIMULATOR.md has all columns, in their order.
func TestColumnsOfAttemptsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/SIMULATOR.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "## Every attempt")
	part, _, _ = strings.Cut(part, "\n## ")
	var documented []string
	for _, line := range strings.Split(part, "\n") {
		if cells := strings.Split(line, "|"); len(cells) == 4 {
			for _, name := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(cells[1], -1) {
				documented = append(documented, name[1])
			}
		}
	}
	var columns []string
	for _, f := range parquet.SchemaOf(attemptRow{}).Fields() {
		columns = append(columns, f.Name())
	}
	if !slices.Equal(columns, documented) {
		t.Errorf("the columns are %v, and docs/SIMULATOR.md has %v", columns, documented)
	}
}
