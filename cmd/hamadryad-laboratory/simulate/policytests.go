package simulate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/hamadryad/hamadryad/cmd/hamadryad/show"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/internal/atomicfile"
	"github.com/hamadryad/hamadryad/laboratory/experiment"
	"github.com/hamadryad/hamadryad/plugins/fifo"
)

// policyTests is the command line of `hamadryad policy test`.
type policyTests struct {
	command
	programs []string
	junit    string
	record   bool
	timeout  time.Duration
}

// PolicyTestCommand returns the command that plays a folder of tests of policies. It prints results
// to out, and progress to errs.
func PolicyTestCommand(out, errs io.Writer) *cobra.Command {
	t := &policyTests{command: command{printed: out, errors: errs}}
	cmd := &cobra.Command{
		Use: "test DIR|FILE...", Short: "Test policies against recorded days and workloads", Args: cobra.MinimumNArgs(1),
		Long: `Plays the tests in files of YAML, those of a folder in order of their names. A
test is an experiment, as "hamadryad simulate --expect" plays it. It has a
workload or the event log of a recorded day, policies, figures, and claims with
what is expected. "decisions" names an event log in whose rounds a policy must
decide as recorded. The first difference is told by round, event and decision.

--policy NAME=PATH tests the program at PATH in the place of policy NAME.
--record writes the logs of "decisions" that name a run, and tests nothing:
the decisions of today are then what later tests compare with.

The exit code is 0 when all tests pass, 1 when one fails, and 2 when a file or
a flag is wrong. Nothing is played then. It is 6 when a test could not be
played. docs/SIMULATOR.md has an example.`,
		Example: `  hamadryad policy test tests
  hamadryad policy test --policy mine=./hamadryad-policy-mine --junit report.xml tests
  hamadryad policy test --record tests/busy-hour.yaml`,
		RunE: t.run,
	}
	f := cmd.Flags()
	f.StringArrayVar(&t.programs, "policy", nil, "`NAME=PATH` of the program that is tested as policy NAME; may be repeated")
	f.StringVar(&t.junit, "junit", "", "`FILE` for the results as JUnit XML")
	f.BoolVar(&t.record, "record", false, "write the logs of decisions that name a run, and test nothing")
	f.DurationVar(&t.timeout, "timeout", 10*time.Minute, "bound of each test")
	f.StringVarP(&t.format, "output", "o", show.Table, show.FormatUsage(show.ThingFormats))
	return cmd
}

func (t *policyTests) run(cmd *cobra.Command, args []string) error {
	if err := show.CheckFormat(t.format, show.ThingFormats); err != nil {
		return err
	}
	if t.timeout <= 0 {
		return client.Misuse("--timeout %v: use a time such as 10m", t.timeout)
	}
	list, err := readTests(args)
	if err != nil {
		return err
	}
	options, err := t.options(list)
	if err != nil {
		return err
	}
	debug.SetGCPercent(gcPercent)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processorsFor(list)))
	if t.record {
		return t.recordAll(cmd.Context(), list, options)
	}
	return t.report(t.playTests(cmd.Context(), list, options))
}

// readTests reads all tests before any is played. The error lists all mistakes.
func readTests(args []string) ([]*experiment.Experiment, error) {
	var files []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, client.Misuse("%w", err)
		}
		if !info.IsDir() {
			files = append(files, arg)
			continue
		}
		found, err := os.ReadDir(arg)
		if err != nil {
			return nil, err
		}
		before := len(files)
		for _, f := range found {
			if ext := filepath.Ext(f.Name()); !f.IsDir() && (ext == ".yaml" || ext == ".yml") {
				files = append(files, filepath.Join(arg, f.Name()))
			}
		}
		if len(files) == before {
			return nil, client.Misuse("%s: there is no test in it: a test is a file that ends in .yaml", arg)
		}
	}
	list, err := readExperiments(files)
	if err != nil {
		return nil, client.Misuse("%w", err)
	}
	return list, nil
}

// options returns the options for all tests. A program that no test uses is a mistake.
func (t *policyTests) options(list []*experiment.Experiment) (experiment.Options, error) {
	used := map[string]bool{}
	named := true // no test asks the policy of the name in a log
	for _, e := range list {
		for _, name := range e.Programs() {
			used[name] = true
			named = named && name != ""
		}
	}
	paths := map[string]string{}
	for _, text := range t.programs {
		name, path, ok := strings.Cut(text, "=")
		if _, twice := paths[name]; !ok || name == "" || path == "" || twice {
			return experiment.Options{}, client.Misuse("--policy %q: write NAME=PATH, each name once", text)
		}
		if _, err := os.Stat(path); err != nil {
			return experiment.Options{}, client.Misuse("--policy: %w", err)
		}
		if named && !used[name] {
			return experiment.Options{}, client.Misuse("--policy %s: no test uses policy %s: they use %s", text, name, strings.Join(slices.Sorted(maps.Keys(used)), ", "))
		}
		paths[name] = path
	}
	return experiment.Options{
		Fallback: func() policy.Host { return policy.InProcess(fifo.New()) },
		Launch: func(ctx context.Context, name string) (policy.Host, error) {
			if path := paths[strings.TrimPrefix(name, config.PolicyPrefix)]; path != "" {
				return t.launch(ctx, path)
			}
			return t.launchNamed(ctx, name)
		},
	}, nil
}

