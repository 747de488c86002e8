package simulation

import (
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// outside builds examples of policies with parts of their own in a module that is not this
// project's, which requires it as any other would. It returns the folder of the programs.
func outside(t *testing.T, examples ...string) string {
	t.Helper()
	gomod, err := exec.CommandContext(t.Context(), "go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	project, folder := filepath.Dir(strings.TrimSpace(string(gomod))), t.TempDir()
	read := func(path string) string {
		text, err := os.ReadFile(filepath.Join(project, path))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	write := func(path, text string) {
		path = filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const self = "github.com/hamadryad/hamadryad"
	// The project requires only downloaded modules, so nothing is fetched.
	write("go.mod", strings.Replace(read("go.mod"), "module "+self+"\n", "module example.org/parts\n", 1)+
		"\nrequire "+self+" v0.0.0\n\nreplace "+self+" => "+project+"\n")
	write("go.sum", read("go.sum"))
	for _, name := range examples {
		write(name+"/main.go", read("examples/"+name+"/main.go"))
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-o", folder+"/bin/", "./...")
	build.Dir = folder
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building a module from outside: %v\n%s", err, out)
	}
	return folder + "/bin"
}

// A program from outside the module plugs in a task selector, a load manager, a weight adjuster, an
// order of pools and jobs, and an estimator, and each of them decides.
func TestPartsFromOutside(t *testing.T) {
	bin := outside(t, "hamadryad-policy-fair-parts", "hamadryad-policy-hfsp-parts")
	named := func(id, name string, at, work time.Duration, n int) workload.Job {
		j := job(id, at, tasks(times(n, work)...), nil)
		j.Name, j.Pool = name, "all"
		return j
	}
	one, s := time.Second, time.Second
	uneven := job("uneven", 0, tasks(1*s, 1*s, 2*s), nil)
	for i := range uneven.Stages[0].Tasks {
		uneven.Stages[0].Tasks[i].Input = int64(uneven.Stages[0].Tasks[i].Work)
	}
	recur := []workload.Job{
		named("a", "long", 0, 60*s, 2), named("b", "short", 0, 6*s, 2),
		named("c", "long", 600*s, 60*s, 2), named("d", "short", 600*s, 6*s, 2),
	}
	for _, c := range []struct {
		part, program, before, after string // settings without the part, and with it
		slots                        int
		jobs                         []workload.Job
		want                         func(r *Result) time.Duration // is less with the part
	}{
		{"selector", "fair", "", "locality: {selector: largest}", 2, []workload.Job{uneven}, last},
		{"adjuster", "fair", "", "weights: {adjuster: interactive}", 4, []workload.Job{named("a", "batch", 0, one, 40), named("b", "interactive", 0, one, 40)}, func(r *Result) time.Duration { return r.Jobs[1].Ended }},
		{"order", "fair", "", "allocations: {order: newest}", 1, []workload.Job{named("a", "a", 0, one, 9), named("b", "b", s, one, 9), named("c", "c", 2*s, one, 9)}, func(r *Result) time.Duration { return r.Jobs[2].Ended }},
		// It makes all later, as half of the slots are left to others.
		{"load", "fair", "load: {manager: half}", "", 4, []workload.Job{named("a", "a", 0, one, 8)}, last},
		{"estimator", "hfsp", "training-part: 0", "training-part: 0\nestimator: recurring", 2, recur, func(r *Result) time.Duration { return r.Jobs[3].Ended }},
	} {
		ended := func(settings string) time.Duration {
			host, err := policy.Launch(t.Context(), policy.Options{Path: filepath.Join(bin, "hamadryad-policy-"+c.program+"-parts"), Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
			if err != nil {
				t.Fatal(err)
			}
			on := cluster.Default(1, map[string]int{"map": c.slots})
			on.Replicas = 0
			r, err := Play(t.Context(), Options{Workload: &workload.Workload{Jobs: c.jobs}, Cluster: on, Host: host, Config: scheduler.Config{File: "settings", Line: 1, Text: []byte(settings)}})
			if err != nil {
				t.Fatalf("%s: %v", c.part, err)
			}
			return c.want(r)
		}
		if before, after := ended(c.before), ended(c.after); after >= before-s/2 {
			t.Errorf("the %s decides nothing: it is %v, and %v with the other settings", c.part, before, after)
		}
	}
	// Its settings' errors and its help list what it registered.
	out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "hamadryad-policy-fair-parts"), "--help").CombinedOutput()
	for _, want := range []string{"allocations.order  deficit, disco-fair, fair, fifo, newest", "load.manager       half, level-slots", "locality.selector  default, largest", "weights.adjuster   interactive, new-job-boost, none"} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("help (%v) has no %q:\n%s", err, want, out)
		}
	}
}

func last(r *Result) time.Duration { return r.Ended }

func times(n int, d time.Duration) (all []time.Duration) {
	for range n {
		all = append(all, d)
	}
	return all
}
