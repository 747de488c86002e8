package cluster

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/loop"
	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// The site's rules for the policy, in virtual time.
const (
	ReserveMax = 30 * time.Second // how long a reservation lasts, after a soft kill's grace
	ProtectFor = 20 * time.Second // a victim is not preempted again within this time
	SuspendMax = 60 * time.Second // then a suspended attempt is killed and queued
)

// Bounds of suspension on one launcher: attempts, and shares of its memory and swap.
const (
	SuspendedMax     = 4
	SuspendedPercent = 75
)

// WakeMin is the least time between two wake-ups (scheduler.Decisions.WakeAt). It is far below a
// site's, so that games see a policy that is woken for ever.
const WakeMin = time.Nanosecond

// ReservationsMax bounds the reservations of a policy without a preemption (scheduler.Reserve). It is below
// a site's, so that games reach it.
const ReservationsMax = 8

// SpeculationPercent bounds the second attempts of a job, offered and running, as a part of its live attempts.
const SpeculationPercent = 50

const (
	submitter                = 1                          // of jobs, as a client
	epoch     scheduler.Time = 1_000_000_000_000          // where virtual time begins
	never                    = 1 << 60                    // of durations: later than any game
	aheadFor                 = 5 * time.Second            // for how long an attempt is held ahead at most
	timeMax                  = epoch + 10*365*24*3600*1e9 // the cluster waits for no later event
	thinkMax                 = 2 * time.Second            // events within this time may happen while the policy thinks
)

// Cluster is a core with its launchers, jobs and policy. For one goroutine.
type Cluster struct {
	// Config is the settings in force: set the settings that the policy was started with.
	Config scheduler.Config
	// Tally counts events, for reports.
	Tally Tally
	// Faults lists, in order, the policy's mistakes and omissions that no race excuses.
	Faults []string
	// Exact makes an attempt take exactly Layer.Run, from its launch to its end; default: drawn.
	Exact bool

	loop     loop.Loop
	machines simcluster.Cluster
	rng      *rand.Rand

	launchers map[scheduler.LauncherID]*simcluster.Launcher
	given     scheduler.LauncherID // the last id that the core gave to a launcher
	swap      map[scheduler.LauncherID]int64
	noSuspend map[scheduler.LauncherID]bool
	countable map[scheduler.LauncherID][]*wire.ResourceCount // at their next join
	jobs      map[scheduler.JobID]*job
	lastJob   scheduler.JobID
	lengths   map[uint64]*length           // of attempts
	failed    map[uint64]bool              // bundles with a deliberately failed attempt
	stuck     map[scheduler.AttemptID]bool // attempts that can't be resumed

	policy       string // its name in the core's configuration
	generation   uint64
	abilities    scheduler.Ability
	starting     *wire.Input                                       // its start, until the first step; nil: it has started
	asked        *scheduler.Round                                  // the round to answer, not yet taken; nil: none
	mirror       view.View                                         // the policy's knowledge, with its decisions since
	launched     bool                                              // it launched something since
	progress     map[scheduler.AttemptID]scheduler.AttemptProgress // as last sent
	checkpointAt scheduler.Time                                    // of the round of the last checkpoint
	steps        int                                               // of the core
	askedAt      int                                               // the step that made the last round
	exchange     exchange
	kept         map[keptFor]*kept // reservations
}

// New returns an empty cluster.
func New(seed uint64) *Cluster {
	c := &Cluster{
		rng:       rand.New(rand.NewPCG(seed, 7)), //nolint:gosec // seeded on purpose
		launchers: map[scheduler.LauncherID]*simcluster.Launcher{}, swap: map[scheduler.LauncherID]int64{}, countable: map[scheduler.LauncherID][]*wire.ResourceCount{},
		jobs: map[scheduler.JobID]*job{}, lengths: map[uint64]*length{}, failed: map[uint64]bool{}, stuck: map[scheduler.AttemptID]bool{},
		noSuspend: map[scheduler.LauncherID]bool{},
		policy:    "kit", exchange: newExchange(), kept: map[keptFor]*kept{}, progress: map[scheduler.AttemptID]scheduler.AttemptProgress{},
	}
	c.loop.Pass(epoch)
	c.loop.Core, c.loop.Act, c.loop.Decide = core.New(settings()), c.act, c.decide
	c.machines = simcluster.Cluster{Loop: &c.loop, Job: c.simulated}
	c.input(wire.NewInput(&wire.ManagerStart{Term: 1}))
	return c
}

