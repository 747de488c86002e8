package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/manager"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedtest"
	policywire "github.com/hamadryad/hamadryad/sdk/scheduler/wire"
)

func (c *cli) policyCommand() *cobra.Command {
	cmd := c.formatFlag(&cobra.Command{
		Use: "policy", Short: "Show the policy and its pools", Args: cobra.NoArgs,
		Example: "  hamadryad policy\n  hamadryad policy check ./hamadryad-policy-mine",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withClient(func(cl *client.Client) error {
				r, err := cl.Policy(cmd.Context())
				if err != nil {
					return err
				}
				return c.printPolicy(r)
			})
		},
	})
	cmd.AddCommand(c.policyCheckCommand())
	return cmd
}

// policyView is what -o json shows.
type policyView struct {
	Name       string            `json:"name"`
	Version    string            `json:"version"`
	State      string            `json:"state"`
	Generation uint64            `json:"generation"`
	Restarts   uint32            `json:"restarts"`
	Rounds     uint64            `json:"rounds"`
	Refusals   uint64            `json:"refusals"`
	Problem    string            `json:"problem"`
	Status     *scheduler.Status `json:"status"`
}

func (c *cli) printPolicy(r *wire.PolicyReply) error {
	v := policyView{Name: r.Name, Version: r.Version, State: r.State, Generation: r.Generation, Restarts: r.Restarts, Rounds: r.Rounds, Refusals: r.Refusals, Problem: r.Problem}
	if len(r.Status) > 0 {
		m := &policywire.Status{}
		if err := proto.Unmarshal(r.Status, m); err != nil {
			return fmt.Errorf("the policy's status can't be read: %w", err)
		}
		s, err := m.Decode()
		if err != nil {
			return fmt.Errorf("the policy's status can't be read: %w", err)
		}
		v.Status = &s
	}
	if c.format == "json" {
		return c.printJSON(v)
	}
	fmt.Fprintf(c.out, "%s %s: %s, generation %d, %d restarts, %d rounds, %d decisions refused\n",
		v.Name, v.Version, v.State, v.Generation, v.Restarts, v.Rounds, v.Refusals)
	if v.Problem != "" {
		fmt.Fprintf(c.out, "last problem: %s\n", v.Problem)
	}
	if v.Status == nil {
		return nil
	}
	for _, f := range v.Status.Facts {
		fmt.Fprintf(c.out, "%s: %s\n", f.Name, f.Value)
	}
	t := newTable(c.out, "POOL", "PARENT", "KIND", "WEIGHT", "MIN", "MAX", "SHARE", "DEMAND", "RUNNING", "JOBS")
	for _, p := range v.Status.Pools {
		t.row(p.Name, orDash(p.Parent), orDash(p.Kind), fmt.Sprintf("%g", p.Weight), count(p.MinShare), count(p.MaxShare),
			fmt.Sprintf("%.1f", p.FairShare), count(p.Demand), count(p.Running), count(p.Jobs))
	}
	return t.end()
}

func (c *cli) policyCheckCommand() *cobra.Command {
	timeout := 10 * time.Minute
	cmd := &cobra.Command{
		Use: "check PATH", Short: "Put a policy plug-in through the conformance kit", Args: cobra.ExactArgs(1),
		Long: `Drives the plug-in through scripted and random rounds, restarts it at random
rounds, and checks what every policy must keep. Nothing of a cluster is needed.`,
		Example: "  hamadryad policy check build/bin/hamadryad-policy-fifo",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			d := &pluginDriver{path: args[0], log: slog.New(slog.NewTextHandler(c.errors, &slog.HandlerOptions{Level: slog.LevelWarn}))}
			defer d.close()
			if err := d.Restart(ctx); err != nil {
				return err
			}
			games := progress.NewSteps(c.errors, "games")
			report := schedtest.Check(ctx, d, schedtest.Options{Progress: games.Step})
			games.Close()
			if err := report.Err(); err != nil {
				return fmt.Errorf("%s does not pass:\n%w", args[0], err)
			}
			fmt.Fprintf(c.out, "%s: %s %s passes: %d games\n", args[0], report.Policy.Name, report.Policy.Version, report.Games)
			return nil
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "bound of the whole check")
	return cmd
}

// pluginDriver lets the conformance kit drive a plug-in process.
type pluginDriver struct {
	path string
	log  *slog.Logger
	host policy.Host
}

func (d *pluginDriver) Check(ctx context.Context, c scheduler.Config) error {
	return d.host.Check(ctx, c)
}

func (d *pluginDriver) Start(ctx context.Context, c scheduler.Config, s scheduler.Snapshot, e scheduler.Environment) (scheduler.Description, error) {
	return d.host.Start(ctx, c, s, e)
}

func (d *pluginDriver) AssignTasks(ctx context.Context, r scheduler.Round) (scheduler.Decisions, error) {
	answer, err := d.host.AssignTasks(ctx, &r)
	if err != nil {
		return scheduler.Decisions{}, err
	}
	return policywire.DecodeDecisions(answer)
}

func (d *pluginDriver) Explain(ctx context.Context, j scheduler.JobID) (scheduler.Explanation, error) {
	return d.host.Explain(ctx, j)
}

func (d *pluginDriver) Status(ctx context.Context) (scheduler.Status, error) {
	return d.host.Status(ctx)
}

// Terminate ends the plug-in; there is no answer to wait for but its end.
func (d *pluginDriver) Terminate(context.Context) error {
	d.host.Close()
	return d.host.Err()
}

// Restart replaces the process.
func (d *pluginDriver) Restart(ctx context.Context) error {
	d.close()
	host, err := policy.Launch(ctx, policy.Options{Path: d.path, Log: d.log, Dir: manager.SocketFolder("")})
	if err != nil {
		return err
	}
	d.host = host
	return nil
}

func (d *pluginDriver) close() {
	if d.host != nil {
		d.host.Close()
	}
}

func (c *cli) configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Work with configurations"}
	f := &configured{}
	check := &cobra.Command{
		Use: "check [FILE]", Short: "Check a configuration, the policy's settings included", Args: cobra.MaximumNArgs(1),
		Long:    "Reads the configuration as the manager would, and lets the policy check its own settings. Mistakes are named with file and line.",
		Example: "  hamadryad config check /etc/hamadryad.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.file = args[0]
			}
			if f.file == "" {
				return errNoConfig
			}
			s := config.Sources{File: f.file, Environ: os.Environ(), CoreKeys: coreKeys()}
			site, err := loadSite(s)
			if err != nil {
				return err
			}
			if err := checkPolicy(cmd.Context(), site); err != nil {
				return err
			}
			fmt.Fprintf(c.out, "%s is right; policy %s\n", f.file, site.policy.Name)
			return nil
		},
	}
	f.configFlag(check)
	cmd.AddCommand(check)
	return cmd
}

// checkPolicy lets the plug-in check its settings.
func checkPolicy(ctx context.Context, s *site) error {
	host, err := policy.Launch(ctx, policy.Options{
		Path: s.policy.Path, Checksum: s.policy.Checksum, StartTimeout: s.policy.StartTimeout, Dir: manager.SocketFolder(""),
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	defer host.Close()
	return problems(host.Check(ctx, s.policy.Config))
}

// problems leaves out the frames round a policy's own words.
func problems(err error) error {
	var p scheduler.Problems
	if errors.As(err, &p) {
		return p
	}
	return err
}
