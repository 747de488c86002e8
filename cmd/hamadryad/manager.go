package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/cmd/hamadryad/complete"
	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/kerberos"
	"github.com/hamadryad/hamadryad/engine/auth/oidc"
	"github.com/hamadryad/hamadryad/engine/auth/proof"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/local"
	"github.com/hamadryad/hamadryad/engine/manager"
	"github.com/hamadryad/hamadryad/engine/site"
	"github.com/hamadryad/hamadryad/plugins/fifo"
)

// serveCommand is the parent of the daemons' commands.
func (c *cli) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "serve", Short: "Run a daemon: a manager, a launcher, or what runs your schedules",
		Long: `A cluster has one manager, and a launcher on each machine. A user with schedules has a runner.
Each is a process that goes on until it gets SIGTERM or SIGINT.`,
		Example: "  hamadryad serve manager --config /etc/hamadryad.yaml\n  hamadryad serve launcher --config /etc/hamadryad.yaml",
	}
	cmd.AddCommand(c.managerCommand(), c.launcherCommand(), c.runnerCommand())
	return cmd
}

func (c *cli) managerCommand() *cobra.Command {
	f := &configured{}
	part := &local.Part{}
	cmd := &cobra.Command{
		Use: "manager", Short: "Run a manager", Args: cobra.NoArgs,
		Long: `Runs the manager: it takes in jobs, asks the policy what runs where, and tells
the launchers. It keeps its state in the data folder and goes on from there after
a restart. It listens on loopback unless told otherwise; where
others reach it, all prove who they are ("hamadryad ca --help").

The configuration file is watched. A changed policy, and changed settings of
it or of the section core, take effect at once. A file with mistakes changes
nothing. A manager that restarts while the file has mistakes goes on with what
was accepted last, and takes the file when it is right. The first start of a
data folder refuses such a file. "hamadryad config show" tells what is in
force.

Its HTTP address has pages for people at /, and /metrics. The REST interface
is below /api/v1 (docs/REST.md; its document is /api/v1/openapi.yaml). What
watches processes asks /livez (or /healthz) and /readyz.`,
		Example: "  hamadryad serve manager --config /etc/hamadryad.yaml\n  hamadryad serve manager --auth tls --certificate m1.pem --listen 10.0.0.1:7070 --data /var/lib/hamadryad --policy fifo",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runManager(cmd.Context(), f.sources(cmd), part)
		},
	}
	f.configFlag(cmd)
	f.flag(cmd, "listen", "manager.listen", "address to listen on")
	f.flag(cmd, "http", "manager.http", "address of HTTP: pages, metrics, health, the REST interface")
	f.flag(cmd, "data", "manager.data", "folder for its data")
	f.flag(cmd, "policy", "policy.name", "scheduling policy")
	_ = cmd.RegisterFlagCompletionFunc("policy", complete.Policies)
	f.flag(cmd, "policy-path", "policy.path", "plug-in of the policy")
	f.authFlags(cmd)
	f.flag(cmd, "join", "auth.join", "address for launchers that join with a token")
	f.flag(cmd, "ca-key", "auth.caKey", "file with the CA's key, to sign launchers that join")
	f.flag(cmd, "log-level", "log.level", "debug, info, warn or error")
	partFlags(cmd, part)
	return cmd
}

func runManager(ctx context.Context, s config.Sources, part *local.Part) error {
	now, last, problem, err := site.Start(s)
	if err != nil {
		return err
	}
	ctx, stop, err := part.Begin(ctx)
	if err != nil {
		return err
	}
	defer stop()
	defer manager.CollectSeldom()()
	log := logger(now.Log)
	updates := make(chan manager.Update)
	tokens := now.Tokens(log)
	go now.Watch(ctx, s, updates, tokens, log)
	cfg := now.ManagerConfig()
	cfg.Schemes = map[string]proof.Scheme{}
	if tokens != nil {
		cfg.Schemes[oidc.Scheme] = tokens.Prove
		go tokens.Run(ctx)
	}
	kerb, err := now.Kerberos(log)
	if err != nil {
		return err
	}
	if kerb != nil {
		cfg.Schemes[kerberos.Scheme] = kerb.Prove
	}
	if cfg.Keys, err = site.Keys(now.Config, auth.Manager, log); err != nil {
		return err
	}
	if cfg.Joins, err = now.Joins(cfg.Keys, log); err != nil {
		return err
	}
	cfg.Join = now.Auth.Join
	cfg.Reads = site.Reads(s, tokens, log)
	if last != nil {
		u := last.Update(tokens, log)
		cfg.Last, cfg.InForce = &u, now.Update(tokens, log).InForce
	}
	cfg.Problem, cfg.File, cfg.Updates, cfg.Log = problem, s.File, updates, log
	cfg.Remaker, cfg.Fallback, cfg.ReleaseMemory = remaker, fifo.New, true
	systemd, err := openUnit(part, log)
	if err != nil {
		return err
	}
	cfg.Ready = func(grpc, http string) {
		part.Ready(grpc + " " + http)
		systemd.status("serves at " + grpc + ", pages at " + http)
	}
	cfg.Watchdog = systemd.serve
	err = manager.Run(ctx, cfg)
	if errors.Is(err, manager.ErrServesElsewhere) { // systemd does not restart it
		return &client.ExitError{Code: client.ExitRefused, Err: err}
	}
	return err
}

// partFlags lets a command be a part of "hamadryad local".
func partFlags(cmd *cobra.Command, p *local.Part) {
	cmd.Flags().IntVar(&p.ReadyFD, local.ReadyFD, 0, "file descriptor to which a line goes when it is ready")
	cmd.Flags().BoolVar(&p.ExitWithParent, local.ExitWithParent, false, "end when the parent process ends")
	_ = cmd.Flags().MarkHidden(local.ReadyFD)
	_ = cmd.Flags().MarkHidden(local.ExitWithParent)
}