// processorsFor is the number of processors that tests need. A run keeps one busy, and waits while
// the policy decides; a further one would only look for work meanwhile.
func processorsFor(list []*experiment.Experiment) int {
	runs := 0
	for _, e := range list {
		runs += max(e.Runs(), 1) // a test of recorded decisions alone has no run
	}
	return min(runs, runtime.GOMAXPROCS(0))
}

// playTests plays tests, as many at a time as there are processors.
func (t *policyTests) playTests(ctx context.Context, list []*experiment.Experiment, o experiment.Options) []experiment.Test {
	tests := make([]experiment.Test, len(list))
	steps := progress.NewSteps(t.errors, "tests")
	defer steps.Close()
	ended := make(chan string, len(list))
	var playing errgroup.Group
	playing.SetLimit(runtime.GOMAXPROCS(0))
	go func() {
		for i, e := range list {
			playing.Go(func() error {
				tests[i] = t.play(ctx, e, o)
				ended <- e.Name()
				return nil
			})
		}
	}()
	for i := range list {
		steps.Step(<-ended, i+1, len(list))
	}
	return tests
}

func (t *policyTests) play(ctx context.Context, e *experiment.Experiment, o experiment.Options) experiment.Test {
	ctx, cancel := context.WithTimeoutCause(ctx, t.timeout, fmt.Errorf("it takes more than %v: --timeout sets the bound", t.timeout))
	defer cancel()
	began := time.Now()
	outcome, err := e.Run(ctx, o)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return experiment.Test{Name: e.Name(), Outcome: outcome, Err: err, Took: time.Since(began)}
}

// report prints and writes the results. The error names the tests that did not pass.
func (t *policyTests) report(tests []experiment.Test) error {
	var failed, broken []string
	outcomes := []*experiment.Outcome{}
	for i := range tests {
		test := &tests[i]
		if test.Err != nil {
			broken = append(broken, fmt.Sprintf("%s: %v", test.Name, test.Err))
			continue
		}
		outcomes = append(outcomes, test.Outcome)
		for _, claim := range test.Outcome.Failed() {
			failed = append(failed, test.Name+": "+claim)
		}
	}
	text := func(w io.Writer) error {
		for _, o := range outcomes {
			if err := o.Text(w); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintf(w, "%d tests: %d pass\n", len(tests), passed(tests))
		return err
	}
	if err := show.Write(t.printed, t.format, text, func(w io.Writer) error { return experiment.JSON(w, outcomes) }); err != nil {
		return err
	}
	if err := t.writeJUnit(tests); err != nil {
		return err
	}
	if len(broken) > 0 {
		return fmt.Errorf("these could not be played:\n%s", strings.Join(append(broken, failed...), "\n"))
	}
	if len(failed) > 0 {
		return &client.ExitError{Code: client.ExitFailed, Err: fmt.Errorf("these do not come out as their files say:\n%s", strings.Join(failed, "\n"))}
	}
	return nil
}

func passed(tests []experiment.Test) (n int) {
	for i := range tests {
		if tests[i].Passed() {
			n++
		}
	}
	return n
}

func (t *policyTests) writeJUnit(tests []experiment.Test) error {
	if t.junit == "" {
		return nil
	}
	var b bytes.Buffer
	if err := experiment.JUnit(&b, tests); err != nil {
		return err
	}
	if err := atomicfile.Replace(t.junit, b.Bytes()); err != nil {
		return err
	}
	return os.Chmod(t.junit, 0o644) // results are no secret
}

// recordAll writes the logs of all tests' decisions.
func (t *policyTests) recordAll(ctx context.Context, list []*experiment.Experiment, o experiment.Options) error {
	var errs []error
	n := 0
	for _, e := range list {
		within, cancel := context.WithTimeoutCause(ctx, t.timeout, fmt.Errorf("it takes more than %v: --timeout sets the bound", t.timeout))
		folders, err := e.Record(within, o)
		cancel()
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", e.Name(), err))
		}
		for _, folder := range folders {
			fmt.Fprintf(t.printed, "recorded %s\n", folder)
		}
		n += len(folders)
	}
	if n == 0 && len(errs) == 0 {
		return client.Misuse("--record: no test has decisions that name a run")
	}
	return errors.Join(errs...)
}
