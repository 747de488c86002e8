package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/local"
	"github.com/hamadryad/hamadryad/engine/manager"
	"github.com/hamadryad/hamadryad/plugins/fifo"
)

func (c *cli) managerCommand() *cobra.Command {
	f := &configured{}
	part := &local.Part{}
	cmd := &cobra.Command{
		Use: "manager", Short: "Run a manager", Args: cobra.NoArgs,
		Long: `Runs the manager: it takes in jobs, asks the policy what runs where, and tells
the launchers. It keeps its state in the data folder and goes on from there after
a restart. It listens on loopback unless told otherwise.

The configuration file is watched: a changed policy, or changed settings of it or
of the section core, take effect at once; a file with mistakes changes nothing. A
manager that is started again while the file has mistakes goes on with what was
accepted last, and takes the file when it is right; the first start of a data folder
refuses such a file. "hamadryad config show" tells what is in force.

Its HTTP address has /metrics, and for what watches processes /livez (or /healthz)
and /readyz.`,
		Example: "  hamadryad manager --config /etc/hamadryad.yaml\n  hamadryad manager --listen 10.0.0.1:7070 --data /var/lib/hamadryad --policy fifo",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runManager(cmd.Context(), f.sources(cmd), part)
		},
	}
	f.configFlag(cmd)
	f.flag(cmd, "listen", "manager.listen", "address to listen on")
	f.flag(cmd, "http", "manager.http", "address of /metrics and /healthz")
	f.flag(cmd, "data", "manager.data", "folder for its data")
	f.flag(cmd, "policy", "policy.name", "scheduling policy")
	_ = cmd.RegisterFlagCompletionFunc("policy", completePolicies)
	f.flag(cmd, "policy-path", "policy.path", "plug-in of the policy")
	f.flag(cmd, "log-level", "log.level", "debug, info, warn or error")
	partFlags(cmd, part)
	return cmd
}

func runManager(ctx context.Context, s config.Sources, part *local.Part) error {
	site, last, problem, err := startSite(s)
	if err != nil {
		return err
	}
	ctx, stop, err := part.Begin(ctx)
	if err != nil {
		return err
	}
	defer stop()
	defer manager.CollectSeldom()()
	log := logger(site.Log)
	updates := make(chan manager.Update)
	go watchConfig(ctx, s, site, updates, log)
	m := site.Manager
	return manager.Run(ctx, manager.Config{
		Listen: m.Listen, HTTP: m.HTTP, Data: m.Data,
		NoSync: !m.EventLog.Sync, LogFileBytes: int64(m.EventLog.FileSize), LogKeep: m.EventLog.Keep, LogKeepBytes: int64(m.EventLog.KeepSize),
		FreezeMax: m.EventLog.FreezeMax, Remaker: remaker, BlobBytes: int64(m.Programs), Heartbeat: m.Heartbeat, Lease: m.Lease, LauncherLostAfter: m.LauncherLostAfter,
		Core: site.core, Policy: site.policy, Last: last, Fallback: fifo.New, Updates: updates, Log: log,
		File: s.File, Problem: problem, Shown: site.shown,
		Ready: func(grpc, http string) { part.Ready(grpc + " " + http) },
	})
}

// watchConfig hands changes of the configuration on. One with mistakes changes
// nothing and says why.
func watchConfig(ctx context.Context, s config.Sources, now *site, updates chan<- manager.Update, log *slog.Logger) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	defer signal.Stop(signals)
	var watched atomic.Pointer[[]string]
	watched.Store(&now.Watched)
	config.Watch(ctx, func() []string { return *watched.Load() }, signals, func() {
		changed, err := loadSite(s)
		u := manager.Update{}
		if err != nil {
			u.Problem = err.Error()
		} else {
			watched.Store(&changed.Watched)
			log.Info("the configuration changed", "file", s.File)
			u = manager.Update{Core: changed.core, Policy: changed.policy, Shown: changed.shown}
		}
		select {
		case updates <- u:
		case <-ctx.Done():
		}
	}, log)
}

// partFlags lets a command be a part of "hamadryad local".
func partFlags(cmd *cobra.Command, p *local.Part) {
	cmd.Flags().IntVar(&p.ReadyFD, local.ReadyFD, 0, "file descriptor to which a line goes when it is ready")
	cmd.Flags().BoolVar(&p.ExitWithParent, local.ExitWithParent, false, "end when the parent process ends")
	_ = cmd.Flags().MarkHidden(local.ReadyFD)
	_ = cmd.Flags().MarkHidden(local.ExitWithParent)
}
