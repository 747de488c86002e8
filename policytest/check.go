package policytest

import (
	"context"
	"errors"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Check puts a policy through the kit. The driver's policy need not be started,
// and is terminated afterwards.
func Check(ctx context.Context, d Driver, o Options) Report {
	o = o.filled()
	k := &kit{ctx: ctx, options: o, driver: timed{d, o.AnswerWithin}}
	k.settings()
	k.options.valid = k.changes()
	k.all()
	if len(k.report.Problems) == 0 {
		k.report.Warnings = k.habits.warnings(k.report.Policy, k.report.Tally)
	}
	if err := k.driver.Terminate(ctx); err != nil && ctx.Err() == nil {
		k.report.problem("terminate", "%v", err)
	}
	if ctx.Err() != nil && len(k.report.Problems) == 0 {
		k.report.Stopped = true
		k.report.problem("kit", "was stopped after %d games, which passed: %v", k.report.Games, ctx.Err())
	}
	return k.report
}

// Compare plays every game with the first driver, gives the same rounds to the
// second and demands the same decisions.
func Compare(ctx context.Context, first, second Driver, o Options) Report {
	o = o.filled()
	k := &kit{ctx: ctx, options: o, driver: timed{first, o.AnswerWithin}}
	other := &kit{ctx: ctx, options: o, driver: timed{second, o.AnswerWithin}}
	for _, g := range games(o) {
		if ctx.Err() != nil || len(k.report.Problems) > 0 {
			break
		}
		rec := k.play(g)
		if len(k.report.Problems) == 0 {
			other.replay(rec, g.name+", second driver", false)
		}
		k.report.Problems = append(k.report.Problems, other.report.Problems...)
	}
	return k.report
}

// all plays all games until one breaks a rule: one broken game is enough, the rest would repeat it.
// The broken one is made short.
func (k *kit) all() {
	fixed, until := games(k.options), time.Now().Add(k.options.For)
	next := k.options.First + uint64(max(k.options.Seeds, 0))
	for i := 0; k.ctx.Err() == nil && len(k.report.Problems) == 0; i++ {
		var g game
		switch {
		case i < len(fixed):
			g = fixed[i]
		case time.Now().Before(until):
			g = randomGame(next)
			next++
		default:
			return
		}
		if k.options.Progress != nil {
			k.options.Progress(g.name, i, max(len(fixed), i+1))
		}
		before := k.report.Games
		k.game(g)
		switch {
		case k.ctx.Err() != nil: // what was broken off says nothing of the policy
			k.report.Problems, k.report.Games = nil, before
		case len(k.report.Problems) > 0:
			k.report.Story = k.shorten(g)
		}
	}
}

type kit struct {
	ctx     context.Context //nolint:containedctx // lives as long as one Check
	options Options
	driver  timed
	report  Report
	habits  habits
	telling *telling // nil: nobody listens
}

func (k *kit) game(g game) {
	rec := k.play(g)
	if g.last != firstPlay && len(k.report.Problems) == 0 {
		k.replay(rec, g.name+", played again", false)
	}
	if g.last != firstPlay && g.last != playedAgain && len(k.report.Problems) == 0 && k.options.Restarts > 0 {
		k.replay(rec, g.name+", restarted", true)
	}
}

// settings checks the settings without a game.
func (k *kit) settings() {
	if err := k.driver.Check(k.ctx, k.options.Config); err != nil {
		k.report.problem("settings", "Check refuses the settings that the games are played with: %v", err)
	}
	for _, bad := range k.options.Bad {
		k.refuses("Check", bad, k.driver.Check(k.ctx, bad))
		_, err := k.driver.Start(k.ctx, bad, scheduler.Snapshot{}, k.options.environment(1))
		k.refuses("Start", bad, err)
		if err := k.driver.Restart(k.ctx); err != nil {
			k.report.problem("settings", "no new policy after a refused start: %v", err)
		}
	}
}

func (k *kit) refuses(what string, bad scheduler.Config, err error) {
	var problems scheduler.Problems
	switch {
	case err == nil:
		k.report.problem("settings", "%s accepts %q", what, bad.Text)
	case !errors.As(err, &problems) || len(problems) == 0:
		k.report.problem("settings", "%s refuses %q without naming problems: %v", what, bad.Text, err)
	case problems[0].Line < bad.Line || problems[0].File != bad.File:
		k.report.problem("settings", "%s refuses %q without file and line: %v", what, bad.Text, err)
	}
}
