package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/cmd/hamadryad/complete"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

func (c *cli) submitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "submit PROGRAM ARGS...",
		Short: "Run a program that submits jobs",
		Long: `Runs PROGRAM with HAMADRYAD_MANAGER set to the manager's address. The program is
the job: it submits itself, follows the job and prints its results.`,
		Example: "  hamadryad --manager 10.0.0.1:7070 submit ./wordcount /data/texts /data/out",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := exec.LookPath(args[0])
			if err != nil {
				return client.Misuse("%w: name an executable file, such as ./%s", err, args[0])
			}
			env := append(os.Environ(), client.AddressVariable+"="+c.manager)
			if c.user != "" {
				env = append(env, storage.UserVariable+"="+c.user)
			}
			if c.patience > 0 {
				env = append(env, client.WaitVariable+"="+c.patience.String())
			}
			if c.actsFor != "" {
				env = append(env, client.ForVariable+"="+c.actsFor)
			}
			return syscall.Exec(path, args, env)
		},
	}
	cmd.Flags().SetInterspersed(false) // flags behind the program are the program's
	return cmd
}

func (c *cli) jobsCommand() *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use: "jobs", Short: "List jobs", Args: cobra.NoArgs,
		Example: "  hamadryad jobs\n  hamadryad jobs --all -o json | jq '.[] | select(.state==\"JOB_STATE_FAILED\")'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withClient(func(cl *client.Client) error {
				jobs, err := cl.Jobs(cmd.Context(), all)
				if err != nil {
					return err
				}
				return c.show.Jobs(jobs)
			})
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also those that ended, for as long as history keeps them")
	return c.formatFlag(cmd)
}

func jobArg(arg string) (uint64, error) {
	id, err := scheduler.ParseJobID(arg)
	if err != nil {
		return 0, client.Misuse("%w", err)
	}
	return uint64(id), nil
}

func (c *cli) statusCommand() *cobra.Command {
	attempts := false
	cmd := &cobra.Command{
		Use: "status JOB", Short: "Show a job: progress of its stages, and why it waits", Args: cobra.ExactArgs(1), ValidArgsFunction: complete.FirstOnly(c.names().Jobs(true, complete.AnyState)),
		Example: "  hamadryad status job-12\n  hamadryad status job-12 --attempts",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := jobArg(args[0])
			if err != nil {
				return err
			}
			return c.withClient(func(cl *client.Client) error {
				s, err := cl.Status(cmd.Context(), id, attempts)
				if err != nil {
					return err
				}
				return c.show.Status(s)
			})
		},
	}
	cmd.Flags().BoolVar(&attempts, "attempts", false, "also each attempt")
	return c.formatFlag(cmd)
}

