package policytest

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Options control the test of a policy. The zero value has the usual settings.
type Options struct {
	// Config is valid settings to run with; empty means the defaults.
	Config scheduler.Config
	// Bad are settings to be refused with a line; default: an unknown key.
	Bad []scheduler.Config
	// Seeds is the number of random games, from seed First on; default 10, negative for none.
	Seeds int
	First uint64
	// For goes on with the seeds behind these until so much real time has passed since the first game;
	// default 0: no further.
	For time.Duration
	// ShortenFor bounds the real time in which a game that breaks a rule is made short (Report.Story);
	// default 10 s, negative for not at all.
	ShortenFor time.Duration
	// Restarts bounds the restarts of a policy in one game; default 50, negative for never. A
	// restart has the settings in force, a snapshot, and a checkpoint with the ability. A plug-in's
	// restart is a new process.
	Restarts int
	// Properties are properties with a meaning for the policy, such as {preempt, false}: jobs of
	// random games have some of them, besides meaningless ones. Names in its settings are drawn
	// too, for properties, pools and users.
	Properties []scheduler.Property
	// Queries have a meaning for the policy's pages, such as price. The kit sends some of them to a
	// policy with pages, besides meaningless ones, from principals of all kinds. Answers to logged
	// requests must be the same after a restart too.
	Queries []string
	// Kinds are the site's kinds of slots, besides the kit's own.
	Kinds []scheduler.SlotKind
	// AnswerWithin bounds the real time of one call; default 10 s.
	AnswerWithin time.Duration
	// LocalityMax is how long, in virtual time, a job may wait for slots near its input while other
	// free slots fit it: all delays of the policy's settings together; default 30 s.
	LocalityMax time.Duration
	// NoStories leaves the scripted games out.
	NoStories bool
	// NoUserLimits leaves limits of users out of random games, for a plug-in of a contract without
	// scheduler.UserLimitSet: nothing tells it of them.
	NoUserLimits bool
	// Progress is called before each game, with the number of games done and of all, on the
	// goroutine that plays; default: not called. Compare does not call it.
	// With For, the number of all grows.
	Progress func(game string, done, all int)

	valid []scheduler.Config // settings that a running game changes to
	words []string           // names in them
}

const (
	seedsDefault    = 10
	restartsDefault = 50
	answerDefault   = 10 * time.Second
	localityDefault = 30 * time.Second
	shortenDefault  = 10 * time.Second
	heartbeat       = time.Second // of launchers
)

func (o Options) filled() Options {
	o.Seeds = cmp.Or(o.Seeds, seedsDefault)
	o.Restarts = cmp.Or(o.Restarts, restartsDefault)
	o.AnswerWithin = cmp.Or(o.AnswerWithin, answerDefault)
	o.LocalityMax = cmp.Or(o.LocalityMax, localityDefault)
	o.ShortenFor = cmp.Or(o.ShortenFor, shortenDefault)
	if o.Bad == nil {
		o.Bad = []scheduler.Config{{File: "settings.yaml", Line: 3, Text: []byte("no-such-setting: 1\n")}}
	}
	o.words = words(o.Config)
	return o
}

// limits are the manager's defaults, except the bounds of suspension.
func limits() scheduler.Limits {
	return scheduler.Limits{
		AnswerBytes: 4 << 20, CheckpointBytes: 1 << 20, Decisions: 1_000_000,
		GraceMax: time.Minute, RoundDeadline: 10 * time.Second,
		SuspendedMax: cluster.SuspendedMax, SuspendedPercent: cluster.SuspendedPercent,
		ReservationsMax: cluster.ReservationsMax, SpeculationPercent: cluster.SpeculationPercent,
	}
}

func (o Options) environment(seed uint64) scheduler.Environment {
	return scheduler.Environment{
		Heartbeat: heartbeat, Seed: seed, Kinds: append([]scheduler.SlotKind{scheduler.DefaultKind, rareKind, specialKind}, o.others()...),
		Limits: limits(), Simulated: true,
		ReserveMax: cluster.ReserveMax, ProtectFor: cluster.ProtectFor, SuspendMax: cluster.SuspendMax, WakeMin: cluster.WakeMin,
	}
}

// others are the site's kinds that the kit lacks.
func (o Options) others() (kinds []scheduler.SlotKind) {
	for _, k := range o.Kinds {
		if k != scheduler.DefaultKind && k != rareKind && k != specialKind {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// Report is the kit's findings.
type Report struct {
	Policy scheduler.Description
	Games  int
	Pages  int           // unlogged page requests
	Tally  cluster.Tally // of all games, first plays only
	// Problems name the game, the round and the fault; empty when the policy passes.
	Problems []string
	// Stopped says that the context of Check ended first: the only problem. Games are those that passed.
	Stopped bool
	// Story is a short game in which the first of the problems happens too; nil when the policy passes,
	// the problem is not of a game, or Options.ShortenFor is negative.
	Story *Story
	// Warnings are likely mistakes that no rule forbids, of a policy that passes: declared
	// abilities that it never used, or used in vain.
	Warnings []string
}

// problemsMax bounds a report: fixing the first problems shows the next.
const problemsMax = 50

func (r *Report) problem(game, format string, args ...any) {
	if len(r.Problems) < problemsMax {
		r.Problems = append(r.Problems, game+": "+fmt.Sprintf(format, args...))
	}
}

// Err returns the problems as one error, with the story behind them; or nil.
func (r Report) Err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	all := strings.Join(r.Problems, "\n")
	if r.Story != nil {
		all += "\n\n" + r.Story.String()
	}
	return errors.New(all)
}
