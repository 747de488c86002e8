package site

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/isolate"
	"github.com/hamadryad/hamadryad/engine/launcher"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// StartLauncher is the configuration to start a launcher with: that of the sources, or, when that
// has mistakes, the one it joined with last, with the mistakes. Otherwise a machine that restarts
// while a file is wrong would be missing.
func StartLauncher(s config.Sources, log func(config.Log) *slog.Logger) (launcher.Config, error) {
	s.Token = tokenOrMemory(config.DataFolder(s, "launcher"))
	now, wrong := loadLauncher(s, log)
	if wrong == nil {
		return now, nil
	}
	kept, err := launcher.Accepted(config.DataFolder(s, "launcher"))
	if kept == nil || err != nil {
		return now, errors.Join(wrong, err)
	}
	at, err := recall(&s, kept)
	if err != nil {
		return now, errors.Join(wrong, err)
	}
	last, err := loadLauncher(s, log)
	if err != nil {
		return now, errors.Join(wrong, fmt.Errorf("and what was accepted before can't be used either: %w", err))
	}
	last.Source = nil // it is kept
	last.Problem = fmt.Errorf("%w\nin force is what was accepted and read at %s", wrong, at.Format(time.RFC3339))
	return last, nil
}

// loadLauncher makes a launcher's configuration and checks what can be without
// starting it.
func loadLauncher(s config.Sources, log func(config.Log) *slog.Logger) (launcher.Config, error) {
	c, err := config.Load(s)
	if err != nil {
		return launcher.Config{}, err
	}
	cfg := launcherConfig(c, log)
	if cfg.Source, err = sourceWith(c, joinedOf(c)); err != nil {
		return cfg, err
	}
	if cfg.Keys, cfg.Renew, err = launcherKeys(c, cfg.Log); err != nil {
		return cfg, err
	}
	if cfg.Keys != nil && c.Launcher.Name == "" { // the certificate has the name
		cfg.Name = cfg.Keys.Identity().Name
	}
	return cfg, cfg.Check()
}

// launcherConfig is a launcher's part of a configuration.
func launcherConfig(c *config.Config, log func(config.Log) *slog.Logger) launcher.Config {
	l := c.Launcher
	cfg := launcher.Config{
		Manager: l.Manager, Data: l.Data, Name: l.Name, Host: l.Host, Rack: l.Rack, Memory: int64(l.Memory), Swap: int64(l.Swap),
		Bind: l.Bind, DataPort: l.DataPort, HTTPPort: l.HTTPPort, ChannelPorts: l.ChannelPorts, Cache: l.Cache, CacheBytes: int64(l.Store),
		LogBytes: int64(l.LogSize), LogTotal: int64(l.Logs), LogCount: l.LogsMax, LogKeepFor: l.LogsKeepFor, IdleMax: l.Idle, Suspend: l.Suspend,
		SpillMax: int64(l.SpillMax), Log: log(c.Log),
	}
	cfg.Limits = Connections(c)
	cfg.Isolation = isolate.Settings{
		User: l.Isolation.User, LeastUID: l.Isolation.LeastUID, Allow: l.Isolation.Allow, Deny: l.Isolation.Deny,
		TemporaryBytes: int64(l.Isolation.Temporary), Processes: l.Isolation.Processes, OpenFiles: l.Isolation.OpenFiles,
		Groups: l.Isolation.Groups, Calls: l.Isolation.Calls, Cgroup: l.Isolation.Cgroup,
	}
	if len(l.Names) > 0 {
		cfg.Names = l.Names
	}
	for _, kind := range slices.Sorted(maps.Keys(l.Slots)) {
		cfg.Slots = append(cfg.Slots, scheduler.SlotCount{Kind: kind, Count: l.Slots[kind]})
	}
	counts := []scheduler.ResourceCount{{Kind: scheduler.CoresKind, Count: l.Cores}}
	for _, kind := range slices.Sorted(maps.Keys(l.Resources)) {
		counts = append(counts, scheduler.ResourceCount{Kind: kind, Count: l.Resources[kind]})
	}
	cfg.Resources, cfg.SuspensionFrees = scheduler.NewResources(counts...), l.SuspensionFrees
	return cfg
}
