package cluster

import (
	"container/heap"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The site's rules that a policy is told, in virtual time.
const (
	ReserveMax = 30 * time.Second // how long a reservation lasts, after a soft kill's grace
	ProtectFor = 20 * time.Second // a victim is not taken again that soon
	SuspendMax = 60 * time.Second // then a suspended attempt is killed and queued
)

// Others of its rules.
const (
	startDelay  = 20 * time.Millisecond // from an accepted launch to AttemptStarted
	stopDelay   = 20 * time.Millisecond // from an accepted preemption to its effect
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
type Cluster struct {
	// Abilities decide what the policy is asked and told; set them after Start.
	Abilities scheduler.Ability
	// Plain leaves out what no manager has a way to ask for yet: second attempts of gangs,
	// and stages that grow. Set it before anything happens.
	Plain bool
	// Told is given each event as it happens, and Submitted each job as it comes: for who
	// has another manager live through the same. nil: nobody is.
	Told      func(scheduler.Event)
	Submitted func(scheduler.JobID, Spec)
	// Config is the settings in force: set what the policy was started with.
	Config scheduler.Config
	// Tally counts what happened, for reports.
	Tally Tally
	// Faults lists, in order, what the policy did that no race excuses, or left
	// undone.
	Faults []string

	now      scheduler.Time
	rng      *rand.Rand
	number   uint64
	seq      uint64
	ids      uint64
	jobIDs   scheduler.JobID
	requests uint64
	timers   timers
	wakeAt   scheduler.Time
	woken    bool

	launchers     []*launcher
	jobs          []*job
	asked         []*job
	reserved      []*reservation                // in order of time
	suspendedRuns []*run                        // the first suspended first
	known         map[scheduler.LauncherID]bool // was there once
	drained       map[scheduler.LauncherID]bool // is, or will be when it is there again
	moved         bool                          // launchers came or went
	requested     []telling                     // requests that wait for their answer
	settings      []*setting                    // versions that wait for their verdict
	versions      uint64
	vain          int // preemptions refused in a row
	pending       []scheduler.Event
	offered       map[scheduler.LauncherID]scheduler.Offer
	racy          bool // the world moved while the policy thought
}

// Tally counts what happened.
type Tally struct {
	Rounds, Launches, Preemptions, Victims, Suspensions, Resumptions         int
	Admitted, RefusedJobs, Answers, Notes, Checkpoints, Races, StaleRefusals int
	Submitted, Ended, Failed, Lost, Finished                                 int
	Local, Located                                                           int // groups launched node-local, of those with located input
	Loads, Busy                                                              int // loads told; groups launched where the CPU was told to be busier than BusyOver
	Asked                                                                    int // jobs that the policy was asked to admit
	Protected, NothingGained, PreemptionsRefused                             int // preemptions refused: for these reasons, and in all
	Reservations, Drawn, Lapsed                                              int // that kept anything; that a launch drew on; that ran out and none had
	Changes, Changed                                                         int // other settings that the policy might refuse; those of them that it accepted
	SpeculationOffered, Seconds                                              int // offers to launch a straggler a second time; those that were taken
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
	return &Cluster{
		now: epoch, rng: rand.New(rand.NewPCG(seed, 7)), //nolint:gosec // seeded on purpose
		offered: map[scheduler.LauncherID]scheduler.Offer{}, known: map[scheduler.LauncherID]bool{}, drained: map[scheduler.LauncherID]bool{},
	}
}

// Now returns the virtual time.
func (c *Cluster) Now() scheduler.Time { return c.now }

// timer is something to do at a time; seq keeps equal times in order.
type timer struct {
	at  scheduler.Time
	seq uint64
	do  func()
}

type timers []timer

func (t timers) Len() int { return len(t) }
func (t timers) Less(i, j int) bool {
	return t[i].at < t[j].at || t[i].at == t[j].at && t[i].seq < t[j].seq
}
func (t timers) Swap(i, j int) { t[i], t[j] = t[j], t[i] }

// Push is heap.Interface's.
func (t *timers) Push(x any) { *t = append(*t, x.(timer)) }

// Pop is heap.Interface's.
func (t *timers) Pop() any {
	old := *t
	x := old[len(old)-1]
	*t = old[:len(old)-1]
	return x
}

// After does something at a time from now.
func (c *Cluster) After(d time.Duration, do func()) {
	c.seq++
	heap.Push(&c.timers, timer{c.now.Add(d), c.seq, do})
}

// telling is an event with its place in history.
type telling struct {
	seq   uint64
	event scheduler.Event
}

// tell puts an event into the next round and returns it for the tale of what it
// is about, from which snapshots are made.
func (c *Cluster) tell(e scheduler.Event) telling {
	c.seq++
	c.pending = append(c.pending, e)
	if c.Told != nil {
		c.Told(e)
	}
	return telling{c.seq, e}
}

// Step moves time on until there is something to tell, and returns false when
// nothing will ever happen again.
func (c *Cluster) Step() bool {
	for {
		c.settle()
		if c.news() {
			return true
		}
		if !c.advance() {
			return false
		}
	}
}

func (c *Cluster) news() bool {
	if len(c.pending) > 0 || c.woken {
		return true
	}
	for _, l := range c.launchers {
		if !reflect.DeepEqual(c.offered[l.id], c.offer(l)) {
			return true
		}
	}
	return false
}

// advance does what is next in time, and all else of that moment: what ends at one time,
// such as two reservations that were made together, ends together.
func (c *Cluster) advance() bool {
	wake := c.wakeAt != 0 && (len(c.timers) == 0 || c.wakeAt < c.timers[0].at)
	switch {
	case wake:
		c.now = max(c.now, c.wakeAt)
		c.wakeAt, c.woken = 0, true
	case len(c.timers) > 0:
		c.now = max(c.now, c.timers[0].at)
		for len(c.timers) > 0 && c.timers[0].at <= c.now {
			heap.Pop(&c.timers).(timer).do()
		}
	default:
		return false
	}
	return true
}

// Race lets the world move on while the policy thinks.
func (c *Cluster) Race() {
	c.Tally.Races++
	before := c.seq
	until := c.now.Add(thinkMax)
	for range 1 + c.rng.IntN(3) {
		if len(c.timers) > 0 && c.timers[0].at <= until {
			c.advance()
			c.settle()
		}
	}
	c.racy = c.seq != before
}

// Round makes the next round.
func (c *Cluster) Round() scheduler.Round {
	c.settle()
	c.number++
	c.Tally.Rounds++
	if c.woken {
		c.tell(scheduler.TimePassed{At: c.now})
		c.woken = false
	}
	r := scheduler.Round{Number: c.number, Now: c.now, Events: c.pending}
	c.pending = nil
	if c.Abilities.Has(scheduler.AbilityLoad) {
		for _, l := range c.launchers {
			l.told = l.load
		}
	}
	for _, l := range c.launchers {
		o := c.offer(l)
		if old, told := c.offered[l.id]; !told || !reflect.DeepEqual(old, o) {
			r.Offers = append(r.Offers, o)
			c.offered[l.id] = o
		}
	}
	c.racy = false
	return r
}

// Offers returns all offers as they were last told: what a first round after a
// restart lists.
func (c *Cluster) Offers() []scheduler.Offer {
	var all []scheduler.Offer
	for _, l := range c.launchers {
		if o, told := c.offered[l.id]; told {
			all = append(all, o)
		}
	}
	return all
}

// Live returns the jobs that are submitted and have not ended, in order of id.
func (c *Cluster) Live() []scheduler.JobID {
	var all []scheduler.JobID
	for _, j := range c.jobs {
		all = append(all, j.info.ID)
	}
	return all
}