// settings are the site's rules, without automatic effects of time or measurements.
func settings() core.Settings {
	s := core.DefaultSettings()
	s.ReserveMax, s.ProtectFor, s.SuspendMax = ReserveMax, ProtectFor, SuspendMax
	s.SuspendedMax, s.SuspendedPercent, s.ReservationsMax, s.WakeMin = SuspendedMax, SuspendedPercent, ReservationsMax, WakeMin
	s.SpeculationSharePercent = SpeculationPercent
	s.RoundGap, s.LaunchedGap, s.RefusedGapMax, s.StepWork = 0, 0, 0, 1<<30
	s.CommandTimeout, s.CommandTimeoutMax, s.ReclaimAfter, s.UnplaceableAfter = never, never, never, never
	s.AdmissionMax, s.RequestTimeout, s.SettingsTimeout = never, never, never // see answerMax
	s.AheadBelow, s.AheadFor = never, aheadFor
	s.Speculation, s.PolicyStallAfter, s.ExcludeAfter, s.LostMax, s.MemoryDefault = false, 0, 1<<30, 1<<30, 0
	return s
}

// Epoch returns the time at which each cluster begins.
func (c *Cluster) Epoch() scheduler.Time { return epoch }

// Now returns the virtual time.
func (c *Cluster) Now() scheduler.Time { return c.loop.Now() }

// After does something at a time from now.
func (c *Cluster) After(d time.Duration, do func()) { c.loop.After(d, do) }

// Snapshot returns the snapshot for a policy that starts, as of the last round, with the policy's
// checkpoint. Progress is the last sent one: the core would use the last reported one.
func (c *Cluster) Snapshot() scheduler.Snapshot {
	s := c.loop.Core.Snapshot(c.policy)
	for i, e := range s.Events {
		if p, is := e.(scheduler.AttemptProgress); is {
			if told, known := c.progress[p.Attempt]; known {
				s.Events[i] = told
			}
		}
	}
	slices.SortStableFunc(s.Events, func(x, y scheduler.Event) int { return cmp.Compare(x.When(), y.When()) })
	if s.Checkpoint != nil {
		s.Since, _ = slices.BinarySearchFunc(s.Events, c.checkpointAt+1, func(e scheduler.Event, at scheduler.Time) int { return cmp.Compare(e.When(), at) })
	}
	return s
}

// ShadowStart is the state from which a policy follows the rounds of the deciding one, without
// effect.
type ShadowStart struct {
	Generation  uint64 // that decides; 0: none does
	Round       uint64 // the last one asked: the policy follows from the next one on
	Pending     int    // events that the next round begins with, and that the snapshot includes
	Snapshot    scheduler.Snapshot
	Environment scheduler.Environment
	Offers      []scheduler.Offer // of all launchers, ascending
}

// ShadowStart returns the state now, for a policy with a name. The cluster goes on as without it.
func (c *Cluster) ShadowStart(policy string) ShadowStart {
	return ShadowStart(c.loop.Core.Freeze().ShadowStart(policy))
}

// SnapshotAsOf sets a snapshot's checkpoint, taken after all of it.
func SnapshotAsOf(s scheduler.Snapshot, checkpoint *scheduler.Checkpoint) scheduler.Snapshot {
	s.Checkpoint, s.Since = checkpoint, len(s.Events)
	return s
}

// Started records the start of a policy, with its description. Events until the first Step are in
// its first round.
func (c *Cluster) Started(about scheduler.Description) {
	c.begin()
	c.abilities = about.Abilities
	c.starting = wire.NewPolicyStarted(c.generation, about)
}

// begin starts a generation in the core.
func (c *Cluster) begin() {
	c.generation++
	c.input(wire.NewInput(&wire.PolicyStart{Generation: c.generation, Policy: c.policy}))
}

// TakeOver makes another policy take over, as after a crash of the previous one, and continues when
// start has started it. The new one gets the checkpoints or, like a policy of another name, none.
// TakeOver returns the events that the previous one did not get.
func (c *Cluster) TakeOver(checkpoint bool, start func(scheduler.Snapshot) (scheduler.Description, error)) (untold []scheduler.Event, err error) {
	for c.asked != nil {
		r := c.Round()
		untold = append(untold, r.Events...)
		c.Apply(r.Number, scheduler.Decisions{})
	}
	c.input(wire.NewInput(&wire.PolicyFailed{Generation: c.generation, Reason: "another takes over"}))
	if !checkpoint {
		c.policy += " replaced"
	}
	c.begin()
	about, err := start(c.Snapshot())
	if err != nil {
		return untold, err
	}
	c.abilities = about.Abilities
	c.input(wire.NewPolicyStarted(c.generation, about))
	return untold, nil
}

