package virtual

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// game is a workload on a cluster, to be played under a policy's own program.
type game struct {
	policy, settings string
	workload         *workload.Workload
	on               *cluster.Cluster
	watch            simulation.Watcher // may be nil
}

// play plays a workload under a policy's own program.
func (l *Lab) play(ctx context.Context, name, settings string, w *workload.Workload, on *cluster.Cluster) (*simulation.Result, error) {
	r, err := l.plays(ctx, game{policy: name, settings: settings, workload: w, on: on})
	if err != nil {
		return nil, err
	}
	return r[0], nil
}

// plays plays games, as many at a time as there are processors. None knows of another, so that what
// comes out does not depend on that. Results are in the order of the games.
func (l *Lab) plays(ctx context.Context, games ...game) ([]*simulation.Result, error) {
	show := newShown(l.Progress, games)
	defer show.close()
	results := make([]*simulation.Result, len(games))
	running, within := errgroup.WithContext(ctx)
	running.SetLimit(runtime.GOMAXPROCS(0))
	for i := range games {
		running.Go(func() (err error) {
			if within.Err() == nil { // else one has failed, or nobody waits
				results[i], err = l.one(within, &games[i], show)
			}
			return err
		})
	}
	if err := running.Wait(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return results, nil
}

// openPools has fair make the pools that jobs of a workload name.
const openPools = "placement: {undeclared: create}\n"

// one plays one game.
func (l *Lab) one(ctx context.Context, g *game, show *shown) (*simulation.Result, error) {
	host, err := policy.Launch(ctx, policy.Options{Path: filepath.Join(l.Bin, "hamadryad-policy-"+g.policy), Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return nil, err
	}
	settings := g.settings
	if g.policy == "fair" {
		settings += openPools
	}
	r, err := simulation.Play(ctx, simulation.Options{
		Workload: g.workload, Cluster: g.on, Host: host, Config: scheduler.Config{File: "settings", Line: 1, Text: []byte(settings)},
		Watch: &watched{watch: g.watch, policy: g.policy, shown: show},
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", g.policy, err)
	}
	return r, nil
}

// shown shows people who wait how far several games are. It is safe for concurrent use.
type shown struct {
	mu        sync.Mutex
	steps     *progress.Steps // nil: nobody looks
	done, all int             // jobs
}

// shownFrom is of how many jobs games are shown: nobody waits for fewer.
const shownFrom = 50

func newShown(to io.Writer, games []game) *shown {
	s := &shown{}
	for i := range games {
		s.all += len(games[i].workload.Jobs)
	}
	if to != nil && s.all >= shownFrom {
		s.steps = progress.NewSteps(to, "jobs")
	}
	return s
}

func (s *shown) ended(policy string, at time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done++; s.steps != nil {
		s.steps.Step(fmt.Sprintf("%s, simulated time %v", policy, at.Round(time.Second)), s.done, s.all)
	}
}

func (s *shown) close() {
	if s.steps != nil {
		s.steps.Close()
	}
}

// watched passes on what happens in a game, and has it shown.
type watched struct {
	watch  simulation.Watcher
	policy string
	shown  *shown
}

// Came implements simulation.Watcher.
func (w *watched) Came(at time.Duration, job int) {
	if w.watch != nil {
		w.watch.Came(at, job)
	}
}

// Holds implements simulation.Watcher.
func (w *watched) Holds(at time.Duration, job int, a *simcluster.Attempt, holds bool) {
	if w.watch != nil {
		w.watch.Holds(at, job, a, holds)
	}
}

// Ended implements simulation.Watcher.
func (w *watched) Ended(at time.Duration, job int) {
	if w.watch != nil {
		w.watch.Ended(at, job)
	}
	w.shown.ended(w.policy, at)
}

// draw writes a drawing into the lab's folder.
func (l *Lab) draw(name string, svg []byte) error {
	if err := os.MkdirAll(l.Out, 0o755); err != nil {
		return err
	}
	path := filepath.Join(l.Out, name+".svg")
	if err := os.WriteFile(path, svg, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(l.Log, "drawn as %s\n", path)
	return nil
}
