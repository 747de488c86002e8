package experiment

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/plugins/drf"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority"
	"github.com/hamadryad/hamadryad/plugins/fair"
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/plugins/hfsp"
	"github.com/hamadryad/hamadryad/plugins/preemptivefair"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// folder is the folder of the published experiments.
const folder = "../experiments"

// inProcess starts policies in this process, where they decide as their own programs do (package simulation).
func inProcess(_ context.Context, program string) (policy.Host, error) {
	made, ok := map[string]func() scheduler.TaskScheduler{"fifo": fifo.New, "fair": fair.New, "preemptive-fair": preemptivefair.New, "hfsp": hfsp.New, "drf": drf.New, "dynamic-priority": dynamicpriority.New}[program]
	if !ok {
		return nil, fmt.Errorf("there is no policy %q", program)
	}
	return policy.InProcess(made()), nil
}

func read(t *testing.T, path string) *Experiment {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Parse(path, text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func play(t *testing.T, e *Experiment) *Outcome {
	t.Helper()
	o, err := e.Run(t.Context(), Options{Launch: inProcess})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// published lists the files.
func published(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(folder + "/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no experiments: %v", err)
	}
	return files
}

// shortened are the experiments that take minutes. Here they are played with the first jobs of their workloads, one value of
// each sweep and few seeds: their figures are computed, and what comes out says nothing of their claims.
var shortened = map[string]int{ // jobs
	"hfsp-errors": 10, "hfsp-fb2009": 8, "hfsp-fb2009-early": 8, "hfsp-fb2010": 2, "hfsp-fifo": 2, "hfsp-locality": 8, "hfsp-skew": 5, "six-policies": 1,
}

// Experiments that take seconds come out as their files say, to the last digit.
func TestPublishedFigures(t *testing.T) {
	for _, file := range published(t) {
		e := read(t, file)
		jobs := shortened[e.Name()]
		t.Run(e.Name(), func(t *testing.T) {
			t.Parallel()
			if jobs > 0 {
				shorten(e, jobs)
			}
			o := play(t, e)
			for _, r := range o.Rows {
				if jobs > 0 {
					finite(t, &r)
					continue
				}
				if r.Measured != r.Here {
					t.Errorf("%s: got %s, want %s", r.Claim, r.Measured, r.Here)
				}
			}
			if failed := o.Failed(); jobs == 0 && len(failed) > 0 {
				t.Errorf("these do not come out as the file says: %q", failed)
			}
		})
	}
}

func shorten(e *Experiment, jobs int) {
	for i := range e.Policies {
		p := &e.Policies[i]
		p.Workload.First = jobs
		if p.Workload.Generate != nil {
			p.Workload.First, p.Workload.Generate.Jobs = 0, jobs
		}
		if p.Sweep != nil {
			p.Sweep.Values = p.Sweep.Values[len(p.Sweep.Values)-1:]
		}
		if p.Seeds != nil {
			p.Seeds.Count = 2
		}
	}
	for i := range e.Figures {
		if e.Figures[i].Class != "" { // the first jobs are not of all classes
			e.Figures[i].Class = ""
		}
	}
	for i := range e.Claims {
		e.Claims[i].Holds, e.Claims[i].Expected = nil, nil
	}
}

func finite(t *testing.T, r *Row) {
	t.Helper()
	for _, f := range r.Figures {
		for _, n := range f.Numbers {
			if v := float64(n); math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s: %s", r.Claim, r.Measured)
			}
		}
	}
}

// small is an experiment in a few lines.
const small = `title: two jobs
workload:
  jobs:
  - {id: a, stages: [{name: map, tasks: 4, work: 10s}]}
  - {id: b, submit: 1s, stages: [{name: map, tasks: 1, work: 10s}]}
cluster: {launchers: [{count: 1, slots: {default: 2}}], model: {start: 0s, stop: 0s, latency: 0s}}
policies:
- {policy: fifo, sweep: {set: launchers, values: [1, 2]}, seeds: {count: 3, of: [cluster]}}
- {policy: fair}
figures:
- {name: fifo, of: time, policy: fifo}
- {name: fair, of: time, policy: fair, take: p50}
- {name: less, difference: [fifo, fair], unit: s}
claims:
- {claim: mean sojourn, published: about 20 s, figures: [fifo, less], holds: [{figure: fifo, below: [25, 15]}], verdict: holds}
`

func parsed(t *testing.T, text string) *Experiment {
	t.Helper()
	e, err := Parse("small.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Each kind of figure is what follows by hand, give or take some ticks: a's four tasks take both slots until 20 s, and
// b's only one begins then.
func TestFiguresByHand(t *testing.T) {
	head, _, _ := strings.Cut(strings.Replace(small, "tasks: 4, work: 10s", "tasks: 4, work: 10s, input: 1MiB, inputOn: [4]", 1), "policies:")
	for text, want := range map[string]float64{
		"of: time": 24.5, "of: time, take: min": 20, "of: time, take: max": 29, "of: time, take: median": 24.5, "of: time, take: p50": 20,
		"of: time, jobs: [b], to: map.began": 19, "of: time, from: beginning, jobs: [b]": 30, "of: time, unit: min, jobs: [b], from: map.began, to: map.ended": 10. / 60,
		"of: makespan": 30, "of: makespan, divide: 10": 3, "of: jobs": 2, "of: jobs, class: big": 1, "of: ended, by: 25s": 1, "of: attempts": 5, "of: attempts, jobs: [a]": 4,
		"of: preempted": 0, "of: suspended": 0, "of: suspended-jobs": 0, "of: wasted": 0, "of: local": 100, "of: local-attempts": 4,
		"of: held, jobs: [a, b], slots: [0, 1], for: 9s": 20, "of: held, jobs: [a], slots: [2], by: 5s": 5, "of: idle, jobs: [b]": 10,
	} {
		text := strings.Replace(head, "{id: b,", "{id: b, class: big,", 1) + "policies: [{policy: fifo}]\nfigures: [{name: it, policy: fifo, " + text + "}]\nclaims: [{claim: it, figures: [it]}]\n"
		got := float64(play(t, parsed(t, text)).Rows[0].Figures[0].Numbers[0])
		if math.Abs(got-want) > 0.7 {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

// A verdict that is not the one in the file, either way, and an expected figure that does not come out fail.
func TestVerdictsAreHeld(t *testing.T) {
	const claim = "holds: [{figure: fifo, below: [25, 15]}], verdict: holds"
	for _, c := range []struct{ with, problem string }{
		{claim, ""},
		{"holds: [{figure: fifo, below: 15}], verdict: holds", "it is said that it holds"},
		{"holds: [{figure: fifo, below: 15}], verdict: differs, why: of that", ""},
		{"holds: [{figure: fifo, below: 25}], verdict: differs, why: of that", "it is said that it differs"},
		{"holds: [{figure: fifo, falls: true}], expected: [{figure: fifo, near: [20, 10], within: 0.1}], verdict: holds", "something else is expected here"},
		{"holds: [{figure: fifo, near: [9, 10], within: 99, order: true}], verdict: holds", "it is said that it holds"},
	} {
		o := play(t, parsed(t, strings.Replace(small, claim, c.with, 1)))
		if got := o.Rows[0].Problem; got != c.problem {
			t.Errorf("%s: got %q, want %q (measured %s)", c.with, got, c.problem, o.Rows[0].Measured)
		}
		if got := len(o.Failed()) > 0; got != (c.problem != "") {
			t.Errorf("%s: it fails: %v", c.with, got)
		}
	}
}

// The result does not depend on how many runs are in progress at a time.
func TestRunsAreOneOutcome(t *testing.T) {
	var texts []string
	for _, processors := range []int{1, 4} {
		before := runtime.GOMAXPROCS(processors)
		o := play(t, parsed(t, small))
		runtime.GOMAXPROCS(before)
		var b bytes.Buffer
		if err := JSON(&b, []*Outcome{o}); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, b.String())
	}
	if texts[0] != texts[1] {
		t.Errorf("on one processor:\n%s\non four:\n%s", texts[0], texts[1])
	}
}

// If requested, the result has all runs, and a curve of the times over a sweep, with the level of
// policies without one.
func TestRunsAndCurvesAreKept(t *testing.T) {
	o, err := parsed(t, small).Run(t.Context(), Options{Launch: inProcess, Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Runs) != 7 || o.Runs[5].Policy != "fifo launchers 2" || o.Runs[5].Seed != 3 {
		t.Errorf("got %d runs, the sixth %s with seed %d, want 7, fifo launchers 2 with seed 3", len(o.Runs), o.Runs[5].Policy, o.Runs[5].Seed)
	}
	if len(o.Curves) != 1 || o.Curves[0].Name != "sweep of launchers" || strings.Count(string(o.Curves[0].SVG), ">fifo<")+strings.Count(string(o.Curves[0].SVG), ">fair<") != 2 {
		t.Errorf("got %d curves, want one of fifo and fair over launchers", len(o.Curves))
	}
}

// A mistake is reported with its line, its key, and the nearest valid one.
func TestMistakesNameTheLine(t *testing.T) {
	for _, c := range []struct{ old, with, want string }{
		{"title: two jobs", "titel: two jobs", `small.yaml:1: unknown setting "titel": correct its name or remove it; did you mean title?`},
		{"submit: 1s", "sumbit: 1s", `small.yaml:5: unknown setting "sumbit": correct its name or remove it; did you mean submit?`},
		{"slots: {default: 2}", "slot: {default: 2}", `small.yaml:6: unknown setting "slot": correct its name or remove it; did you mean slots?`},
		{"count: 1,", "count: 0,", "small.yaml:6: cluster.launchers[1].count: there are 0 of them"},
		{"set: launchers", "set: launcher", `small.yaml:8: policies[1].sweep.set: "launcher" is unknown: use one of launchers, slowStart, settings.NAME; did you mean launchers?`},
		{"values: [1, 2]", "values: [1.5]", "small.yaml:8: policies[1].sweep.values: there are no 1.5 launchers"},
		{"of: [cluster]", "of: [clutser]", "small.yaml:8: policies[1].seeds.of[1]: \"clutser\" is unknown"},
		{"{policy: fair}", "{policy: fifo}", `small.yaml:9: policies[2].name: two policies are called "fifo"`},
		{"of: time, policy: fifo", "of: tiem, policy: fifo", `small.yaml:11: figures[1].of: "tiem" is unknown`},
		{"policy: fair, take: p50", "policy: fare, take: p50", "figures[2].policy: \"fare\" is unknown: use one of fifo, fair; did you mean fair?"},
		{"take: p50", "take: p500", `small.yaml:12: figures[2].take: "p500" is unknown`},
		{"[fifo, fair], unit", "[fifo, later], unit", `small.yaml:13: figures[3].difference: no figure before this one is called "later"`},
		{"figures: [fifo, less]", "figures: [lass]", `small.yaml:15: claims[1].figures[1]: "lass" is unknown: use one of fifo, fair, less; did you mean less?`},
		{"below: [25, 15]", "below: many", "small.yaml:15: it is neither a number nor a list of numbers"},
		{"verdict: holds", "verdict: differs", "small.yaml:15: claims[1].why: a claim that differs needs a reason"},
		{"below: [25, 15]", "below: 9, order: true", "small.yaml:15: claims[1].holds[1].order: it is the order of near"},
		{"tasks: 4", "tasks: 999999999999", "small.yaml:4: workload.jobs[1].stages[1].tasks: it is 999999999999"},
		{"[fifo, fair], unit: s", "[fifo, fair]}\n- {name: n, of: jobs, policy: fair, unit: min", "small.yaml:14: figures[4].unit: it is no time"},
		{"workload:\n", "workload:\n  mapping: azure-vm\n", "small.yaml:3: workload.mapping: it is for the columns of a file: give a file, or remove it"},
		{"workload:\n", "workload:\n  file: day.tsv\n", "small.yaml:3: workload: it has one of file, log, generate and jobs"},
	} {
		if !strings.Contains(small, c.old) {
			t.Fatalf("there is no %q", c.old)
		}
		_, err := Parse("small.yaml", []byte(strings.Replace(small, c.old, c.with, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.with, err, c.want)
		}
	}
}

// A mistake that only a run can find is reported with its policy or figure, and there is no result.
func TestRunsThatFail(t *testing.T) {
	for _, c := range []struct{ old, with, want string }{
		{"{policy: fair}", "{name: fair, policy: nobody}", `fair, seed 1: there is no policy "nobody"`},
		{"{policy: fair}", "{policy: fair, settings: {nonsense: 1}}", "small.yaml:9: unknown setting"},
		{"of: time, policy: fifo}", "of: time, policy: fifo, class: big}", `figure fifo: the workload has no such jobs: class "big"`},
		{"below: [25, 15]", "below: [1, 2, 3]", `claim "mean sojourn": fifo: it has 2 values, and is compared with 3 numbers`},
		{"take: p50", "from: redcue.began", "figure fair: no job has stages by which redcue.began and ended are known"},
		{"tasks: 4,", "tasks: 4, inputOn: [1, 3],", "fifo: job a, stage map: inputOn: input lies on 2 launchers, and there are 1"},
		{"tasks: 1,", "kind: gpu,", "job b failed: stage"},
	} {
		o, err := parsed(t, strings.Replace(small, c.old, c.with, 1)).Run(t.Context(), Options{Launch: inProcess})
		if o != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v and the error %v, want %s", c.with, o != nil, err, c.want)
		}
	}
}

// docs/EXPERIMENTS.md has a row for each published claim: its published value, result and verdict
// are those of the file.
func TestVerdicts(t *testing.T) {
	text, err := os.ReadFile("../../docs/EXPERIMENTS.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for _, file := range published(t) {
		for _, c := range read(t, file).Claims {
			if c.Published == "" {
				continue
			}
			want := c.Verdict
			if c.Why != "" {
				want += ": " + c.Why
			}
			if row := fmt.Sprintf("| %s | %s | %s | %s |", c.Claim, c.Published, c.Here, want); !slices.Contains(lines, row) {
				t.Errorf("docs/EXPERIMENTS.md has no row %s", row)
			}
		}
	}
}

// docs/EXPERIMENTS.md has the rows of six policies as its file has them.
func TestSixPolicies(t *testing.T) {
	text, err := os.ReadFile("../../docs/EXPERIMENTS.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for _, c := range read(t, folder+"/six-policies.yaml").Claims {
		var numbers []string
		for part := range strings.SplitSeq(c.Here, "; ") {
			number, _, _ := strings.Cut(part, " ")
			numbers = append(numbers, number)
		}
		if len(numbers) == 4 { // without a locality
			numbers = slices.Insert(numbers, 2, "–")
		}
		if row := fmt.Sprintf("| %s | %s |", c.Claim, strings.Join(numbers, " | ")); len(numbers) != 5 || !slices.Contains(lines, row) {
			t.Errorf("docs/EXPERIMENTS.md has no row %s", row)
		}
	}
}

// A table is read by its mapping, which is given or a file, and a file that several policies name is
// read once.
func TestAWorkloadIsATable(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"day.csv":      "M1,2,j1,1,Terminated,5,15,100,1\nR2_1,1,j1,1,Terminated,15,20,100,1\n",
		"columns.yaml": "columns: [{column: 1, field: stage}, {column: 2, field: tasks}, {column: 3, field: job}, {column: 6, field: start}, {column: 7, field: end}]\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for mapping, want := range map[string]float64{"alibaba2018-task": 15, "columns.yaml": 10} { // its own columns tell no graph
		text := "title: a table\ncluster: {launchers: [{count: 1, slots: {default: 3}}]}\npolicies: [{policy: fifo, workload: {file: day.csv, mapping: " + mapping + "}}]\n" +
			"figures: [{name: mean, of: time, policy: fifo}]\nclaims: [{claim: mean, figures: [mean]}]\n"
		e, err := Parse(filepath.Join(folder, "e.yaml"), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(play(t, e).Rows[0].Figures[0].Numbers[0]); got < want || got > want+5 {
			t.Errorf("with %s the job takes %v s, want a little more than %v", mapping, got, want)
		}
	}
	e := read(t, "../experiments/six-policies.yaml")
	runs, err := e.plan(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if runs[0].workload != runs[5].workload || runs[0].workload == runs[6].workload {
		t.Error("the first six policies have not one workload, or share it with others")
	}
}
