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

// Session is that state. Its zero value has no policy. Not safe for concurrent use.
type Session struct {
	current, next *Generation

	inFlight  bool
	pending   *PendingAnswer // the answer to the round in flight, which is being applied; nil: none is
	asked     uint64         // number of the round in flight, or of the last
	askedAt   scheduler.Time // its time
	rounds    uint64         // number of the last round made
	lastRound scheduler.Time

	known         bool // some generation said what it can in this life of the manager
	admits        bool // the last one that stood in for no other admits jobs, and has to
	authenticates bool // and proves who submits
	resumes       bool // the last one resumes what it suspends

	checkpoints map[string]*Checkpoint // by name in the configuration
	dropped     uint64                 // answers of another round or generation
	problem     string                 // the last one
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
	fresh        bool // it was told no offers yet
	wakeAt       scheduler.Time
	building     *SnapshotBuilder  // the snapshot that it is started with; nil: it is made
	events       []scheduler.Event // for its next round, or that follow what was gathered
	notes        int               // how many of them are notes
	refused      int               // how many of them are outcomes of refused decisions
	futileRounds int               // rounds in a row that told of refusals alone
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

// Known says whether some generation of this life said what it can.
func (x *Session) Known() bool { return x.known }

// Admits says whether no job comes in without the word of the last policy that ran and stood in
// for no other. It is false where that policy's word is advice.
func (x *Session) Admits() bool { return x.admits }

// Authenticates says whether that policy proves who submits.
func (x *Session) Authenticates() bool { return x.authenticates }

// Down says whether no policy decides, or one that stands in for another.
func (x *Session) Down() bool { return x.current == nil || x.current.Fallback }

// Resumes says whether the last policy that ran resumes what it suspends.
func (x *Session) Resumes() bool { return x.resumes }

// BeginGeneration has a generation be started, beside what runs. It returns the number of the one
// that was being started and is given up for it; 0: none was.
func (x *Session) BeginGeneration(number uint64, policy string, fallback bool) (given uint64) {
	given = x.Starting()
	x.next = &Generation{Number: number, Policy: policy, Fallback: fallback, fresh: true, building: &SnapshotBuilder{}}
	return given
}

// Started takes a generation's word of what it is. It is false for another than the one
// that is being started.
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
	x.known, x.problem = true, ""
	x.able()
	return old, true
}

// able takes over what the policy that runs says it can do. Whoever stands in for another
// does not open its doors.
func (x *Session) able() {
	x.resumes = x.current.Abilities.Has(scheduler.AbilityResume)
	if x.current.Fallback {
		return
	}
	x.admits = x.current.Abilities.Has(scheduler.AbilityAdmission) && !x.current.Abilities.Has(scheduler.AbilityAdvisoryAdmission)
	x.authenticates = x.current.Abilities.Has(scheduler.AbilityAuthenticator)
}

// enable notes that the policy that runs can do something else from now on.
func (x *Session) enable(a scheduler.Ability, every time.Duration) {
	x.current.can(a, every)
	x.able()
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
	x.current, x.next, x.inFlight, x.pending, x.known = nil, nil, false, nil, false
	x.Requests, x.Changes = Requests{}, Changes{}
}

// CheckCheckpoint says why one that the current policy returned can't be kept, with what it
// is appended to.
func (x *Session) CheckCheckpoint(k scheduler.Checkpoint, most int) error {
	return k.Check(x.checkpoint(), most)
}

// KeepCheckpoint keeps what the current policy returned with the answer at hand.
func (x *Session) KeepCheckpoint(k scheduler.Checkpoint) {
	if x.checkpoints == nil {
		x.checkpoints = map[string]*Checkpoint{}
	}
	x.checkpoints[x.current.Policy] = &Checkpoint{At: x.askedAt, Data: k.After(x.checkpoint())}
}

// checkpoint is the current policy's; nil: it has none.
func (x *Session) checkpoint() *scheduler.Checkpoint {
	if k := x.checkpoints[x.current.Policy]; k != nil {
		return &k.Data
	}
	return nil
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
