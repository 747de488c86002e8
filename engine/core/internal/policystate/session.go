// Package policystate is what the core knows of its policy. There is the generation that decides,
// and one that starts beside it. There are the events they are to be sent, the round in flight, and
// requests for the policy's pages.
//
// # Invariants
//
// At most one round is in flight, of the current generation; an answer to another is dropped. An
// answer is applied whole before the next round starts, and before another generation takes over.
// An event goes to the current generation and, unless its snapshot will show it, to the next. A
// round holds all events since the round before, each once.
package policystate

import (
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Session is what the core knows of its policy. The zero value has none. Not safe for concurrent use.
type Session struct {
	current, next *Generation

	inFlight  bool
	pending   *PendingAnswer // the answer to the round in flight, which is being applied; nil: none is
	asked     uint64         // number of the round in flight, or of the last
	askedAt   scheduler.Time // its time
	rounds    uint64         // number of the last round made
	lastRound scheduler.Time

	Last        LastPolicy
	checkpoints Checkpoints
	dropped     uint64 // answers of another round or generation
	problem     string // the last one
	restarts    int

	Requests Requests // for the policy's own pages
	Changes  Changes  // of its settings
}

// Generation is one life of a policy.
type Generation struct {
	Number        uint64
	Policy        string // name in the configuration
	Fallback      bool   // it decides for a policy that fails
	Name, Version string // as it says itself
	Abilities     scheduler.Ability
	ProgressEvery time.Duration

	ready        bool // started, and waits for the cut-over
	fresh        bool // it was sent no offers yet
	wakeAt       scheduler.Time
	building     *SnapshotBuilder  // the snapshot that it is started with; nil: it is made
	events       []scheduler.Event // for its next round, or that follow the snapshot
	notes        int               // how many of them are notes
	refused      int               // how many of them are outcomes of refused decisions
	futileRounds int               // rounds in a row that carried refusals alone
}

// Checkpoint is what a policy returned last, and the time of the round it returned it for.
type Checkpoint struct {
	At   scheduler.Time
	Data scheduler.Checkpoint
}

// progressEveryMin is the least interval at which a policy may ask for progress.
const progressEveryMin = 100 * time.Millisecond

// Current is the generation that decides; nil: none does.
func (x *Session) Current() *Generation { return x.current }

// Starting is the number of the generation that is being started; 0: none is.
func (x *Session) Starting() uint64 {
	if x.next == nil {
		return 0
	}
	return x.next.Number
}

// Has says whether a policy decides that has an ability.
func (x *Session) Has(a scheduler.Ability) bool {
	return x.current != nil && x.current.Abilities.Has(a)
}

// Down says whether no policy decides, or one that stands in for another.
func (x *Session) Down() bool { return x.current == nil || x.current.Fallback }

// BeginGeneration has a generation be started, beside what runs. It returns the number of the one
// that was being started and is given up for it; 0: none was.
func (x *Session) BeginGeneration(number uint64, policy string, fallback bool) (given uint64) {
	given = x.Starting()
	x.next = &Generation{Number: number, Policy: policy, Fallback: fallback, fresh: true, building: &SnapshotBuilder{}}
	return given
}

// Started notes what a generation says that it is. It returns false for another than the one that is
// being started.
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

// CutOver hands the deciding to the generation that waits for it, unless a round is in
// flight. It returns the one that decided before, and whether another does now.
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

// LastPolicy is what the policy that ran last can do, also while none runs. The zero value is that
// of a core that knew no policy.
type LastPolicy struct {
	known         bool // some generation said what it can in this life of the manager
	admits        bool
	authenticates bool
	resumes       bool
}

// Known says whether some generation of this life of the manager said what it can do.
func (l *LastPolicy) Known() bool { return l.known }

// Admits says whether the last policy that was no fallback has to admit each job. It is false if
// its admission is advice.
func (l *LastPolicy) Admits() bool { return l.admits }

// Authenticates says whether the last policy that was no fallback proves who submits a job.
func (l *LastPolicy) Authenticates() bool { return l.authenticates }

// Resumes says whether the last policy resumes what it suspends.
func (l *LastPolicy) Resumes() bool { return l.resumes }

// note takes over what a generation that decides can do. A fallback admits no jobs that the policy
// would have to admit.
func (l *LastPolicy) note(g *Generation) {
	l.known = true
	l.resumes = g.Abilities.Has(scheduler.AbilityResume)
	if g.Fallback {
		return
	}
	l.admits = g.Abilities.Has(scheduler.AbilityAdmission) && !g.Abilities.Has(scheduler.AbilityAdvisoryAdmission)
	l.authenticates = g.Abilities.Has(scheduler.AbilityAuthenticator)
}

// enable notes that the policy that runs can do something else from now on.
func (x *Session) enable(a scheduler.Ability, every time.Duration) {
	x.current.can(a, every)
	x.Last.note(x.current)
}

// Failed is which generation failed.
type Failed int

// What Fail returns.
const (
	FailedNone Failed = iota // one that is gone already
	FailedNext
	FailedCurrent
)

// Fail takes in that a generation is gone. The answer of the current one that was being
// applied is not applied any further.
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

// Forget drops what belongs to the last life of the manager: its policy's processes are
// gone, and clients have to ask again.
func (x *Session) Forget() {
	x.current, x.next, x.inFlight, x.pending, x.Last.known = nil, nil, false, nil, false
	x.Requests, x.Changes = Requests{}, Changes{}
}

// Checkpoints keep what policies returned last, by name in the configuration. The zero value has none.
type Checkpoints struct{ byPolicy map[string]*Checkpoint }

// Of returns that of a policy; nil: it left none.
func (c *Checkpoints) Of(policy string) *Checkpoint { return c.byPolicy[policy] }

func (c *Checkpoints) data(policy string) *scheduler.Checkpoint {
	if k := c.byPolicy[policy]; k != nil {
		return &k.Data
	}
	return nil
}

// CheckCheckpoint says why what the current policy returned can't be kept, together with what it
// is appended to. Most is in bytes.
func (x *Session) CheckCheckpoint(k scheduler.Checkpoint, most int) error {
	return k.Check(x.checkpoints.data(x.current.Policy), most)
}

// KeepCheckpoint keeps what the current policy returned with the answer at hand.
func (x *Session) KeepCheckpoint(k scheduler.Checkpoint) {
	c := &x.checkpoints
	if c.byPolicy == nil {
		c.byPolicy = map[string]*Checkpoint{}
	}
	c.byPolicy[x.current.Policy] = &Checkpoint{At: x.askedAt, Data: k.After(c.data(x.current.Policy))}
}

// State is what status shows.
type State struct {
	Rounds, Dropped uint64 // rounds made; answers of another round or generation
	Restarts        int    // how often one failed
	Problem         string // the last; "" when one took over since
	InFlight        bool
}

// State returns it.
func (x *Session) State() State {
	return State{x.rounds, x.dropped, x.restarts, x.problem, x.inFlight}
}
