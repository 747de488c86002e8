package simulate

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/site"
	"github.com/hamadryad/hamadryad/laboratory/recording"
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// runVerify holds a policy against a log.
func (c *command) runVerify(cmd *cobra.Command) error {
	given, err := c.oneContender(cmd)
	if err != nil {
		return err
	}
	if c.differences < 0 {
		return errors.New("--differences is not negative")
	}
	r, err := recording.Open(c.verify)
	if err != nil {
		return err
	}
	o := recording.VerifyOptions{Differences: orNegative(c.differences), Host: func(ctx context.Context, of recording.Started) (policy.Host, scheduler.Config, error) {
		return c.inPlaceOf(ctx, given, of)
	}}
	steps := progress.NewSteps(c.errors, "log")
	o.Progress = func(done, all int64) { steps.Step("bytes of the log", int(done), int(all)) }
	v, err := recording.Verify(cmd.Context(), r, o)
	steps.Close()
	if err != nil {
		return err
	}
	show := v.Text
	if c.format == "json" {
		show = v.JSON
	}
	if err := show(c.printed); err != nil {
		return err
	}
	if !v.Same() {
		sum := v.Sum()
		return fmt.Errorf("the policy does not decide as the log has it: %d of %d rounds differ, and %d could not be asked", sum.Different, sum.Rounds, sum.NotAsked)
	}
	return nil
}

// orNegative writes none for the laboratory, to which 0 means its default.
func orNegative(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// oneContender is the policy that --policy names; nil: it is not given, and the log's holds.
func (c *command) oneContender(cmd *cobra.Command) (*contender, error) {
	if !cmd.Flags().Changed("policy") {
		return nil, nil
	}
	list, err := findContenders(c.policies)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, errors.New("a log is held against one policy: give --policy once")
	}
	return &list[0], nil
}

// inPlaceOf makes the policy that is asked in the place of a life of the log's. In the place
// of the one that stood in for a policy that failed it is the same.
func (c *command) inPlaceOf(ctx context.Context, given *contender, of recording.Started) (policy.Host, scheduler.Config, error) {
	if of.StandIn {
		return policy.InProcess(fifo.New()), scheduler.Config{}, nil
	}
	if given == nil {
		path, err := site.FindPolicy(config.Policy{Name: of.Policy})
		if err != nil {
			return nil, scheduler.Config{}, fmt.Errorf("%w; or name a program with --policy", err)
		}
		given = &contender{path: path, program: of.Policy}
	}
	host, err := c.launch(ctx, given.path)
	return host, given.settings(of.Policy, of.Settings), err
}

// settings are those that a program gets in the place of a policy of a name with settings in
// a log: its own file's, those of the log for a program of that name, or its defaults.
func (p *contender) settings(name string, inLog scheduler.Config) scheduler.Config {
	if p.configured || p.program != name {
		return p.config
	}
	return inLog
}
