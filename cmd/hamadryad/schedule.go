package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/cmd/hamadryad/show"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/suggest"
)

func (c *cli) scheduleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "schedule", Short: "Run commands that submit jobs at times of a calendar",
		Long: `A schedule has a command and the times at which it runs. The manager decides when a run is due.
Your own runner ("hamadryad serve schedules") starts the command, as you and with your files. So
keep a runner going on a machine that has the command and reaches the manager.

Each due time gets one run. When the manager or a runner fails, the command may be started again,
but the jobs of one start alone count: those of another are refused.`,
		Example: `  hamadryad schedule add nightly --cron '30 2 * * *' --zone Europe/Berlin -- ./report.sh
  hamadryad serve schedules
  hamadryad schedule show nightly`,
	}
	cmd.AddCommand(c.scheduleAdd(), c.scheduleList(), c.scheduleShow(),
		c.scheduleChange("pause", "Make no more runs of a schedule until it is resumed", wire.ScheduleAct_SCHEDULE_ACT_PAUSE),
		c.scheduleChange("resume", "Let a paused schedule run again; due times that passed are left out", wire.ScheduleAct_SCHEDULE_ACT_RESUME),
		c.scheduleChange("remove", "Remove a schedule; jobs that it submitted go on", wire.ScheduleAct_SCHEDULE_ACT_REMOVE),
		c.scheduleChange("run", "Run a schedule's command now, beside its times", wire.ScheduleAct_SCHEDULE_ACT_RUN))
	return cmd
}

// scheduleFlags are the flags of a new schedule.
type scheduleFlags struct {
	cron, zone, ifRunning, folder string
	startDeadline                 time.Duration
	replace                       bool
}

