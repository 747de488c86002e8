package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/cmd/hamadryad/complete"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func (c *cli) attachCommand() *cobra.Command {
	return &cobra.Command{
		Use: "attach JOB", Short: "Follow a job as its program does", Args: cobra.ExactArgs(1),
		ValidArgsFunction: complete.FirstOnly(c.names().Jobs(false, complete.LiveState)),
		Long: `Shows a job's progress until it ends, then its counters and outputs. It exits
as the job's program would: 0 when the job succeeded, 1 when it did not. It is
for a job whose program was killed or lost its terminal: the job goes on
without it. Ctrl-C leaves the job running; "hamadryad kill" ends it.`,
		Example: "  hamadryad attach job-12",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := jobArg(args[0])
			if err != nil {
				return err
			}
			return c.withClient(func(cl *client.Client) error { return c.attach(cmd.Context(), cl, id) })
		},
	}
}

func (c *cli) attach(ctx context.Context, cl *client.Client, id uint64) error {
	first, err := cl.Status(ctx, id, false)
	if err != nil {
		return err
	}
	d := progress.New(c.show.Errors, fmt.Sprintf("%v %s", scheduler.JobID(id), progress.OneLine(first.Summary.Name)))
	s, err := cl.Watch(ctx, id, d.Update)
	d.Close()
	if ctx.Err() != nil {
		return fmt.Errorf("left %v, which goes on: \"hamadryad attach %[1]v\" follows it again, \"hamadryad kill %[1]v\" ends it", scheduler.JobID(id))
	}
	if err != nil {
		return err
	}
	return c.ended(s)
}

// ended prints a job's end. The error is an exit code where it did not succeed.
func (c *cli) ended(s *wire.JobStatus) error {
	if s.Summary.State == wire.JobState_JOB_STATE_SUCCEEDED {
		c.show.Result(s)
		return nil
	}
	c.show.End(s)
	return &client.ExitError{Code: client.ExitFailed}
}

func (c *cli) waitCommand() *cobra.Command {
	timeout := time.Duration(0)
	cmd := &cobra.Command{
		Use: "wait JOB...", Short: "Wait until jobs have ended", Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: c.names().Jobs(false, complete.LiveState),
		Long: `Waits until all the jobs have ended and prints a line for each. It exits with 0 when
all have succeeded, with 1 when one has not, and with 4 when the time is over.`,
		Example: "  hamadryad wait job-12 job-13 && hamadryad status job-13\n  hamadryad wait job-12 --timeout 1h",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeoutCause(ctx, timeout, timeOut("not all jobs ended within %v", timeout))
				defer cancel()
			}
			ids := make([]uint64, len(args))
			for i, arg := range args {
				var err error
				if ids[i], err = jobArg(arg); err != nil {
					return err
				}
			}
			return c.withClient(func(cl *client.Client) error { return c.wait(ctx, cl, ids) })
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait at most, such as 90s or 1h; without end when left out")
	return cmd
}

// wait waits for the jobs in turn; all must be there.
func (c *cli) wait(ctx context.Context, cl *client.Client, ids []uint64) error {
	for _, id := range ids {
		if _, err := cl.Status(ctx, id, false); err != nil {
			return waitError(ctx, err)
		}
	}
	var failed error
	for _, id := range ids {
		s, err := cl.Watch(ctx, id, nil)
		if err != nil {
			return waitError(ctx, fmt.Errorf("%v: %w", scheduler.JobID(id), err))
		}
		if s.Summary.State == wire.JobState_JOB_STATE_SUCCEEDED {
			c.show.Success(s)
			continue
		}
		c.show.End(s)
		failed = &client.ExitError{Code: client.ExitFailed}
	}
	return failed
}

// timeOut is the error of a wait beyond its time limit. Its arguments are those of fmt.Errorf.
func timeOut(format string, args ...any) error {
	return &client.ExitError{Code: client.ExitTimeout, Err: fmt.Errorf(format, args...)}
}

// waitError reports a timeout, where that is the reason.
func waitError(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return err
}
