package launcher

import (
	"context"
	"errors"
	"sync"

	"github.com/hamadryad/hamadryad/engine/isolate"
	"github.com/hamadryad/hamadryad/engine/isolate/cgroup"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/datadir"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/load"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/suspend"
)

// openGroups finds out how workers are limited and suspended.
func (c Config) openGroups(identity string) (suspend.Way, error) {
	limited, err := cgroup.Choose(c.Isolation.Cgroup, identity, c.Log)
	if err != nil {
		return suspend.Way{}, err
	}
	return suspend.Choose(c.Suspend, identity, limited, c.Log)
}

// watched starts the Watchdog on the launcher. The returned function stops it.
func (c Config) watched(ctx context.Context, lives func(context.Context) error) (stop func()) {
	if c.Watchdog == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var watchdog sync.WaitGroup
	watchdog.Go(func() { c.Watchdog(ctx, lives) })
	return func() {
		cancel()
		watchdog.Wait()
	}
}

// Run runs a launcher until ctx ends. It returns nil when ctx ended and no worker is left, and an
// error when the launcher can't begin or go on.
func Run(ctx context.Context, cfg Config) error {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return err
	}
	if cfg.Problem != nil {
		cfg.Log.Error("the configuration has mistakes: what the launcher joined with last stays in force until it is started with a right one", "error", cfg.Problem)
	}
	cfg.lookForSwap()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if cfg.Renew != nil {
		go cfg.Renew(ctx)
	}
	guard, err := isolate.Open(cfg.Isolation, cfg.Step)
	if err != nil {
		return err
	}
	cfg.sayAsWhom()
	f, err := datadir.Open(cfg.Data, guard != nil)
	if err != nil {
		return err
	}
	defer f.Close()
	way, err := cfg.openGroups(f.Identity())
	if err != nil {
		return err
	}
	defer way.Close()
	d, err := openListeners(cfg, f)
	if err != nil {
		return err
	}
	conn, err := dial(cfg)
	if err != nil {
		return errors.Join(err, d.close())
	}
	defer conn.Close()
	// The agent outlives ctx until its workers have ended.
	life, endLife := context.WithCancel(context.WithoutCancel(ctx))
	defer endLife()
	machine := load.New(life)
	a, err := newAgent(life, cfg, f, conn, d.endpoints, newMetrics(cfg, way, machine), way, guard)
	if err != nil {
		return errors.Join(err, d.close())
	}
	stop := d.serve(ctx, a, cancel)
	defer stop()
	defer cfg.watched(ctx, a.probe.wrong)()
	s := newSession(a, conn, machine)
	err = s.run(ctx)
	a.shutdown()
	if err == nil {
		s.leave()
	}
	if c := context.Cause(ctx); err == nil && c != nil && !errors.Is(c, context.Canceled) && !errors.Is(c, context.DeadlineExceeded) {
		return c
	}
	return err
}
