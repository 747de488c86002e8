package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/cmd/hamadryad/complete"
	"github.com/hamadryad/hamadryad/cmd/hamadryad/show"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/suggest"
	"github.com/hamadryad/hamadryad/internal/timeparse"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// ofPrograms is the environment of programs that submit jobs as these flags say.
func (c *cli) ofPrograms() ([]string, error) {
	reach, err := c.environment()
	if err != nil {
		return nil, err
	}
	env := append(os.Environ(), reach...)
	if c.user != "" {
		env = append(env, storage.UserVariable+"="+c.user)
	}
	if c.patience > 0 {
		env = append(env, client.WaitVariable+"="+c.patience.String())
	}
	if c.actsFor != "" {
		env = append(env, client.ForVariable+"="+c.actsFor)
	}
	return env, nil
}

// jobFilter selects the jobs of a list.
type jobFilter struct {
	all              bool
	states           []string
	user, pool, name string
	since            string
}

func (c *cli) jobsCommand() *cobra.Command {
	var f jobFilter
	cmd := &cobra.Command{
		Use: "jobs", Short: "List jobs", Args: cobra.NoArgs,
		Long: `Lists the jobs that wait or run, in the order in which they were submitted.
With --all, or with --state of jobs that ended, it lists those before them,
for as long as history keeps them (manager.history). Filters go together: only
jobs that all of them fit are listed. A moment is written like
2026-03-01T10:00, in UTC unless a zone is given, or as how long ago it was,
like 90m.`,
		Example: `  hamadryad jobs
  hamadryad jobs --watch
  hamadryad jobs --state failed --since 24h -o wide
  hamadryad jobs --user ann --pool research -o name | xargs hamadryad kill
  hamadryad jobs --all -o json | jq '.[] | select(.state == "failed")'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			fits, err := f.judge()
			if err != nil {
				return err
			}
			ask := func(ctx context.Context, cl *client.Client) ([]*wire.JobSummary, error) {
				jobs, err := cl.Jobs(ctx, f.all)
				return slices.DeleteFunc(jobs, func(j *wire.JobSummary) bool { return !fits(j) }), err
			}
			print := func(jobs []*wire.JobSummary) error { return c.show.Jobs(jobs, f.empty()) }
			return look(cmd.Context(), c, ask, print, func([]*wire.JobSummary) bool { return false })
		},
	}
	cmd.Flags().BoolVarP(&f.all, "all", "a", false, "also those that ended, for as long as history keeps them")
	cmd.Flags().StringSliceVar(&f.states, "state", nil, "only those in this `STATE`: "+strings.Join(stateNames(), ", ")+"; may be given several times")
	cmd.Flags().StringVar(&f.user, "user", "", "only those of this `USER`")
	cmd.Flags().StringVar(&f.pool, "pool", "", "only those in this `POOL`, or in one below it")
	cmd.Flags().StringVar(&f.name, "name", "", "only those whose name has `TEXT` in it")
	cmd.Flags().StringVar(&f.since, "since", "", "only those that were submitted at this `MOMENT` or later")
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(stateNames(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("pool", c.names().Pools)
	return c.watchFlag(c.outputFlags(cmd, show.ListFormats))
}

// jobStates are the states of jobs in the order of a job's life.
var jobStates = []wire.JobState{
	wire.JobState_JOB_STATE_WAITING, wire.JobState_JOB_STATE_ASKED, wire.JobState_JOB_STATE_RUNNING, wire.JobState_JOB_STATE_FINISHING, wire.JobState_JOB_STATE_KILLING,
	wire.JobState_JOB_STATE_SUCCEEDED, wire.JobState_JOB_STATE_FAILED, wire.JobState_JOB_STATE_KILLED,
}

func stateNames() (names []string) {
	for _, s := range jobStates {
		names = append(names, client.StateName(s))
	}
	return names
}

// judge parses the filter and returns its predicate. A state of ended jobs includes them in the
// list.
func (f *jobFilter) judge() (fits func(*wire.JobSummary) bool, err error) {
	for _, s := range f.states {
		i := slices.Index(stateNames(), s)
		if i < 0 {
			return nil, client.Misuse("--state %s: there is no such state%s; there are %s", s, suggest.Hint(s, stateNames()), strings.Join(stateNames(), ", "))
		}
		f.all = f.all || client.Ended(jobStates[i])
	}
	since := int64(math.MinInt64)
	if f.since != "" {
		at, err := timeparse.Parse(f.since, time.Now())
		if err != nil {
			return nil, client.Misuse("--since: %w", err)
		}
		since = at.UnixNano()
	}
	return func(j *wire.JobSummary) bool {
		return (len(f.states) == 0 || slices.Contains(f.states, client.StateName(j.State))) && (f.user == "" || j.User == f.user) &&
			(f.pool == "" || j.Pool == f.pool || strings.HasPrefix(j.Pool, f.pool+"/")) && strings.Contains(j.Name, f.name) && j.Submitted >= since
	}, nil
}

// empty is the message that no job fits.
func (f *jobFilter) empty() string {
	switch {
	case len(f.states) > 0 || f.user+f.pool+f.name+f.since != "":
		return "no job fits these filters"
	case f.all:
		return "there are no jobs"
	}
	return "no job waits or runs; --all lists those that ended, too"
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
		Long: `Shows a job: how far its stages are, and why it waits. Of a job array it shows the elements in each
state; or with their indices elements alone, each with its last attempt.

` + elementsForm,
		Example: "  hamadryad status job-12\n  hamadryad status job-12 --attempts\n  hamadryad status 'job-12[0-99]'",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, set, err := elementsArg(args[0])
			if err != nil {
				return err
			}
			if set.Len() > 0 {
				if attempts {
					return client.Misuse("--attempts goes with a job: %q shows the last attempt of each element", "hamadryad status "+args[0])
				}
				ask := func(ctx context.Context, cl *client.Client) (*wire.ElementsReply, error) {
					return c.elements(ctx, cl, id, set)
				}
				return look(cmd.Context(), c, ask, func(r *wire.ElementsReply) error { return c.show.Elements(id, r) }, func(*wire.ElementsReply) bool { return false })
			}
			ask := func(ctx context.Context, cl *client.Client) (*wire.JobStatus, error) {
				return cl.Status(ctx, id, attempts)
			}
			print := func(s *wire.JobStatus) error { return c.show.Status(s, attempts) }
			return look(cmd.Context(), c, ask, print, func(s *wire.JobStatus) bool { return client.Ended(s.GetSummary().GetState()) })
		},
	}
	cmd.Flags().BoolVar(&attempts, "attempts", false, "also each attempt")
	return c.watchFlag(c.outputFlags(cmd, show.ListFormats))
}

func (c *cli) killCommand() *cobra.Command {
	reason := ""
	cmd := &cobra.Command{
		Use: "kill JOB...", Short: "End jobs, or elements of job arrays, leaving nothing behind", Args: cobra.MinimumNArgs(1), ValidArgsFunction: c.names().Jobs(false, complete.LiveState),
		Long: `Ends jobs, leaving nothing behind. Elements of a job array end alone: its others go on.

` + elementsForm,
		Example: "  hamadryad kill job-12 --reason 'wrong input'\n  hamadryad kill 'job-12[3-18:5]'",
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

// kill ends one job, and prints its name.
func (c *cli) kill(ctx context.Context, cl *client.Client, arg, reason string) error {
	id, set, err := elementsArg(arg)
	if err != nil {
		return err
	}
	if set.Len() > 0 {
		return c.killElements(ctx, cl, id, set, arg, reason)
	}
	if err := cl.Kill(ctx, id, reason); err != nil {
		return err
	}
	killed := &wire.JobSummary{Job: id}
	if s, err := cl.Status(ctx, id, false); err == nil { // a caller who may kill it may lack the right to see it
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
			id, err := jobArg(args[0])
			if err != nil {
				return err
			}
			return c.withClient(func(cl *client.Client) error { return c.move(cmd.Context(), cl, id, pool) })
		},
	}
	cmd.Flags().StringVar(&pool, "pool", "", "the `POOL` it goes to; must be given")
	_ = cmd.MarkFlagRequired("pool")
	_ = cmd.RegisterFlagCompletionFunc("pool", c.names().Pools)
	return cmd
}

// oneJobToMove explains the syntax to users who put the pool after the job.
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
	q := &wire.LogsRequest{}
	cmd := &cobra.Command{
		Use: "logs JOB|ATTEMPT", Short: "Print what a job's attempts, or one attempt, wrote", Args: cobra.ExactArgs(1), ValidArgsFunction: complete.FirstOnly(c.names().Jobs(true, complete.AnyState)),
		Long: `The output of programs and what nodes log is kept by the launchers, up to a bound. Of a launcher
that is gone the manager has the end of each log (manager.history.tails), and says so.

--tail is about each attempt's log, of which 1 MiB is looked through for its lines.

` + elementsForm,
		Example: "  hamadryad logs job-12\n  hamadryad logs 'job-12[7]'\n  hamadryad logs job-12 --stage map --tail 20\n  hamadryad logs --follow attempt-345",
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			var set wire.ElementSet
			if strings.Contains(args[0], "[") {
				q.Job, set, err = elementsArg(args[0])
			} else {
				q.Job, q.Attempt, err = jobOrAttempt(args[0])
			}
			if err != nil {
				return err
			}
			q.Elements = wire.ElementRanges(set)
			if q.Stage != "" && q.Attempt != 0 {
				return client.Misuse("--stage %s: an attempt is of one stage; give it with a job", q.Stage)
			}
			return c.withClient(func(cl *client.Client) error { return c.logs(cmd.Context(), cl, q) })
		},
	}
	cmd.Flags().BoolVarP(&q.Follow, "follow", "f", false, "go on until the job or attempt ends")
	cmd.Flags().StringVar(&q.Stage, "stage", "", "only attempts of this `STAGE`")
	cmd.Flags().Uint32Var(&q.Tail, "tail", 0, "only the last `LINES` of each log, and what follows; 0: all")
	return cmd
}

// logs prints logs; with a line before each where there may be several.
func (c *cli) logs(ctx context.Context, cl *client.Client, q *wire.LogsRequest) error {
	last, printed := uint64(0), progress.Printed(c.show.Out)
	return cl.Logs(ctx, q, func(chunk *wire.LogChunk) error {
		if chunk.Attempt == 0 {
			_, err := progress.Safe(c.show.Errors).Write(chunk.Data)
			return err
		}
		if q.Attempt == 0 && chunk.Attempt != last {
			fmt.Fprintf(c.show.Out, "==== %v\n", scheduler.AttemptID(chunk.Attempt))
			last = chunk.Attempt
		}
		_, err := printed.Write(chunk.Data)
		return err
	})
}
