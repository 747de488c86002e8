package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/manager"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/policy/policycheck"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedtest"
)

func (c *cli) policyCommand() *cobra.Command {
	cmd := c.formatFlag(&cobra.Command{
		Use: "policy", Short: "Show the policy and its pools", Args: cobra.NoArgs,
		Long: `Shows the policy that decides: its program with checksum, process and memory, the
settings in force, how long its rounds take, what is wrong with it, and the pools
and numbers that it shows of itself.`,
		Example: "  hamadryad policy\n  hamadryad policy reload\n  hamadryad policy check ./hamadryad-policy-mine",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withClient(func(cl *client.Client) error {
				r, err := cl.Policy(cmd.Context(), false)
				if err != nil {
					return err
				}
				return c.printPolicy(r)
			})
		},
	})
	cmd.AddCommand(c.policyCheckCommand(), c.policyReloadCommand())
	return cmd
}

func (c *cli) policyReloadCommand() *cobra.Command {
	return &cobra.Command{
		Use: "reload", Short: "Start the policy's program anew, as after a rebuild", Args: cobra.NoArgs,
		Long: `Starts the program of the policy anew beside the one that runs. The new one takes
over between two rounds; work that runs goes on. When it can't, the old one goes on
and the reason is told. A policy that was given up for the built-in FIFO is tried
again.`,
		Example: "  go build -o /opt/hamadryad/hamadryad-policy-mine . && hamadryad policy reload",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withClient(func(cl *client.Client) error {
				r, err := cl.ReloadPolicy(cmd.Context())
				if err != nil {
					return err
				}
				fmt.Fprintf(c.out, "%s %s took over, generation %s, SHA-256 %s\n", r.Name, r.Version, generationText(r.Generation), r.Checksum)
				return nil
			})
		},
	}
}

func (c *cli) policyCheckCommand() *cobra.Command {
	timeout := 10 * time.Minute
	var options schedtest.Options
	cmd := &cobra.Command{
		Use: "check PATH", Short: "Put a policy plug-in through the conformance kit", Args: cobra.ExactArgs(1),
		Long: `Drives the plug-in through scripted and random rounds, restarts it at random
rounds, and checks what every policy must keep. Nothing of a cluster is needed.`,
		Example: "  hamadryad policy check build/bin/hamadryad-policy-fifo",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			d, err := policycheck.Plugin(ctx, policy.Options{
				Path: args[0], Log: slog.New(slog.NewTextHandler(c.errors, &slog.HandlerOptions{Level: slog.LevelWarn})),
				Dir: manager.SocketFolder(""), StartTimeout: checkStartTimeout,
			})
			if err != nil {
				return err // nothing of it runs
			}
			defer d.Close()
			games := progress.NewSteps(c.errors, "games")
			options.Progress = games.Step
			report := schedtest.Check(ctx, d, options)
			games.Close()
			if err := report.Err(); err != nil {
				return fmt.Errorf("%s does not pass:\n%w", args[0], err)
			}
			fmt.Fprintf(c.out, "%s: %s %s passes: %d games\n", args[0], report.Policy.Name, report.Policy.Version, report.Games)
			return nil
		},
	}
	cmd.Flags().IntVar(&options.Seeds, "games", 0, "how many random games to play; 10 when left out")
	cmd.Flags().IntVar(&options.Restarts, "restarts", 0, "how often to restart the plug-in in one game, at most; 50 when left out")
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "bound of the whole check")
	return cmd
}

// checkStartTimeout bounds a start of the plug-in that is checked. It is longer than a
// manager's: the check starts it many times, on a machine that may be busy, and nobody
// waits for its decisions meanwhile.
const checkStartTimeout = time.Minute
