package core

import (
	"cmp"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/capacity"
	"github.com/hamadryad/hamadryad/engine/core/commands"
	"github.com/hamadryad/hamadryad/engine/core/inputs"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// run is a bundle attempt: all of its groups' attempts together.
type run struct {
	id          uint64 // of its first attempt
	bundle      *bundle
	attempts    []*attempt // by group
	commits     []*commit  // by group, of those that finished
	token       []byte
	speculative bool
	live        int
	peersSent   bool
	granted     bool                     // has the commit grant
	stopped     scheduler.AttemptOutcome // why all of it is being stopped; 0: it is not
	failure     *wire.Failure            // why it failed
	lost        string                   // why it was lost
	launched    scheduler.Time
	toSuspend   scheduler.Time  // when it was last preempted to be suspended; 0: never
	suspendFor  scheduler.JobID // for whom
	suspended   scheduler.Time  // since when its last attempt was; 0: it is not
	suspension  uint64          // its number in Core.suspended; not in checkpoints, which have the order
}

// attemptPhase is where a live attempt stands.
type attemptPhase uint8

const (
	attemptAssigned attemptPhase = iota
	attemptRunning
	attemptSuspended
	attemptEnded
)

// attempt is one try at running a group.
type attempt struct {
	id       scheduler.AttemptID
	run      *run
	group    int
	launcher *launcher
	stage    int32 // that its group counts for
	index    int32 // of its group's first node
	capacity.Holding
	places  [attemptSets]int32 // in its job's and its launcher's set
	phase   attemptPhase
	started scheduler.Time
	since   scheduler.Time // running or suspended
	ran     time.Duration  // up to since, net of suspension
	phased  scheduler.Time
	outcome scheduler.AttemptOutcome // once it ended
	address string

	stop       *stop
	suspending bool
	resuming   bool
	pending    commands.Pending

	reads    inputs.Reader
	progress float64
	work     *wire.Work
	told     scheduler.Time // of its progress
}

// stop is why an attempt is being stopped.
type stop struct {
	outcome scheduler.AttemptOutcome
	grace   time.Duration
	reason  string
	forJob  scheduler.JobID
	at      scheduler.Time
}

// running returns how long an attempt has run, net of suspension.
func (a *attempt) running(now scheduler.Time) time.Duration {
	if a.phase == attemptRunning {
		return a.ran + now.Sub(a.since)
	}
	return a.ran
}

// attemptSet is a job's live attempts, or a launcher's, in no order. Each attempt
// knows its place in both, so that one goes without a search.
type attemptSet []*attempt

// Which set a place is of.
const (
	inJob = iota
	inLauncher
	attemptSets
)

func (s *attemptSet) add(a *attempt, which int) {
	a.places[which] = int32(len(*s))
	*s = append(*s, a)
}

// remove takes an attempt out of a set that it is in.
func (s *attemptSet) remove(a *attempt, which int) {
	last := len(*s) - 1
	moved := (*s)[last]
	(*s)[a.places[which]] = moved
	moved.places[which] = a.places[which]
	(*s)[last] = nil
	*s = (*s)[:last]
}

// sorted lists the attempts in order of id. The list does not change with the set.
func (s attemptSet) sorted() []*attempt {
	list := slices.Clone(s)
	slices.SortFunc(list, func(x, y *attempt) int { return cmp.Compare(x.id, y.id) })
	return list
}

// attempt returns the live attempt of an id on a launcher, or nil.
func (c *Core) attempt(l *launcher, id uint64) *attempt {
	if a := c.attempts.Get(scheduler.AttemptID(id)); a != nil && a.launcher == l {
		return a
	}
	return nil
}

// addAttempt makes an attempt a live one.
func (c *Core) addAttempt(a *attempt) {
	c.attempts.Set(a.id, a)
	a.run.bundle.job.attempts.add(a, inJob)
	a.launcher.attempts.add(a, inLauncher)
	if a.run.speculative {
		a.run.bundle.job.doubled++
	}
	if a.phase == attemptSuspended {
		a.rest(+1)
	}
}

// removeAttempt ends that.
func (c *Core) removeAttempt(a *attempt) {
	c.attempts.Delete(a.id)
	a.run.bundle.job.attempts.remove(a, inJob)
	a.launcher.attempts.remove(a, inLauncher)
	if a.run.speculative {
		a.run.bundle.job.doubled--
	}
	if a.phase == attemptSuspended {
		a.rest(-1)
	}
}

// rest counts a suspended attempt, or that it is none any more.
func (a *attempt) rest(by int) {
	a.launcher.suspended += by
	a.run.bundle.job.resting += by
}
