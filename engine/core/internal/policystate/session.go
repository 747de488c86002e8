// Package policystate is the core's state of its policy. It has the deciding generation, and one
// that is being started. It has their pending events, the round in flight, and requests for the
// policy's pages.
//
// # Invariants
//
// At most one round is in flight, of the current generation; an answer to another is dropped. An
// answer is applied whole before the next round starts, and before another generation takes over.
// An event goes to the current generation and, unless its snapshot will include it, to the next. A
// round holds all events since the previous round, each once.
package policystate

import (
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Session is the core's state of its policy. The zero value has no policy. Not safe for concurrent
// use.
type Session struct {
	current, next *Generation

	inFlight  bool
	pending   *PendingAnswer // the answer to the round in flight, in the course of application; nil: none is
	asked     uint64         // number of the round in flight, or of the last
	askedAt   scheduler.Time // its time
	rounds    uint64         // number of the last round made
	lastRound scheduler.Time

	Last        LastPolicy
	checkpoints Checkpoints
	dropped     uint64 // answers to another round or generation
	problem     string // the last one
	restarts    int

	Requests Requests // for the policy's own pages
	Changes  Changes  // of its settings
}

// Generation is one start of a policy.
type Generation struct {
	Number        uint64
	Policy        string // name in the configuration
	Fallback      bool   // it decides in place of a failed policy
	Name, Version string // as it reports itself
	Abilities     scheduler.Ability
	ProgressEvery time.Duration

	ready        bool // started, and waits for the cut-over
	fresh        bool // no offers were sent to it yet
	wakeAt       scheduler.Time
	lastWake     scheduler.Time    // of its last round with TimePassed; 0: none
	building     *SnapshotBuilder  // the snapshot for its start; nil: complete
	events       []scheduler.Event // for its next round, or that follow the snapshot
	notes        int               // how many of them are notes
	refused      int               // how many of them are outcomes of refused decisions
	launched     int               // how many of them are outcomes of accepted launches
	futileRounds int               // consecutive rounds with only refusals
}

// Checkpoint is a policy's last checkpoint, and the time of its round.
type Checkpoint struct {
	At   scheduler.Time
	Data scheduler.Checkpoint
}

// progressEveryMin is the least interval at which a policy may ask for progress.
const progressEveryMin = 100 * time.Millisecond

// Current is the deciding generation; nil: none is.
func (x *Session) Current() *Generation { return x.current }

// Starting returns the number of the starting generation; 0: none.
func (x *Session) Starting() uint64 {
	if x.next == nil {
		return 0
	}
	return x.next.Number
}

// Has reports whether the deciding policy has an ability.
func (x *Session) Has(a scheduler.Ability) bool {
	return x.current != nil && x.current.Abilities.Has(a)
}

// Down reports whether no policy decides, or a fallback.
func (x *Session) Down() bool { return x.current == nil || x.current.Fallback }

// BeginGeneration begins the start of a generation, while the current one decides. It returns the
// number of an earlier starting generation that is given up for it; 0: none was.
func (x *Session) BeginGeneration(number uint64, policy string, fallback bool) (given uint64) {
	given = x.Starting()
	x.next = &Generation{Number: number, Policy: policy, Fallback: fallback, fresh: true, building: &SnapshotBuilder{}}
	return given
}

// Started records a starting generation's description. It returns false for any other generation.
func (x *Session) Started(number uint64, name, version string, a scheduler.Ability, every time.Duration) bool {
	g := x.next
	if g == nil || g.Number != number {
		return false
	}
	g.Name, g.Version, g.ready = name, version, true
	g.can(a, every)
	return true
}

func (g *Generation) can(a scheduler.Ability, every time.Duration) {
	g.Abilities, g.ProgressEvery = a, max(every, progressEveryMin)
}

// CutOver makes the waiting generation the deciding one, unless a round is in flight. It returns
// the previous one, and whether it changed.
func (x *Session) CutOver() (old *Generation, yes bool) {
	if x.next == nil || !x.next.ready || x.inFlight {
		return nil, false
	}
	old = x.current
	x.current, x.next = x.next, nil
	x.problem = ""
	x.Last.note(x.current)
	return old, true
}

// LastPolicy is the abilities of the last policy, even while none runs. The zero value is that of a
// core without any earlier policy.
type LastPolicy struct {
	known         bool // some generation reported its abilities in this life of the manager
	admits        bool
	authenticates bool
	resumes       bool
}

// Known reports whether some generation of this life of the manager reported its abilities.
func (l *LastPolicy) Known() bool { return l.known }

// Admits reports whether the last policy that was no fallback has to admit each job. It is false if
// its admission is advice.
func (l *LastPolicy) Admits() bool { return l.admits }

// Authenticates reports whether the last policy that was no fallback authenticates submitters.
func (l *LastPolicy) Authenticates() bool { return l.authenticates }

// Resumes reports whether the last policy resumes the attempts that it suspends.
func (l *LastPolicy) Resumes() bool { return l.resumes }

// note records a deciding generation's abilities. A fallback admits no jobs that the policy would
// have to admit.
func (l *LastPolicy) note(g *Generation) {
	l.known = true
	l.resumes = g.Abilities.Has(scheduler.AbilityResume)
	if g.Fallback {
		return
	}
	l.admits = g.Abilities.Has(scheduler.AbilityAdmission) && !g.Abilities.Has(scheduler.AbilityAdvisoryAdmission)
	l.authenticates = g.Abilities.Has(scheduler.AbilityAuthenticator)
}

// enable records a new ability of the running policy.
func (x *Session) enable(a scheduler.Ability, every time.Duration) {
	x.current.can(a, every)
	x.Last.note(x.current)
}

// Failed says which generation failed.
type Failed int

// Results of Fail.
const (
	FailedNone Failed = iota // a generation that is gone already
	FailedNext
	FailedCurrent
)

// Fail records that a generation is gone. The rest of a current generation's answer in the course
// of application is dropped.
func (x *Session) Fail(number uint64, reason string) Failed {
	switch {
	case x.next != nil && x.next.Number == number:
		x.next, x.problem = nil, reason
		return FailedNext
	case x.current != nil && x.current.Number == number:
		x.current, x.inFlight, x.pending = nil, false, nil
		x.problem = reason
		x.restarts++
		return FailedCurrent
	}
	return FailedNone
}

// Forget drops the state of the manager's previous life: its policy's processes are gone, and
// clients have to ask again.
func (x *Session) Forget() {
	x.current, x.next, x.inFlight, x.pending, x.Last.known = nil, nil, false, nil, false
	x.Requests, x.Changes = Requests{}, Changes{}
}

// Checkpoints keep the policies' last checkpoints, by name in the configuration. The zero value is
// empty.
type Checkpoints struct{ byPolicy map[string]*Checkpoint }

// Of returns a policy's checkpoint; nil: it left none.
func (c *Checkpoints) Of(policy string) *Checkpoint { return c.byPolicy[policy] }

func (c *Checkpoints) data(policy string) *scheduler.Checkpoint {
	if k := c.byPolicy[policy]; k != nil {
		return &k.Data
	}
	return nil
}

// CheckCheckpoint returns why the current policy's checkpoint can't be kept, together with the data
// that it is appended to. most is in bytes.
func (x *Session) CheckCheckpoint(k scheduler.Checkpoint, most int) error {
	return k.Check(x.checkpoints.data(x.current.Policy), most)
}

// KeepCheckpoint keeps the current policy's checkpoint from the current answer.
func (x *Session) KeepCheckpoint(k scheduler.Checkpoint) {
	c := &x.checkpoints
	if c.byPolicy == nil {
		c.byPolicy = map[string]*Checkpoint{}
	}
	c.byPolicy[x.current.Policy] = &Checkpoint{At: x.askedAt, Data: k.After(c.data(x.current.Policy))}
}

// State is the part shown in status.
type State struct {
	Rounds, Dropped uint64 // rounds made; answers to another round or generation
	Restarts        int    // how often one failed
	Problem         string // the last; "" after a later policy took over
	InFlight        bool
}

// State returns the part shown in status.
func (x *Session) State() State {
	return State{x.rounds, x.dropped, x.restarts, x.problem, x.inFlight}
}