// Told reports whether the policy was told of a live job, or of one that waits for its admission.
func (c *Cluster) Told(id scheduler.JobID) bool {
	_, asked := c.exchange.asked[id]
	return asked || c.mirror.Job(id) != nil
}

// Has reports whether the policy has an ability.
func (c *Cluster) Has(a scheduler.Ability) bool { return c.abilities.Has(a) }

// Step advances time until there is a round, and returns false when nothing will ever happen again.
func (c *Cluster) Step() bool { return c.StepUntil(timeMax) }

// StepUntil advances time until there is a round, at most to the given time. It returns false when there
// is no round up to then. The clock shows the given time then.
func (c *Cluster) StepUntil(end scheduler.Time) bool {
	if c.starting != nil {
		c.loop.Pass(c.Now())
		c.input(c.starting)
		c.starting = nil
	}
	for c.asked == nil {
		at, ok := c.loop.Upcoming()
		if !ok || at > timeMax || at > end {
			if end < timeMax {
				c.loop.Pass(end)
			}
			return false
		}
		c.loop.Next()
	}
	return true
}

// Round returns the next round, after Step.
func (c *Cluster) Round() scheduler.Round {
	r := *c.asked
	c.asked = nil
	c.Tally.Rounds++
	c.watch(r.Events)
	c.exchange.round(r.Number)
	if err := c.mirror.Apply(r); err != nil {
		panic("cluster: the core's round: " + err.Error()) // package faultsim would have found it
	}
	c.launched = false
	c.watchReserved()
	return r
}

// AsOfRound reports whether the core has made no step since the last round. If it has, a Snapshot
// may have events that only the next round tells.
func (c *Cluster) AsOfRound() bool { return c.steps == c.askedAt }

// Race lets the world move on while the policy thinks.
func (c *Cluster) Race() {
	before := c.steps
	until := c.Now().Add(thinkMax)
	for range 1 + c.rng.IntN(3) {
		if at, ok := c.loop.Upcoming(); ok && at <= until {
			c.loop.Pass(at)
		}
	}
	c.Tally.Races++
	c.exchange.racy = c.steps != before
}

// Apply applies the answer to a round. The next round has the outcome of each decision.
func (c *Cluster) Apply(round uint64, d scheduler.Decisions) {
	if !c.exchange.awaits(round) {
		c.fault("an answer to round %d was dropped", round)
		return
	}
	data, err := schedwire.EncodeDecisions(&d)
	if err != nil {
		c.fault("its answer can't be sent: %v", err)
		return
	}
	if d.Checkpoint != nil {
		c.checkpointAt = c.mirror.Now()
	}
	c.answered(d)
	c.assume(d)
	c.input(wire.NewInput(&wire.PolicyAnswer{Generation: c.generation, Round: round, Decisions: data}))
}

// assume assumes that all launches and resumptions are accepted, until the next round.
func (c *Cluster) assume(d scheduler.Decisions) {
	v := &c.mirror
	for _, x := range d.Resume {
		if a := v.Attempt(x.Attempt); a != nil {
			v.Capacity.TakeForResume(a)
		}
	}
	for _, x := range d.Launch {
		b := v.Bundle(x.Bundle)
		if b == nil || !b.Launchable() || len(x.Launchers) != len(b.Groups) {
			continue
		}
		c.launched = true
		for i, id := range x.Launchers {
			if l := v.Launcher(id); l != nil {
				v.Capacity.TakeFor(l, b, &b.Groups[i])
			}
		}
		v.Launch(b, x.Launchers)
	}
}

// input passes an input to the core at once.
func (c *Cluster) input(in *wire.Input) { c.loop.Step([]*wire.Input{in}) }

func (c *Cluster) decide(b *wire.Batch) []core.Action {
	c.steps++
	return c.loop.Core.Step(b)
}

func (c *Cluster) act(a core.Action) {
	switch a := a.(type) {
	case core.AskPolicy:
		c.asked, c.askedAt = a.Round, c.steps
	case core.Reply:
		switch {
		case a.Client != submitter || a.Failure == nil:
		case c.killed(a.Job): // before the policy admitted it, which is not told of that
			delete(c.exchange.asked, a.Job)
		case strings.Contains(a.Failure.Message, "(core.userLimits)"): // its user may never hold what it needs
			delete(c.jobs, a.Job)
		case !c.exchange.refuses:
			c.fault("the manager refused a job: %s", a.Failure.Message)
		}
	case core.PolicyGone:
		if a.Breach != "" {
			c.fault("the manager ends the policy: %s", a.Breach)
		}
	default:
		c.machines.Act(a)
	}
}