func (c *cli) scheduleAdd() *cobra.Command {
	var f scheduleFlags
	cmd := &cobra.Command{
		Use: "add NAME --cron TIMES -- COMMAND...", Short: "Add a schedule",
		Long: `The command is a program that submits jobs, or a script of such programs. It runs in the folder
in which you are now, with the runner's environment.

TIMES are minute, hour, day of month, month and day of week, as in a crontab. There, * is each, */5
each fifth, 1-5 a range, and 1,15 a list. Months and days of the week have names, too, such as JAN
and MON; Sunday is 0 or 7. @hourly, @daily, @weekly, @monthly and @yearly are known. A day fits if
the day of the month or that of the week does, where both are given.

Where clocks are set, Vixie's cron is followed. TIMES with a * in minutes or hours run by the clock.
So an hour that is left out has no runs, and one that comes twice has them twice. Each time of other
TIMES runs once a day. One that is left out runs at the moment when clocks are set, and of one that
comes twice the first runs.

After a time without a manager, the last due time alone gets a run, if its start deadline is not
over.`,
		Example: `  hamadryad schedule add nightly --cron '30 2 * * *' --zone Europe/Berlin -- ./wordcount --pool reports /data/texts /data/counts
  hamadryad schedule add poll --cron '*/5 * * * *' --if-running queue --start-deadline 2m -- sh poll.sh`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch dash := cmd.ArgsLenAtDash(); {
			case len(args) == 0 || dash == 0:
				return client.Misuse("NAME is missing")
			case dash < 0 || dash == len(args):
				return client.Misuse("COMMAND is missing: write it behind --")
			case dash > 1:
				return client.Misuse("%q is too much: the command stands behind --", args[1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := f.definition(args[1:])
			if err != nil {
				return err
			}
			return c.withClient(func(cl *client.Client) error { return c.addSchedule(cmd.Context(), cl, args[0], d, f.replace) })
		},
	}
	cmd.Flags().StringVar(&f.cron, "cron", "", "the `TIMES`; must be given")
	_ = cmd.MarkFlagRequired("cron")
	cmd.Flags().StringVar(&f.zone, "zone", "UTC", "the time `ZONE` of the times, such as Europe/Berlin")
	cmd.Flags().StringVar(&f.ifRunning, "if-running", wire.IfRunningNames[0], "`WHAT` to do when an earlier run has not ended: skip the new one, queue it (one at most), or allow both")
	cmd.Flags().DurationVar(&f.startDeadline, "start-deadline", time.Hour, "how long after its due time a run may start; then it is missed")
	cmd.Flags().StringVar(&f.folder, "folder", "", "`FOLDER` in which the command runs; left out: this one")
	cmd.Flags().BoolVar(&f.replace, "replace", false, "replace a schedule of this name; its runs are kept")
	_ = cmd.RegisterFlagCompletionFunc("if-running", cobra.FixedCompletions(wire.IfRunningNames, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// definition is the message of the flags and the command.
func (f *scheduleFlags) definition(command []string) (*wire.ScheduleDefinition, error) {
	how := slices.Index(wire.IfRunningNames, f.ifRunning)
	if how < 0 {
		return nil, client.Misuse("--if-running %s: it is skip, queue or allow%s", f.ifRunning, suggest.Hint(f.ifRunning, wire.IfRunningNames))
	}
	if f.startDeadline < time.Second {
		return nil, client.Misuse("--start-deadline %v: give 1s or more", f.startDeadline)
	}
	if f.folder == "" {
		var err error
		if f.folder, err = os.Getwd(); err != nil {
			return nil, fmt.Errorf("find this folder: %w: name one with --folder", err)
		}
	}
	return &wire.ScheduleDefinition{
		Cron: f.cron, Zone: f.zone, IfRunning: wire.IfRunning(how), StartDeadlineNs: int64(f.startDeadline), Command: command, Folder: f.folder,
	}, nil
}

// runnerHeardWithin is within what time a runner that is there asks for work.
const runnerHeardWithin = time.Minute

// addSchedule adds a schedule, and prints when it is due first and whether a runner is there.
func (c *cli) addSchedule(ctx context.Context, cl *client.Client, name string, d *wire.ScheduleDefinition, replace bool) error {
	if err := cl.AddSchedule(ctx, name, d, replace); err != nil {
		return err
	}
	r, err := cl.Schedules(ctx, name, false, 1)
	if err != nil {
		return err
	}
	for _, s := range r.Schedules {
		c.show.ScheduleAdded(s)
	}
	if time.Since(time.Unix(0, r.RunnerHeard)) > runnerHeardWithin {
		fmt.Fprintf(c.show.Errors, "hamadryad: no runner of %s is there: \"hamadryad serve schedules\" starts one, and without it runs are missed\n", progress.OneLine(r.User))
	}
	return nil
}

func (c *cli) scheduleList() *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use: "list", Short: "List schedules", Args: cobra.NoArgs,
		Example: "  hamadryad schedule list\n  hamadryad schedule list --all-users -o wide",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withClient(func(cl *client.Client) error {
				r, err := cl.Schedules(cmd.Context(), "", all, 1)
				if err != nil {
					return err
				}
				return c.show.Schedules(r.Schedules)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all-users", false, "also those of others, for users that may look at everything")
	return c.outputFlags(cmd, show.ListFormats)
}

func (c *cli) scheduleShow() *cobra.Command {
	user := ""
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show a schedule: its next times, and its last runs with their jobs", Args: cobra.ExactArgs(1), ValidArgsFunction: c.scheduleNames,
		Example: "  hamadryad schedule show nightly\n  hamadryad schedule show nightly -o json | jq '.runs[-1].jobs'",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withClient(func(cl *client.Client) error {
				s, err := findSchedule(cmd.Context(), cl, user, args[0])
				if err != nil {
					return err
				}
				return c.show.Schedule(s)
			})
		},
	}
	cmd.Flags().StringVar(&user, "owner", "", "the `USER` that has it; left out: you")
	return c.outputFlags(cmd, show.ThingFormats)
}

// nextShown is how many next due times of one schedule are shown.
const nextShown = 5

func findSchedule(ctx context.Context, cl *client.Client, user, name string) (*wire.Schedule, error) {
	r, err := cl.Schedules(ctx, name, user != "", nextShown)
	if err != nil {
		return nil, err
	}
	if user == "" {
		user = r.User
	}
	for _, s := range r.Schedules {
		if s.User == user {
			return s, nil
		}
	}
	return nil, &client.ExitError{Code: client.ExitRefused, Err: fmt.Errorf("user %q has no schedule %q: see \"hamadryad schedule list\"", user, name)}
}

func (c *cli) scheduleChange(name, short string, act wire.ScheduleAct) *cobra.Command {
	user := ""
	cmd := &cobra.Command{
		Use: name + " NAME", Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: c.scheduleNames,
		Example: "  hamadryad schedule " + name + " nightly",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withClient(func(cl *client.Client) error {
				return cl.ChangeSchedule(cmd.Context(), user, args[0], act)
			})
		},
	}
	cmd.Flags().StringVar(&user, "owner", "", "the `USER` that has it, for administrators; left out: you")
	return cmd
}

// scheduleNames completes the name of a schedule.
func (c *cli) scheduleNames(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	_ = c.withClient(func(cl *client.Client) error {
		r, err := cl.Schedules(cmd.Context(), "", false, 0)
		for _, s := range r.GetSchedules() {
			names = append(names, s.Name)
		}
		return err
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}
