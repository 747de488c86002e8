package rivals

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fake is a system that runs nothing.
type fake struct {
	name    string
	seconds float64
	output  string // that its word count and sort make
	fails   string // the measure that fails
	calls   map[string]int
}

func (f *fake) Name() string  { return f.name }
func (f *fake) Title() string { return f.name + " 1.0" }

func (f *fake) call(name string) error {
	f.calls[name]++
	if f.fails == name {
		return errors.New("broken")
	}
	return nil
}

func (f *fake) Noop(context.Context, int) (float64, error) { return f.seconds, f.call("noop") }

func (f *fake) Jobs(_ context.Context, jobs, _ int) ([]float64, error) {
	return slices.Repeat([]float64{f.seconds}, jobs), f.call("jobs")
}

func (f *fake) Programs(_ context.Context, programs, _ int) ([]float64, error) {
	return slices.Repeat([]float64{f.seconds}, programs), f.call("programs")
}

func (f *fake) WordCount(_ context.Context, _, out string) (Took, error) {
	return f.make("wordcount", out)
}

func (f *fake) Sort(_ context.Context, _, out string) (Took, error) { return f.make("sort", out) }

func (f *fake) make(name, out string) (Took, error) {
	return Took{f.seconds + 1, f.seconds}, errors.Join(f.call(name), os.WriteFile(out, []byte(f.output), 0o644))
}

func newFake(name string, seconds float64) *fake {
	return &fake{name: name, seconds: seconds, output: "right", calls: map[string]int{}}
}

func plan(t *testing.T) Plan {
	check := func(path string) error {
		if data, err := os.ReadFile(path); err != nil || string(data) != "right" {
			return fmt.Errorf("the outputs differ: %q, %w", data, err)
		}
		return nil
	}
	return Plan{Runs: 3, Tasks: 100, Jobs: 5, Programs: 2, JobTasks: 10, Folder: t.TempDir(), Counts: check, Sorted: check}
}

