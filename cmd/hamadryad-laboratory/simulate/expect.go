package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hamadryad/hamadryad/cmd/hamadryad/show"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/site"
	"github.com/hamadryad/hamadryad/laboratory/experiment"
	"github.com/hamadryad/hamadryad/laboratory/report"
)

// runExpect plays published experiments. An experiment that cannot be played does not prevent the
// others.
func (c *command) runExpect(cmd *cobra.Command, files []string) error {
	var other []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "expect" && f.Name != "results" && f.Name != "output" {
			other = append(other, "--"+f.Name)
		}
	})
	if len(other) > 0 {
		return client.Misuse("%s: with --expect the file says what is played", strings.Join(other, ", "))
	}
	list, err := readExperiments(files)
	if err != nil {
		return err
	}
	debug.SetGCPercent(gcPercent)
	outcomes := []*experiment.Outcome{}
	var failed []string
	var errs []error
	for _, e := range list {
		o, err := c.expect(cmd, e)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", e.Name(), err))
			continue
		}
		outcomes = append(outcomes, o)
		for _, claim := range o.Failed() {
			failed = append(failed, e.Name()+": "+claim)
		}
	}
	if c.format != show.Table {
		errs = append(errs, show.Write(c.printed, c.format, nil, func(w io.Writer) error { return experiment.JSON(w, outcomes) }))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if len(failed) > 0 {
		return &client.ExitError{Code: client.ExitFailed, Err: fmt.Errorf("these do not come out as their files say:\n%s", strings.Join(failed, "\n"))}
	}
	return nil
}

// readExperiments reads all files before anything is played. The error lists all mistakes.
func readExperiments(files []string) (list []*experiment.Experiment, err error) {
	var errs []error
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		e, err := experiment.Parse(file, text)
		errs = append(errs, err)
		list = append(list, e)
	}
	return list, errors.Join(errs...)
}

// expect plays an experiment, prints its table and writes its results.
func (c *command) expect(cmd *cobra.Command, e *experiment.Experiment) (*experiment.Outcome, error) {
	o, err := e.Run(cmd.Context(), experiment.Options{Launch: c.launchNamed, Progress: c.errors, Keep: c.results != ""})
	if err != nil {
		return nil, err
	}
	if c.format == show.Table {
		if err := o.Text(c.printed); err != nil {
			return nil, err
		}
	}
	if c.results != "" {
		all := report.Compare(o.Runs)
		all.More = o.Curves
		if all.Origin, err = origin(cmd, []string{e.File()}, e.File(), nil, nil); err != nil {
			return nil, err
		}
		err = write(filepath.Join(c.results, e.Name()), o.Runs, all)
	}
	return o, err
}

// launchNamed starts the program of a policy beside this one.
func (c *command) launchNamed(ctx context.Context, name string) (policy.Host, error) {
	path, err := site.FindPolicy(config.Policy{Name: name})
	if err != nil {
		return nil, err
	}
	return c.launch(ctx, path)
}
