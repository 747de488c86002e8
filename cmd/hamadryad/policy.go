package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/cmd/hamadryad/show"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/manager/policyhost"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/policy/policycheck"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/site"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func (c *cli) policyCommand() *cobra.Command {
	cmd := c.watchFlag(c.outputFlags(&cobra.Command{
		Use: "policy", Short: "Show the policy and its pools", Args: cobra.NoArgs,
		Long: `Shows the policy that decides: its program with checksum, process and memory,
and the settings in force. It also shows how long rounds take, what is wrong,
and the pools and numbers that the policy shows of itself.`,
		Example: "  hamadryad policy\n  hamadryad policy reload\n  hamadryad policy check ./hamadryad-policy-mine\n  hamadryad policy test tests",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ask := func(ctx context.Context, cl *client.Client) (*wire.PolicyReply, error) { return cl.Policy(ctx, false) }
			return look(cmd.Context(), c, ask, c.show.Policy, func(*wire.PolicyReply) bool { return false })
		},
	}, show.ListFormats))
	cmd.AddCommand(c.policyCheckCommand(), laboratory("test", "Test policies against recorded days and workloads"), c.policyReloadCommand())
	return cmd
}

func (c *cli) policyReloadCommand() *cobra.Command {
	return &cobra.Command{
		Use: "reload", Short: "Start the policy's program anew, as after a rebuild", Args: cobra.NoArgs,
		Long: `Starts the program of the policy anew beside the one that runs. The new one takes
over between two rounds; work that runs goes on. When it can't, the old one goes on
and the reason is told. A policy that was given up for the fallback is tried
again. Shadows (policy.shadow) start anew, too.`,
		Example: "  go build -o /opt/hamadryad/hamadryad-policy-mine . && hamadryad policy reload",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withClient(func(cl *client.Client) error {
				r, err := cl.ReloadPolicy(cmd.Context())
				if err != nil {
					return err
				}
				fmt.Fprintf(c.show.Out, "%s %s took over, generation %s, SHA-256 %s\n", r.Name, r.Version, show.Generation(r.Generation), r.Checksum)
				return nil
			})
		},
	}
}

// policyCheck is the options of a check.
type policyCheck struct {
	options     policytest.Options
	config      string   // site's configuration; "" for the policy's defaults
	environment []string // names of variables that the plug-in gets
	properties  []string
	timeout     time.Duration // 0: by the number of games
}

func (c *cli) policyCheckCommand() *cobra.Command {
	var p policyCheck
	cmd := &cobra.Command{
		Use: "check [PATH]", Short: "Put a policy plug-in through the conformance kit", Args: cobra.MaximumNArgs(1),
		Long: `Plays games with the plug-in at PATH and checks what every policy must keep.
Nothing of a cluster is needed: the kit has the manager's core decide, in
virtual time. It plays about a dozen scripted games, and random ones. In those launchers come
and go, attempts fail and straggle, and jobs have all kinds of users, pools,
priorities and properties.

Each game is played again without looking at the policy's status, and once
more with restarts. A new process then takes over from a snapshot, and from
the checkpoint where the policy has that ability. The decisions have to be the
same each time.

With --config the policy has the settings of a site's configuration
(policy.settings and policy.files), and the variables that policy.environment
names. The games also change them while the
policy runs: to its defaults, to the same without one of the keys, and back.
What the policy itself would refuse of these is left out. Kinds of slots are
the site's; pools, users and properties of jobs get names that stand in the
settings. Without PATH it is the configuration's policy that is checked.

A check that --timeout stops ends with exit code 4, and tells how many games passed.
What breaks a rule ends the check with exit code 1. The game is then made short: events
are left out and jobs made smaller while the same rule is broken. The short game is told
in words, with what the policy answered. What breaks no rule and looks like a mistake, such as an ability that the policy declares and never uses, is a warning.`,
		Example: `  hamadryad policy check build/bin/hamadryad-policy-fifo
  hamadryad policy check --config /etc/hamadryad.yaml --seeds 1000
  hamadryad policy check --for 30s ./hamadryad-policy-mine
  hamadryad policy check --seed 17 --seeds 1 --property preempt=true ./hamadryad-policy-mine`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.checkPolicyAt(cmd.Context(), p, args) },
	}
	f := cmd.Flags()
	f.StringVar(&p.config, "config", "", "site's configuration that has the policy's settings; the policy's defaults when left out")
	f.IntVar(&p.options.Seeds, "seeds", 10, "how many random games to play")
	f.Uint64Var(&p.options.First, "seed", 0, "seed of the first of them; a problem names the seed of its game")
	f.DurationVar(&p.options.For, "for", 0, "play the seeds behind these, too, until so much time has passed since the first game")
	f.DurationVar(&p.options.ShortenFor, "shorten", 10*time.Second, "how long a game that breaks a rule is made short, at most; 0 for not at all")
	f.IntVar(&p.options.Restarts, "restarts", 50, "how often to restart the plug-in in one game, at most; 0 for never")
	f.StringArrayVar(&p.properties, "property", nil, "property that jobs of random games may have and the policy looks at, as NAME=VALUE; may be repeated")
	f.DurationVar(&p.timeout, "timeout", 0, "bound of the whole check; 10m, 10s for each random game, and --for and --shorten when left out")
	return cmd
}

