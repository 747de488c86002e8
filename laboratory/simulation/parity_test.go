package simulation

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/laboratory/workload/synthetic"
	"github.com/hamadryad/hamadryad/plugins/drf"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority"
	"github.com/hamadryad/hamadryad/plugins/fair"
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/plugins/hfsp"
	"github.com/hamadryad/hamadryad/plugins/preemptivefair"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// history writes down which attempt held slots where and when.
type history struct{ strings.Builder }

func (h *history) Came(at time.Duration, job int) { fmt.Fprintln(h, at, "job", job, "comes") }
func (h *history) Holds(at time.Duration, job int, a *simcluster.Attempt, holds bool) {
	n := a.Start.Nodes[0]
	fmt.Fprintln(h, at, "job", job, "stage", n.Stage, "task", n.Index, "attempt", a.Start.Attempt, "on", a.On.Name, holds)
}
func (h *history) Ended(at time.Duration, job int) { fmt.Fprintln(h, at, "job", job, "ends") }

// contested is a small workload of several users, on a cluster that is too small for it and where launchers fail.
func contested(t *testing.T, seed uint64) (*workload.Workload, *cluster.Cluster) {
	t.Helper()
	spec := synthetic.Default()
	spec.Jobs, spec.Seed, spec.Arrivals.Kind = 25, seed, "bursty"
	spec.Users.Count, spec.Pools.Count = 3, 2
	for i := range spec.Classes {
		c := &spec.Classes[i]
		c.Maps.Max, c.Maps.Min = 5+25*float64(i), min(c.Maps.Min, 5)
		c.Reduces.Max, c.Reduces.Min = 4*float64(i), min(c.Reduces.Min, 1)
	}
	w, err := spec.Generate()
	if err != nil {
		t.Fatal(err)
	}
	on := cluster.Default(5, map[string]int{"map": 4, "reduce": 2})
	on.Seed, on.Model.Heartbeat, on.Model.SlowStart = seed, 3*time.Second, 0.05
	on.Groups[0].Racks = 2
	on.Groups[0].FailEvery, on.Groups[0].BackAfter = 30*time.Minute, 3*time.Minute
	on.Model.Speculation = seed%2 == 0
	on.Model.Stragglers = cluster.Stragglers{Share: 0.05, Factor: 5}
	return w, on
}

// A policy decides the same in this process as its own program does: what comes out, which attempts held slots where and when,
// and what the core counted are the same to the last byte.
func TestInProcessAndAsAProgramAreOneHistory(t *testing.T) {
	bin := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin+"/", "../../plugins/...").CombinedOutput(); err != nil {
		t.Fatalf("building the policies: %v\n%s", err, out)
	}
	for name, p := range map[string]struct {
		make     func() scheduler.TaskScheduler
		settings string
	}{
		"fifo":             {fifo.New, ""},
		"fair":             {fair.New, "allocations: {fair-share-timeout: 5s}\npreemption: {mode: kill, fair-share-threshold: 1}\nplacement: {undeclared: create}\n"},
		"preemptive-fair":  {preemptivefair.New, "attempt-loses: random\n"},
		"hfsp":             {hfsp.New, "estimate-error: 0.5\n"},
		"dynamic-priority": {dynamicpriority.New, "kill-interval: 20s\n"},
		"drf":              {drf.New, "pools: {pool-1: {weight: 3}}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gaveWay := 0
			for seed := range uint64(2) {
				w, on := contested(t, seed)
				program, err := policy.Launch(t.Context(), policy.Options{Path: filepath.Join(bin, "hamadryad-policy-"+name), Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
				if err != nil {
					t.Fatal(err)
				}
				var inside, outside history
				r := playUnder(t, policy.InProcess(p.make()), p.settings, w, on, &inside)
				other := playUnder(t, program, p.settings, w, on, &outside)
				if inside.Len() == 0 || inside.String() != outside.String() {
					t.Errorf("seed %d: %s", seed, apart(inside.String(), outside.String()))
				}
				if a, b := encoded(t, r), encoded(t, other); a != b {
					t.Errorf("seed %d: in this process it comes to\n%s\nand as a program to\n%s", seed, a, b)
				}
				for _, j := range r.Jobs {
					for _, s := range j.Stages {
						gaveWay += s.Preempted + s.Suspended
					}
				}
			}
			if gaveWay == 0 && name != "fifo" && name != "drf" {
				t.Error("no attempt gave way to others: the workloads are too easy")
			}
		})
	}
}

func playUnder(t *testing.T, host policy.Host, settings string, w *workload.Workload, on *cluster.Cluster, watch Watcher) *Result {
	t.Helper()
	config := scheduler.Config{File: "settings", Line: 1, Text: []byte(settings)}
	r, err := Play(t.Context(), Options{Workload: w, Cluster: on, Host: host, Config: config, Watch: watch})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func encoded(t *testing.T, r *Result) string {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// apart shows where two histories begin to differ.
func apart(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return fmt.Sprintf("line %d is %q in this process and %q as a program", i+1, as[i], bs[i])
		}
	}
	return fmt.Sprintf("%d lines in this process and %d as a program", len(as), len(bs))
}
