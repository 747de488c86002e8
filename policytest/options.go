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

// Options say how to test a policy. The zero value is usual.
type Options struct {
	// Config is valid settings to run with; empty means the defaults.
	Config scheduler.Config
	// Bad are settings to be refused with a line; default: an unknown key.
	Bad []scheduler.Config
	// Seeds is how many random games to play, from seed First on; default 10, negative
	// for none.
	Seeds int
	First uint64
	// Restarts is how often, at most, a policy is restarted in one game, with the
	// settings in force, from a snapshot, and a checkpoint with the ability; default 50,
	// negative for never. A plug-in's restart is a new process.
	Restarts int
	// Properties mean something to the policy, such as {preempt, false}: jobs of random
	// games have some of them, besides what means nothing. Names that its settings mention
	// are drawn too, for properties, pools and users.
	Properties []scheduler.Property
	// Queries mean something to the policy's pages, such as price: a policy that has pages is
	// asked for some of them, besides what means nothing, by principals of all kinds. Answers to
	// requests in the log have to be the same after a restart too.
	Queries []string
	// Kinds are the kinds of slots that the site has, besides the kit's own.
	Kinds []scheduler.SlotKind
	// AnswerWithin is real time for one call; default 10 s.
	AnswerWithin time.Duration
	// LocalityMax is how long, in virtual time, a job may wait for slots near its input beside free
	// slots that fit it, before something of it is launched: all delays of the policy's
	// settings together; default 30 s.
	LocalityMax time.Duration
	// NoStories leaves the scripted games out.
	NoStories bool
	// Progress is told of each game before it is played, with how many of all are
	// done, by the goroutine that plays; default: nobody is told. Compare tells nobody.
	Progress func(game string, done, all int)

	valid []scheduler.Config // what the settings are changed to while a game goes on
	words []string           // names in them
}

const (
	seedsDefault    = 10
	restartsDefault = 50
	answerDefault   = 10 * time.Second
	localityDefault = 30 * time.Second
	heartbeat       = time.Second // of launchers
)

func (o Options) filled() Options {
	o.Seeds = cmp.Or(o.Seeds, seedsDefault)
	o.Restarts = cmp.Or(o.Restarts, restartsDefault)
	o.AnswerWithin = cmp.Or(o.AnswerWithin, answerDefault)
	o.LocalityMax = cmp.Or(o.LocalityMax, localityDefault)
	if o.Bad == nil {
		o.Bad = []scheduler.Config{{File: "settings.yaml", Line: 3, Text: []byte("no-such-setting: 1\n")}}
	}
	o.words = words(o.Config)
	return o
}

// limits are the manager's defaults, but for what may be suspended.
func limits() scheduler.Limits {
	return scheduler.Limits{
		AnswerBytes: 4 << 20, CheckpointBytes: 1 << 20, Decisions: 1_000_000,
		GraceMax: time.Minute, RoundDeadline: 10 * time.Second,
		SuspendedMax: cluster.SuspendedMax, SuspendedPercent: cluster.SuspendedPercent,
	}
}

func (o Options) environment(seed uint64) scheduler.Environment {
	return scheduler.Environment{
		Heartbeat: heartbeat, Seed: seed, Kinds: append([]scheduler.SlotKind{scheduler.DefaultKind, rareKind, specialKind}, o.others()...),
		Limits: limits(), Simulated: true,
		ReserveMax: cluster.ReserveMax, ProtectFor: cluster.ProtectFor, SuspendMax: cluster.SuspendMax,
	}
}

// others are the site's kinds that the kit does not have.
func (o Options) others() (kinds []scheduler.SlotKind) {
	for _, k := range o.Kinds {
		if k != scheduler.DefaultKind && k != rareKind && k != specialKind {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// Report is what the kit found.
type Report struct {
	Policy scheduler.Description
	Games  int
	Pages  int           // that were asked for beside the log
	Tally  cluster.Tally // of all games, first plays only
	// Problems name game, round and what was wrong; empty when the policy passes.
	Problems []string
	// Warnings are what no rule forbids, and its author may want to know, of a policy
	// that passes: what it declares and never did, or did in vain.
	Warnings []string
}

// problemsMax bounds a report: whoever mends the first sees the next.
const problemsMax = 50

func (r *Report) problem(game, format string, args ...any) {
	if len(r.Problems) < problemsMax {
		r.Problems = append(r.Problems, game+": "+fmt.Sprintf(format, args...))
	}
}

// Err returns the problems as one error, or nil.
func (r Report) Err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(r.Problems, "\n"))
}