// A rival with wrong output, or that fails, gets no figure there, is not run again there, and the
// table says why. What it does well stays.
func TestCompare(t *testing.T) {
	ours, wrong, broken := newFake("ours", 2), newFake("wrong", 4), newFake("broken", 1)
	wrong.output, broken.fails = "left", "jobs"
	p := plan(t)
	contenders := []Contender{ours, wrong, broken}
	got, err := Compare(t.Context(), p, ours, contenders[1:])
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	Write(&out, contenders, got)
	table := out.String()
	for _, want := range []string{
		"no-op tasks                  tasks/s                    50            25 (2.00)           100 (0.50)\n",
		"small job, one program       ms                       2000          4000 (2.00)                 none\n",
		"small job, a program each    ms                       2000          4000 (2.00)          1000 (0.50)\n",
		"word count                   s                           3                 none             2 (0.67)\n",
		"  on a running cluster       s                           2                 none             1 (0.50)\n",
		"wrong 1.0 has no figure for \"word count\": the outputs differ",
		"broken 1.0 has no figure for \"small job, one program\": broken",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	if ours.calls["noop"] != 3 || broken.calls["jobs"] != 1 || wrong.calls["sort"] != 1 || broken.calls["sort"] != 3 {
		t.Errorf("calls: %v, %v, %v", ours.calls, wrong.calls, broken.calls)
	}
	if left, _ := os.ReadDir(p.Folder); len(left) > 0 {
		t.Errorf("outputs were left: %v", left)
	}
}

// Ours that fails, or is wrong, ends the comparison.
func TestCompareOursFails(t *testing.T) {
	for _, ours := range []*fake{{fails: "noop"}, {output: "left"}} {
		ours.calls = map[string]int{}
		if _, err := Compare(t.Context(), plan(t), ours, []Contender{newFake("other", 1)}); err == nil {
			t.Errorf("%+v: no error", ours)
		}
	}
}

// An interrupted comparison has no rows: what was interrupted has not failed.
func TestCompareIsInterrupted(t *testing.T) {
	other := newFake("other", 1)
	other.fails = "noop"
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Compare(ctx, plan(t), newFake("ours", 1), []Contender{other}); err == nil {
		t.Error("no error")
	}
}

// installed is a system whose program is a script of the shell.
func installed(t *testing.T, script string) (*Rival, error) {
	t.Helper()
	source := t.TempDir()
	if err := os.Mkdir(filepath.Join(source, "fake"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(source, "fake", "rival.py"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	r, err := prepare(t.Context(), source, "/bin/sh", System{"fake", "Fake"})
	if err == nil {
		t.Cleanup(func() { _ = r.Close() })
	}
	return r, err
}

const fakeProgram = `
case $1 in
version) echo '{"version": "7"}' ;;
noop) echo 'much talk'; echo '{"seconds": 0.5, "sum": 45}' ;;
jobs) echo '{"times": [0.1, 0.2], "sum": 45}' ;;
cluster) echo 'soon'; echo '{"address": "here"}'; read line; echo ended >"$RIVAL_FOLDER/ended" ;;
job) [ "$2" = here ] && echo '{"sum": 1}' ;;
wordcount) echo 'no such word' >&2; exit 3 ;;
sort) echo 'no result' ;;
esac
`

// What a system's program prints is read, and is checked.
func TestPrograms(t *testing.T) {
	r, err := installed(t, fakeProgram)
	if err != nil {
		t.Fatal(err)
	}
	if r.Title() != "Fake 7" {
		t.Errorf("it is called %q", r.Title())
	}
	ctx := t.Context()
	if s, err := r.Noop(ctx, 10); s != 0.5 || err != nil {
		t.Errorf("noop: %v, %v", s, err)
	}
	if _, err := r.Noop(ctx, 11); err == nil || !strings.Contains(err.Error(), "45, not to 55") {
		t.Errorf("a task that did not run: %v", err)
	}
	if s, err := r.Jobs(ctx, 2, 10); !slices.Equal(s, []float64{0.1, 0.2}) || err != nil {
		t.Errorf("jobs: %v, %v", s, err)
	}
	if _, err := r.Jobs(ctx, 3, 10); err == nil {
		t.Error("a job is missing, and nothing says so")
	}
	if s, err := r.Programs(ctx, 3, 2); len(s) != 3 || err != nil {
		t.Errorf("programs: %v, %v", s, err)
	}
	if _, err := os.Stat(filepath.Join(r.scratch, "ended")); err != nil {
		t.Errorf("the cluster has not ended: %v", err)
	}
	if _, err := r.WordCount(ctx, "in", "out"); err == nil || !strings.Contains(err.Error(), "no such word") {
		t.Errorf("a program that fails: %v", err)
	}
	if _, err := r.Sort(ctx, "in", "out"); err == nil || !strings.Contains(err.Error(), "no result") {
		t.Errorf("a program without a result: %v", err)
	}
}

// A system whose program does not start, or says no version, is not compared, and leaves nothing.
func TestPrepareFails(t *testing.T) {
	for script, want := range map[string]string{"echo no module >&2; exit 1": "no module", "echo '{}'": "version"} {
		if _, err := installed(t, script); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}
		if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// A cluster that ends early is an error that nobody waits for.
func TestClusterEndsEarly(t *testing.T) {
	r, err := installed(t, `[ "$1" = version ] && echo '{"version": "7"}'; exit 0`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Programs(t.Context(), 1, 1); err == nil || !strings.Contains(err.Error(), "before it was ready") {
		t.Error(err)
	}
}

// The blocks of a text have all its words, wherever they are cut.
func TestWordCountOfBlocks(t *testing.T) {
	for _, text := range []string{
		"a\n", "a", "\n\n", "one two\nthree\n", strings.Repeat("to be or not\n", 1000), strings.Repeat("x ", 3000), strings.Repeat("long ", 250_000) + "\nend",
	} {
		folder := t.TempDir()
		in := filepath.Join(folder, "in")
		if err := os.WriteFile(in, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "python3", "-c", `
import sys, work
maps = [work.count_words(b, 3) for b in work.word_blocks(sys.argv[1])]
for part in range(3):
    work.write_counts(sys.argv[2], part, [m[part] for m in maps])
`, in, folder)
		cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		files, _ := filepath.Glob(filepath.Join(folder, "part-r-*"))
		var got []string
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, slices.Collect(strings.Lines(string(data)))...)
		}
		counts := map[string]int{}
		for _, word := range strings.Fields(text) {
			counts[word]++
		}
		var want []string
		for word, n := range counts {
			want = append(want, fmt.Sprintf("%s\t%d\n", word, n))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || len(files) != 3 {
			t.Errorf("of %.20q: %q in %d files, want %q", text, got, len(files), want)
		}
	}
}
