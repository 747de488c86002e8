package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"

	"github.com/hamadryad/hamadryad/cmd/hamadryad/show"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/wire"
)

func (c *cli) launchersCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "launchers [LAUNCHER...]", Short: "List launchers, or tell all of some", Args: cobra.ArbitraryArgs, ValidArgsFunction: c.names().Launchers,
		Long: `FREE has the slots on which work may start: none of a launcher that drains or
is excluded. Of the memory that the launcher was given, it has what no attempt
holds. Suspended attempts hold memory of its SWAP first. CPU and USED tell how
busy its machine is, with all that runs there. CPU is the part of all
processors' time between the last two heartbeats that was not idle. USED is
the part of the machine's memory that is not available. A - stands for what is
not known.

Of launchers that are named it prints all that is known: what is wrong, the
attempts that live there, and those that ended there last.`,
		Example: "  hamadryad launchers\n  hamadryad launchers node-7\n  hamadryad launchers -o json | jq -r '.[] | select(.state == \"up\").name'",
		RunE: func(cmd *cobra.Command, args []string) error {
			ask := func(ctx context.Context, cl *client.Client) ([]*wire.LauncherStatus, error) {
				list, err := cl.Launchers(ctx, args...)
				if err != nil || len(args) == 0 {
					return list, err
				}
				return named(list, args)
			}
			print := c.show.Launchers
			if len(args) > 0 {
				print = c.show.LauncherDetails
			}
			return look(cmd.Context(), c, ask, print, func([]*wire.LauncherStatus) bool { return false })
		},
	}
	return c.watchFlag(c.outputFlags(cmd, show.ListFormats))
}

// named finds launchers by their names. Of several with one name the last counts, as in the
// manager.
func named(all []*wire.LauncherStatus, names []string) (list []*wire.LauncherStatus, err error) {
	for _, name := range names {
		var found *wire.LauncherStatus
		for _, l := range all {
			if l.Name == name {
				found = l
			}
		}
		if found == nil {
			return nil, &client.Error{Code: codes.NotFound, Message: wire.NoLauncher(name)}
		}
		list = append(list, found)
	}
	return list, nil
}

// drainWait controls the wait for a drain.
type drainWait struct {
	wait     bool
	deadline time.Duration // 0: without end
}

func (c *cli) drainCommand() *cobra.Command {
	var w drainWait
	cmd := &cobra.Command{
		Use: "drain LAUNCHER...", Short: "Keep new work from launchers", Args: cobra.MinimumNArgs(1), ValidArgsFunction: c.names().Launchers,
		Long: `What runs on the launchers goes on; when "hamadryad launchers" shows one drained it can be
stopped. "hamadryad undrain" lets new work come again.

With --wait it returns when all of them are drained, or lost. When --deadline is over before, it
names those on which something runs, and ends with exit code 4; the drain stays.`,
		Example: "  hamadryad drain node-7\n  hamadryad drain node-7 node-8 --wait --deadline 1h && ssh node-7 systemctl stop hamadryad-launcher",
		RunE: func(cmd *cobra.Command, args []string) error {
			if w.deadline < 0 || w.deadline > 0 && !w.wait {
				return client.Misuse("--deadline %v: it says how long --wait waits at most, such as 1h", w.deadline)
			}
			return c.withClient(func(cl *client.Client) error {
				if err := drainAll(cmd.Context(), cl, args, true); err != nil || !w.wait {
					return err
				}
				return w.drained(cmd.Context(), cl, args)
			})
		},
	}
	cmd.Flags().BoolVar(&w.wait, "wait", false, "return when nothing runs on them any more")
	cmd.Flags().DurationVar(&w.deadline, "deadline", 0, "with --wait: for `HOW LONG` to wait at most, such as 1h; left out: without end")
	return cmd
}

// drained waits until launchers are drained, or lost.
func (w *drainWait) drained(ctx context.Context, cl *client.Client, names []string) error {
	if w.deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.deadline)
		defer cancel()
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for left := names; ; {
		all, err := cl.Launchers(ctx)
		if err == nil {
			if left = busy(all, names); len(left) == 0 {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return timeOut("after %v something still runs on %s, which drains on", w.deadline, strings.Join(left, ", "))
			}
			return ctx.Err()
		case <-tick.C:
		}
		if err != nil {
			return err
		}
	}
}

// busy lists the named launchers that are up and not drained.
func busy(all []*wire.LauncherStatus, names []string) (left []string) {
	for _, l := range all {
		if slices.Contains(names, l.Name) && l.State != "drained" && l.State != "lost" {
			left = append(left, l.Name)
		}
	}
	return left
}

func (c *cli) undrainCommand() *cobra.Command {
	return &cobra.Command{
		Use: "undrain LAUNCHER...", Short: "Let new work come to launchers again", Args: cobra.MinimumNArgs(1), ValidArgsFunction: c.names().Launchers,
		Long:    "It ends a drain, and the exclusion of a launcher on which attempts of several jobs failed.",
		Example: "  hamadryad undrain node-7",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withClient(func(cl *client.Client) error { return drainAll(cmd.Context(), cl, args, false) })
		},
	}
}

// drainAll drains launchers, or ends their drain. An error with one does not prevent the others.
func drainAll(ctx context.Context, cl *client.Client, launchers []string, drain bool) error {
	var errs []error
	for _, name := range launchers {
		errs = append(errs, cl.Drain(ctx, name, drain))
	}
	return errors.Join(errs...)
}