func (c *cli) killCommand() *cobra.Command {
	reason := ""
	cmd := &cobra.Command{
		Use: "kill JOB...", Short: "End jobs, leaving nothing behind", Args: cobra.MinimumNArgs(1), ValidArgsFunction: c.names().Jobs(false, complete.LiveState),
		Example: "  hamadryad kill job-12 --reason 'wrong input'",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withClient(func(cl *client.Client) error {
				var errs []error
				for _, arg := range args {
					errs = append(errs, c.kill(cmd.Context(), cl, arg, reason))
				}
				return errors.Join(errs...)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why; shown in the job's status")
	return cmd
}

// kill ends one job, and prints which.
func (c *cli) kill(ctx context.Context, cl *client.Client, arg, reason string) error {
	id, err := jobArg(arg)
	if err != nil {
		return err
	}
	if err := cl.Kill(ctx, id, reason); err != nil {
		return err
	}
	killed := &wire.JobSummary{Job: id}
	if s, err := cl.Status(ctx, id, false); err == nil { // who may kill it may not look at it, perhaps
		killed = s.GetSummary()
	}
	c.show.Killed(killed)
	return nil
}

func (c *cli) moveCommand() *cobra.Command {
	pool := ""
	cmd := &cobra.Command{
		Use: "move JOB --pool POOL", Short: "Move a job to another pool", Args: oneJobToMove, ValidArgsFunction: complete.FirstOnly(c.names().Jobs(false, complete.LiveState)),
		Example: "  hamadryad move job-12 --pool research",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.update(cmd, args[0], &pool, nil)
		},
	}
	cmd.Flags().StringVar(&pool, "pool", "", "the `POOL` it goes to; must be given")
	_ = cmd.MarkFlagRequired("pool")
	_ = cmd.RegisterFlagCompletionFunc("pool", c.names().Pools)
	return cmd
}

// oneJobToMove says what to write to those who put the pool behind the job.
func oneJobToMove(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 1:
		return nil
	case 2:
		return client.Misuse("the pool is a flag: hamadryad move %s --pool %s", args[0], args[1])
	}
	return client.Misuse("name one job and its pool: hamadryad move JOB --pool POOL")
}

func (c *cli) priorityCommand() *cobra.Command {
	return &cobra.Command{
		SuggestFor: []string{"priority"}, Use: "set-priority JOB PRIORITY", Short: "Change a job's priority", Args: cobra.ExactArgs(2),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return complete.Priorities(cmd, args, word)
			}
			return complete.FirstOnly(c.names().Jobs(false, complete.LiveState))(cmd, args, word)
		},
		Example: "  hamadryad set-priority job-12 HIGH",
		Long:    "Priorities are VERY_LOW, LOW, NORMAL, HIGH and VERY_HIGH, or a number: larger is more urgent, 0 is NORMAL.",
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := scheduler.ParsePriority(args[1])
			if err != nil {
				return client.Misuse("%w", err)
			}
			n := int32(p)
			return c.update(cmd, args[0], nil, &n)
		},
	}
}

func (c *cli) update(cmd *cobra.Command, job string, pool *string, priority *int32) error {
	id, err := jobArg(job)
	if err != nil {
		return err
	}
	return c.withClient(func(cl *client.Client) error { return cl.Update(cmd.Context(), id, pool, priority) })
}

// jobOrAttempt reads the name of a job or of an attempt; the other is 0.
func jobOrAttempt(arg string) (job, attempt uint64, err error) {
	if id, err := scheduler.ParseJobID(arg); err == nil {
		return uint64(id), 0, nil
	}
	if id, err := scheduler.ParseAttemptID(arg); err == nil {
		return 0, uint64(id), nil
	}
	return 0, 0, client.Misuse("%q is neither a job nor an attempt: write it like job-12 or attempt-345", arg)
}

func (c *cli) logsCommand() *cobra.Command {
	follow := false
	cmd := &cobra.Command{
		Use: "logs JOB|ATTEMPT", Short: "Print what a job's attempts, or one attempt, wrote", Args: cobra.ExactArgs(1), ValidArgsFunction: complete.FirstOnly(c.names().Jobs(true, complete.AnyState)),
		Long:    "The output of programs and what nodes log is kept by the launchers, up to a bound. Of a launcher that is gone the manager has the end of each log (manager.history.tails), and says so.",
		Example: "  hamadryad logs job-12\n  hamadryad logs --follow attempt-345",
		RunE: func(cmd *cobra.Command, args []string) error {
			job, attempt, err := jobOrAttempt(args[0])
			if err != nil {
				return err
			}
			return c.withClient(func(cl *client.Client) error {
				last, printed := uint64(0), progress.Printed(c.show.Out)
				return cl.Logs(cmd.Context(), job, attempt, follow, func(chunk *wire.LogChunk) error {
					if chunk.Attempt == 0 {
						_, err := progress.Safe(c.show.Errors).Write(chunk.Data)
						return err
					}
					if attempt == 0 && chunk.Attempt != last {
						fmt.Fprintf(c.show.Out, "==== %v\n", scheduler.AttemptID(chunk.Attempt))
						last = chunk.Attempt
					}
					_, err := printed.Write(chunk.Data)
					return err
				})
			})
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the job or attempt ends")
	return cmd
}