// settle reads the files and flags, and returns the program to check.
func (p *policyCheck) settle(args []string) (path string, err error) {
	if p.options.Seeds < 0 || p.options.Restarts < 0 {
		return "", client.Misuse("--seeds and --restarts are counts: give 0 or more")
	}
	if p.options.For < 0 || p.options.ShortenFor < 0 {
		return "", client.Misuse("--for and --shorten are durations: give 0 or more")
	}
	if p.timeout == 0 {
		p.timeout = 10*time.Minute + time.Duration(p.options.Seeds)*10*time.Second + p.options.For + p.options.ShortenFor
	}
	p.options.Seeds, p.options.Restarts = orNone(p.options.Seeds), orNone(p.options.Restarts)
	p.options.ShortenFor = orNone(p.options.ShortenFor)
	for _, text := range p.properties {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return "", client.Misuse("--property %q: write it as NAME=VALUE", text)
		}
		p.options.Properties = append(p.options.Properties, scheduler.Property{Name: name, Value: value})
	}
	if p.config == "" {
		if len(args) == 0 {
			return "", client.Misuse("name the program of a policy, or a configuration that names one: --config FILE")
		}
		return args[0], nil
	}
	from, err := config.Load(config.Sources{File: p.config, Environ: os.Environ(), CoreKeys: site.CoreKeys()})
	if err != nil {
		return "", err
	}
	p.options.Config, p.options.Kinds, p.environment = from.Policy.Config, from.Manager.SlotKinds, from.Policy.Environment
	if len(args) > 0 {
		return args[0], nil
	}
	return site.FindPolicy(from.Policy)
}

// orNone converts a count or a duration for the kit, to which 0 means its default.
func orNone[N ~int | ~int64](n N) N {
	if n == 0 {
		return -1
	}
	return n
}

func (c *cli) checkPolicyAt(ctx context.Context, p policyCheck, args []string) error {
	path, err := p.settle(args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	d, err := policycheck.Plugin(ctx, policy.Options{
		Path: path, Log: slog.New(slog.NewTextHandler(c.show.Errors, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Dir: policyhost.SocketFolder(""), StartTimeout: checkStartTimeout, Environment: p.environment,
	})
	if err != nil {
		return err // nothing of it runs
	}
	defer d.Close()
	games := progress.NewSteps(c.show.Errors, "games")
	p.options.Progress = games.Step
	report := policytest.Check(ctx, d, p.options)
	games.Close()
	if report.Stopped && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &client.ExitError{Code: client.ExitTimeout, Err: fmt.Errorf("%s: the check was stopped after %v (--timeout): %d games passed, the others were not played; give it longer, or fewer --seeds or --restarts", path, p.timeout, report.Games)}
	}
	if err := report.Err(); err != nil {
		return &client.ExitError{Code: client.ExitFailed, Err: fmt.Errorf("%s does not pass:\n%w", path, err)}
	}
	fmt.Fprintf(c.show.Out, "%s: %s %s passes: %d games\n", path, config.PolicyName(path), report.Policy.Version, report.Games)
	for _, w := range report.Warnings {
		fmt.Fprintf(c.show.Out, "warning: %s\n", w)
	}
	return nil
}

// checkStartTimeout bounds a start of the checked plug-in. It is longer than a manager's: the check
// starts the plug-in many times, on a machine that may be busy, and nobody waits for its decisions
// meanwhile.
const checkStartTimeout = time.Minute
