package experiment

import (
	"bytes"
	"context"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/laboratory/replay"
)

// regression is a test of a policy: what is expected of its figures, and its recorded decisions.
const regression = `title: a busy hour
workload:
  jobs:
  - {id: a, pool: red, stages: [{name: map, tasks: 4, work: 10s}]}
  - {id: b, pool: blue, submit: 1s, stages: [{name: map, tasks: 1, work: 10s}]}
cluster: {launchers: [{count: 1, slots: {default: 2}}], model: {start: 0s, stop: 0s, latency: 0s}}
policies: [{name: mine, policy: fifo}]
figures:
- {name: blue, of: time, pool: blue, policy: mine}
- {name: starved, of: starved, policy: mine}
- {name: wait, of: time, pool: blue, to: began, policy: mine}
claims:
- {claim: blue waits for red, figures: [blue, starved, wait], expected: [{figure: blue, near: 29, within: 1}, {figure: starved, near: 19, within: 1}, {figure: wait, near: 19, within: 1}]}
decisions: [{log: yesterday, run: mine}]
`

// written writes an experiment into a new folder.
func written(t *testing.T, text string) *Experiment {
	t.Helper()
	path := filepath.Join(t.TempDir(), "busy.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return read(t, path)
}

// recorded is the regression with its decisions recorded.
func recorded(t *testing.T) *Experiment {
	t.Helper()
	e := written(t, regression)
	folders, err := e.Record(t.Context(), Options{Launch: inProcess})
	if err != nil || len(folders) != 1 {
		t.Fatalf("recorded %q: %v", folders, err)
	}
	return e
}

// beside reads another experiment from the folder of one.
func beside(t *testing.T, e *Experiment, text string) *Experiment {
	t.Helper()
	other, err := Parse(filepath.Join(filepath.Dir(e.file), "other.yaml"), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return other
}

func TestDecisionsEqualTheRecordedOnes(t *testing.T) {
	e := recorded(t)
	for range 2 { // recorded again, nothing changes
		o := play(t, e)
		if len(o.Failed()) > 0 || len(o.Rows) != 2 || !strings.HasSuffix(o.Rows[1].Measured, " rounds, 0 differ") {
			t.Errorf("got %+v", o.Rows)
		}
		if _, err := e.Record(t.Context(), Options{Launch: inProcess}); err != nil {
			t.Fatal(err)
		}
	}
	left, err := os.ReadDir(filepath.Dir(e.file))
	if err != nil || len(left) != 2 {
		t.Errorf("beside the experiment and its recording there is more: %v, %v", left, err)
	}
}

// The first divergence names the round, its events, and the decision on both sides.
func TestTheFirstDivergenceIsTold(t *testing.T) {
	e := beside(t, recorded(t), strings.Replace(regression, "policy: fifo", "policy: hfsp", 1))
	problem := play(t, e).Rows[1].Problem
	for _, want := range []string{"first in round ", "(fifo, generation ", "Events: ", "Decisions: ", "recorded ", "answered "} {
		if !strings.Contains(problem, want) {
			t.Errorf("there is no %q in %s", want, problem)
		}
	}
	if strings.Contains(problem, "\n") {
		t.Errorf("it has several lines: %s", problem)
	}
}

// A recorded day is played with its own launchers, and its jobs take about as long as recorded.
func TestARecordedDayIsPlayed(t *testing.T) {
	day := strings.NewReplacer("cluster: {launchers: [{count: 1, slots: {default: 2}}], model: {start: 0s, stop: 0s, latency: 0s}}\n", "",
		"decisions: [{log: yesterday, run: mine}]", "decisions: [{log: yesterday}, {log: yesterday, policy: fifo}]").Replace(regression)
	head, rest, _ := strings.Cut(day, "workload:")
	_, rest, _ = strings.Cut(rest, "policies:")
	e := beside(t, recorded(t), head+"workload: {log: yesterday}\npolicies:"+rest)
	o := play(t, e)
	if len(o.Failed()) > 0 || len(o.Rows) != 3 {
		t.Errorf("got %+v", o.Rows)
	}
}

// A folder with anything else in it is not replaced by a recording, and a run that fails leaves the
// earlier one.
func TestARecordingReplacesNothingElse(t *testing.T) {
	e := written(t, regression)
	folder := filepath.Join(filepath.Dir(e.file), "yesterday")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Record(t.Context(), Options{Launch: inProcess}); err == nil || !strings.Contains(err.Error(), "it holds files and no event log") {
		t.Errorf("got %v", err)
	}
	e = recorded(t)
	if _, err := beside(t, e, strings.Replace(regression, "policy: fifo", "policy: nobody", 1)).Record(t.Context(), Options{Launch: inProcess}); err == nil {
		t.Error("a policy that is missing was recorded")
	}
	if o := play(t, e); len(o.Failed()) > 0 {
		t.Errorf("got %+v", o.Rows)
	}
}

func TestMistakesInTestsOfPolicies(t *testing.T) {
	for _, c := range []struct{ old, with, want string }{
		{"run: mine", "run: mime", `small.yaml:14: decisions[1].run: "mime" is unknown: use one of mine; did you mean mine?`},
		{"run: mine", "run: mine, policy: fifo", "small.yaml:14: decisions[1]: program and settings are those of the run"},
		{"{log: yesterday, run: mine}", "{run: mine}", "small.yaml:14: decisions[1].log: it is not said"},
		{"run: mine}", "run: mine}, {log: ./yesterday, run: mine}", "small.yaml:14: decisions[2].log: another run is recorded there"},
		{"workload:\n", "workload:\n  log: day\n", "small.yaml:3: workload: it has one of file, log, generate and jobs"},
		{"of: starved", "of: straved", "figures[2].of: \"straved\" is unknown"},
	} {
		_, err := Parse("small.yaml", []byte(strings.Replace(regression, c.old, c.with, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.with, err, c.want)
		}
	}
	day := "title: day\ncluster: {launchers: [{count: 1, slots: {default: 2}}]}\nworkload: {log: day}\npolicies: [{policy: fifo, sweep: {set: launchers, values: [1]}}]\nfigures: [{name: a, of: jobs, policy: fifo}]\nclaims: [{claim: a, figures: [a]}]\n"
	for _, want := range []string{"small.yaml:2: cluster: the launchers are those of the log", "small.yaml:4: policies[1].sweep.set: the launchers are those of the log"} {
		if _, err := Parse("small.yaml", []byte(day)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Results are XML: a suite for each test, with its failures and errors.
func TestJUnit(t *testing.T) {
	e := recorded(t)
	other := beside(t, e, strings.Replace(regression, "policy: fifo", "policy: hfsp", 1))
	tests := []Test{{Name: "busy", Outcome: play(t, e), Took: 1500 * time.Millisecond}, {Name: "other", Outcome: play(t, other)}, {Name: "broken", Err: os.ErrNotExist}}
	var b bytes.Buffer
	if err := JUnit(&b, tests); err != nil {
		t.Fatal(err)
	}
	var read junitSuites
	if err := xml.Unmarshal(b.Bytes(), &read); err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	if len(read.Suites) != 3 || read.Suites[0].Tests != 2 || read.Suites[0].Failures != 0 || read.Suites[0].Time != "1.500" || read.Suites[1].Failures == 0 || read.Suites[2].Errors != 1 {
		t.Errorf("got\n%s", b.String())
	}
	if f := read.Suites[1].Cases[1].Failure; f == nil || !strings.Contains(f.Message, "first in round") {
		t.Errorf("the divergence is not in\n%s", b.String())
	}
	if !tests[0].Passed() || tests[1].Passed() || tests[2].Passed() {
		t.Error("of three tests the first passes")
	}
}

// counting launches policies in this process, and counts them.
func counting(launched *atomic.Int32) Options {
	return Options{Launch: func(ctx context.Context, program string) (policy.Host, error) {
		launched.Add(1)
		return inProcess(ctx, program)
	}}
}

// A run that decides as recorded is compared while it is played, so its policy is not asked a second
// time. The row is that of asking it.
func TestARunThatIsAsRecordedIsPlayedOnce(t *testing.T) {
	e := recorded(t)
	asked := beside(t, e, strings.Replace(regression, "run: mine", "policy: fifo", 1))
	want := play(t, asked).Rows[1]
	for name, text := range map[string]string{
		"the same":                          regression,
		"settings in another place of file": strings.Replace(regression, "title:", "# moved\ntitle:", 1),
	} {
		var launched atomic.Int32
		o, err := beside(t, e, text).Run(t.Context(), counting(&launched))
		if err != nil {
			t.Fatal(err)
		}
		if got := o.Rows[1]; got.Measured != want.Measured || got.Problem != want.Problem || launched.Load() != 1 {
			t.Errorf("%s: %+v with %d policies launched, want %+v with 1", name, got, launched.Load(), want)
		}
	}
	// Another workload has other batches. Its policy is asked, and the log's rounds are still the same.
	var launched atomic.Int32
	o, err := beside(t, e, strings.Replace(regression, "submit: 1s", "submit: 2s", 1)).Run(t.Context(), counting(&launched))
	if err != nil {
		t.Fatal(err)
	}
	if got := o.Rows[1]; got.Measured != want.Measured || got.Problem != "" || launched.Load() != 2 {
		t.Errorf("another workload: %+v with %d policies launched, want %+v with 2", got, launched.Load(), want)
	}
}

// Decisions that name a run are asked with the settings of its first run, which is the recorded one.
func TestDecisionsOfASweepHaveItsSettings(t *testing.T) {
	text := strings.Replace(regression, "{name: mine, policy: fifo}", "{name: mine, policy: hfsp, sweep: {set: settings.samples, values: [3, 5]}}", 1)
	text, _, _ = strings.Cut(text, "figures:")
	e := written(t, text+"decisions: [{log: yesterday, run: mine}]\n")
	runs, err := e.plan(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	host, config, err := e.asked(t.Context(), Options{Launch: inProcess}, &e.Decisions[0], e.firstOf(runs, "mine"), replay.Started{Policy: "hfsp"})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	if string(config.Text) != "samples: 3\n" {
		t.Errorf("its settings are %q", config.Text)
	}
}

// A workload may have an absolute path.
func TestAbsolutePaths(t *testing.T) {
	e := recorded(t)
	log := filepath.Join(filepath.Dir(e.file), "yesterday")
	other := written(t, strings.NewReplacer("log: yesterday, run: mine", "log: "+log).Replace(regression))
	if row := play(t, other).Rows[1]; row.Problem != "" || !strings.HasSuffix(row.Measured, " rounds, 0 differ") {
		t.Errorf("got %+v", row)
	}
}
