package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/cmd/hamadryad/complete"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/timeparse"
)

// noLimit is the value of a flag that removes a limit.
const noLimit = "none"

// limitFlags are the limits that set-limits changes.
type limitFlags struct {
	timeLimit, deadline string
	fail                bool
}

func (c *cli) limitCommand() *cobra.Command {
	var f limitFlags
	cmd := &cobra.Command{
		SuggestFor: []string{"limits", "limit"}, Use: "set-limits JOB", Short: "Change a job's time limit or deadline",
		Args: cobra.ExactArgs(1), ValidArgsFunction: complete.FirstOnly(c.names().Jobs(false, complete.LiveState)),
		Long: `Makes a time limit or a deadline longer or shorter, or removes it. What is not given stays.
The time limit counts from the job's first launch. A limit that is over already is refused.`,
		Example: `  hamadryad set-limits job-12 --time-limit 6h
  hamadryad set-limits job-12 --deadline 2026-11-30T08:00Z --fail-at-deadline
  hamadryad set-limits job-12 --time-limit none --deadline none`,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := jobArg(args[0])
			if err != nil {
				return err
			}
			change, err := f.change(cmd)
			if err != nil {
				return err
			}
			return c.withClient(func(cl *client.Client) error { return cl.Limit(cmd.Context(), id, change) })
		},
	}
	cmd.Flags().StringVar(&f.timeLimit, "time-limit", "", "`DURATION` that it may run, such as 6h, or none")
	cmd.Flags().StringVar(&f.deadline, "deadline", "", "`TIME` when it should be over, such as 2026-11-30T08:00Z, or a duration from now, or none")
	cmd.Flags().BoolVar(&f.fail, "fail-at-deadline", false, "the job fails at its deadline; with =false the deadline is only shown")
	return cmd
}

// change returns the message of the flags that were given.
func (f *limitFlags) change(cmd *cobra.Command) (*wire.JobLimitsChange, error) {
	m := &wire.JobLimitsChange{}
	if cmd.Flags().Changed("time-limit") {
		ns := int64(0)
		if f.timeLimit != noLimit {
			d, err := time.ParseDuration(f.timeLimit)
			if err != nil || d <= 0 {
				return nil, client.Misuse("--time-limit %q: write a duration above 0, such as 90m or 2h, or none", f.timeLimit)
			}
			ns = int64(d)
		}
		m.TimeLimitNs = &ns
	}
	if cmd.Flags().Changed("deadline") {
		at := int64(0)
		if f.deadline != noLimit {
			t, err := timeparse.Future(f.deadline, time.Now())
			if err != nil {
				return nil, client.Misuse("--deadline %q: %w", f.deadline, err)
			}
			at = t.UnixNano()
		}
		m.Deadline = &at
	}
	if cmd.Flags().Changed("fail-at-deadline") {
		m.FailAtDeadline = &f.fail
	}
	if m.TimeLimitNs == nil && m.Deadline == nil && m.FailAtDeadline == nil {
		return nil, client.Misuse("name what changes: --time-limit, --deadline or --fail-at-deadline")
	}
	return m, nil
}
