package cluster

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The site's rules that a policy is told, in virtual time.
const (
	ReserveMax = 30 * time.Second // how long a reservation lasts, after a soft kill's grace
	ProtectFor = 20 * time.Second // a victim is not taken again that soon
	SuspendMax = 60 * time.Second // then a suspended attempt is killed and queued
)

// What may be suspended on one launcher: so many attempts, and so much of its memory and swap.
const (
	SuspendedMax     = 4
	SuspendedPercent = 75
)

// Others of its rules.
const (
	startDelay  = 20 * time.Millisecond // from an accepted launch to AttemptStarted
	stopDelay   = 20 * time.Millisecond // from an accepted preemption to its effect
	resumeDelay = 20 * time.Millisecond // from an accepted resumption to AttemptResumed
	graceMax    = time.Minute           // of a soft kill
	answerMax   = 10 * time.Second      // for an admission or a request
	thinkMax    = 2 * time.Second       // what may pass while the policy thinks
	failuresMax = 4                     // of one bundle; then its job fails
	avoidMax    = 8                     // launchers that one bundle avoids because it failed there
)

// epoch is where virtual time begins: any time that is not zero.
const epoch scheduler.Time = 1_000_000_000_000

// BusyOver is the CPU load over which a launch counts in Tally.Busy.
const BusyOver = 0.8

// Cluster is the model. It belongs to one goroutine.
//
// It joins the rooms of the model, whose exported methods are its own, takes the policy's
// decisions, and makes snapshots. Each room knows those that stand before it.
type Cluster struct {
	// Abilities decide what the policy is asked and told; set them after Start.
	Abilities scheduler.Ability
	// Plain leaves out what no manager has a way to ask for yet: second attempts of gangs,
	// and stages that grow. Set it before anything happens.
	Plain bool
	// OnEvent is given each event as it happens, and Submitted each job as it comes: for who
	// has another manager live through the same. nil: nobody is.
	OnEvent   func(scheduler.Event)
	Submitted func(scheduler.JobID, Spec)
	// Config is the settings in force: set what the policy was started with.
	Config scheduler.Config
	// Tally counts what happened, for reports.
	Tally Tally
	// Faults lists, in order, what the policy did that no race excuses, or left
	// undone.
	Faults []string

	timeline                  // time, and what is to be told
	exchange                  // with the policy
	reservations reservations // what is kept for whom
	launchers                 // who is there, and what each has to give
	jobs                      // what is to be done
	attempts                  // what is being done

	rng  *rand.Rand
	vain int // preemptions refused in a row
}

// Tally counts what happened.
type Tally struct {
	Rounds, Launches, Preemptions, Victims, Suspensions, Resumptions         int
	Admitted, RefusedJobs, Answers, Notes, Checkpoints, Races, StaleRefusals int
	Submitted, Ended, Failed, Lost, Finished                                 int
	KindsChanged                                                             int // stages that take slots of another kind
	Local, Located                                                           int // groups launched node-local, of those with located input
	Loads, Busy                                                              int // loads told; groups launched where the CPU was told to be busier than BusyOver
	Asked                                                                    int // jobs that the policy was asked to admit
	Protected, NothingGained, PreemptionsRefused                             int // preemptions refused: for these reasons, and in all
	Reservations, Drawn, Lapsed                                              int // that kept anything; that a launch drew on; that ran out and none had
	Changes, Changed                                                         int // other settings that the policy might refuse; those of them that it accepted
	SpeculationOffered, Seconds                                              int // offers to launch a straggler, or what was suspended for long, a second time; those that were taken
	Overdue, Raced                                                           int // of both, those of what was suspended
	ForSuspended, Stuck                                                      int // preemptions for a suspended bundle; suspended ones that could not go on
}

// Add adds another's counts.
func (t *Tally) Add(o Tally) {
	sum, more := reflect.ValueOf(t).Elem(), reflect.ValueOf(o)
	for i := range sum.NumField() {
		sum.Field(i).SetInt(sum.Field(i).Int() + more.Field(i).Int())
	}
}

// New returns an empty cluster.
func New(seed uint64) *Cluster {
	c := &Cluster{rng: rand.New(rand.NewPCG(seed, 7))} //nolint:gosec // seeded on purpose
	c.timeline = newTimeline(&c.OnEvent)
	c.exchange = newExchange(&c.timeline, &c.Config, &c.Abilities, &c.Faults, &c.Tally)
	c.reservations = newReservations(&c.Tally)
	c.launchers = newLaunchers(&c.timeline, &c.reservations, &c.Abilities, &c.Tally)
	c.jobs = newJobs(&c.timeline, &c.exchange, &c.launchers, &c.reservations, &c.Tally)
	c.attempts = newAttempts(c.rng, &c.timeline, &c.launchers, &c.reservations, &c.jobs, &c.Abilities, &c.Tally)
	return c
}

// Step moves time on until there is something to tell, and returns false when
// nothing will ever happen again.
func (c *Cluster) Step() bool {
	for {
		c.advanceManager()
		if c.news() {
			return true
		}
		if !c.advance() {
			return false
		}
	}
}

func (c *Cluster) news() bool { return c.timeline.news() || len(c.changed()) > 0 }

// advanceManager does what the manager does on its own before it makes a round.
func (c *Cluster) advanceManager() {
	c.relaxAvoid()
	c.resumeSome()
}

// Race lets the world move on while the policy thinks.
func (c *Cluster) Race() {
	before := c.Sequence()
	until := c.Now().Add(thinkMax)
	for range 1 + c.rng.IntN(3) {
		if c.due(until) {
			c.advance()
			c.advanceManager()
		}
	}
	c.raced(c.Sequence() != before)
}

// Round makes the next round.
func (c *Cluster) Round() scheduler.Round {
	c.advanceManager()
	return scheduler.Round{Number: c.begin(), Now: c.Now(), Events: c.take(), Offers: c.changedOffers()}
}

// Submit brings a job in: asked for first when the policy admits.
func (c *Cluster) Submit(s Spec) scheduler.JobID {
	c.Tally.Submitted++
	if c.Plain {
		s.Layers = slices.Clone(s.Layers)
		for i := range s.Layers {
			s.Layers[i].Late = 0
		}
	}
	j := c.add(s)
	if c.Submitted != nil {
		c.Submitted(j.id(), s)
	}
	if c.Abilities.Has(scheduler.AbilityAdmission) {
		c.ask(j)
	} else {
		c.admit(j)
	}
	return j.id()
}

// Straggle lets the nth running bundle be offered a second attempt.
func (c *Cluster) Straggle(n int) { c.offerSecond(n, !c.Plain, (*bundle).runsNow) }

// Overdue lets the nth suspended bundle be offered a second attempt, as where the site wants
// that for what was suspended for long.
func (c *Cluster) Overdue(n int) {
	if c.offerSecond(n, !c.Plain, (*bundle).restsNow) {
		c.Tally.Overdue++
	}
}

// Stick has the nth of the suspended bundle attempts fail to go on: it is lost when it is
// resumed.
func (c *Cluster) Stick(n int) { c.stick(n) }

// Idle returns the jobs that have work which fits, while nothing at all runs.
func (c *Cluster) Idle() (ids []scheduler.JobID) {
	if !c.idle() {
		return nil
	}
	for _, j := range c.live() {
		if slices.ContainsFunc(j.bundles, func(b *bundle) bool { return b.state == ready && c.fits(b, nil, nil, 0) }) {
			ids = append(ids, j.id())
		}
	}
	return ids
}
