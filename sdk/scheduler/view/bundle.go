package view

import (
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// BundleState is the state of a bundle.
type BundleState uint8

// The states of a bundle, in order of progress.
const (
	Waiting  BundleState = iota // ended without result, was withdrawn, or was reopened
	Ready                       // may be launched
	Launched                    // has live attempts
	Finished                    // each group has finished
)

// String returns the state's name.
func (s BundleState) String() string {
	return [...]string{"waiting", "ready", "launched", "finished"}[s]
}

// Bundle is a bundle that was ready at least once. If it is launchable, it is in its job's lists.
// Its groups are in the counts of its job's stages.
type Bundle struct {
	ID    scheduler.BundleID
	Job   *Job
	State BundleState
	// SpeculationOffered means that the bundle runs and may be launched a second time.
	SpeculationOffered bool
	// Groups is nil when the bundle is finished.
	Groups []scheduler.Group
	// Avoid lists launchers that the manager will refuse for the bundle, ascending.
	Avoid []scheduler.LauncherID
	// Since is when it last became ready, or a second attempt was offered.
	Since scheduler.Time
	// ProtectedUntil is when attempts of the bundle may be preempted again; 0 if they were never
	// protected. Attempts that commit are never preempted; policies are not informed of those.
	ProtectedUntil scheduler.Time
	// ReservedOn are the launchers of the policy's reservation for the bundle (scheduler.Reserve),
	// one for each group, and ReservedUntil is its end; nil and 0: it has none. How much of it is
	// there stands in the launchers' offers.
	ReservedOn    []scheduler.LauncherID
	ReservedUntil scheduler.Time
	// Owner is data of the policy; the view ignores it.
	Owner any

	stages   *[]scheduler.StageID // of its groups, where it has several
	stage    scheduler.StageID    // of its group, where it has one
	staged   bool                 // its stages are known; they are kept when Groups is dropped
	attempts []*Attempt           // live, of this and earlier readiness
	turn     int                  // counts BundleReady events
	given    uint64               // the turn in which the policy launched it or left it out
	near     *near                // kept by where
}

// Launchable reports whether the bundle may be launched.
func (b *Bundle) Launchable() bool { return b.State == Ready || b.SpeculationOffered }

// NoSuspend reports whether the bundle's attempts must not be suspended, because a stage of one of
// its groups forbids it.
func (b *Bundle) NoSuspend() bool {
	for i := range b.Groups {
		if b.Job.Info.Stages[b.Groups[i].Stage].NoSuspend {
			return true
		}
	}
	return false
}

// Expected returns how long an attempt of the bundle is expected to run, by the longest of its groups'
// stages. It returns 0 if nothing is known of one of them, or if the bundle is finished.
func (b *Bundle) Expected() (longest time.Duration) {
	for i := range b.Groups {
		d := b.Job.Info.Stages[b.Groups[i].Stage].Expected
		if d == 0 {
			return 0
		}
		longest = max(longest, d)
	}
	return longest
}

// Attempts returns the bundle's live attempts.
func (b *Bundle) Attempts() []*Attempt { return b.attempts }

// Unfit returns why a bundle waits for which Fit found no place on any launcher. Either its user is at
// the limit, or it needs several launchers, or launchers are excluded for it, or there is no room.
func (b *Bundle) Unfit() scheduler.WaitReason {
	switch {
	case !b.WithinUserLimit():
		return scheduler.WaitAtLimit
	case len(b.Groups) > 1:
		return scheduler.WaitGang
	case len(b.Avoid) > 0:
		return scheduler.WaitExcluded
	}
	return scheduler.WaitNoCapacity
}

// LeaveOut makes walks skip the bundle until the next Apply, without a decision to launch it. A
// policy that reclaims slots for a bundle uses it to avoid choosing the bundle again.
func (b *Bundle) LeaveOut() {
	b.given = *b.Job.turn
	b.Job.given = b.given
}

// LeftOut reports whether the bundle was given to View.Launch or LeaveOut since the last Apply.
func (b *Bundle) LeftOut() bool { return b.given == *b.Job.turn }

// CancelLaunch cancels the decision to launch the bundle: walks yield it again. Capacity taken for
// it stays taken.
func (b *Bundle) CancelLaunch() { b.given = 0 }

func (b *Bundle) avoids(l *Launcher) bool {
	return len(b.Avoid) > 0 && slices.Contains(b.Avoid, l.ID)
}

// becomeReady makes a waiting bundle launchable.
func (b *Bundle) becomeReady(e *scheduler.BundleReady) {
	b.State, b.Groups, b.Avoid, b.Since = Ready, e.Groups, e.Avoid, e.At
	b.turn++
	b.Job.launchable.add(b)
}

// withdraw makes a ready bundle wait.
func (b *Bundle) withdraw() {
	b.Job.launchable.remove(b)
	b.State = Waiting
}

// offerSpeculation makes a running bundle launchable once more.
func (b *Bundle) offerSpeculation(e *scheduler.SpeculationOffered) {
	b.SpeculationOffered, b.Groups, b.Avoid, b.Since = true, e.Groups, e.Avoid, e.At
	b.Job.launchable.add(b)
}

// onceOnly ends the offer to launch a bundle a second time.
func (b *Bundle) onceOnly() {
	if b.SpeculationOffered {
		b.Job.launchable.remove(b)
		b.SpeculationOffered = false
	}
}

// launch marks a launchable bundle as launched. It returns the turn of its readiness, and whether
// the bundle was already launched in that turn.
func (b *Bundle) launch() (turn int, again bool) {
	again = b.State == Launched
	b.Job.launchable.remove(b)
	b.SpeculationOffered = false
	if !again {
		b.move(Launched)
	}
	return b.turn, again
}

func (b *Bundle) enter(a *Attempt) { b.attempts = append(b.attempts, a) }

// attemptEnded removes an attempt from the bundle. The bundle is finished after the last group of a
// launch, and waits if it has no attempts left.
func (b *Bundle) attemptEnded(a *Attempt, outcome scheduler.AttemptOutcome) {
	b.attempts = slices.DeleteFunc(b.attempts, func(x *Attempt) bool { return x == a })
	b.onceOnly()
	if !a.isOf(b.turn) || b.State != Launched {
		return // of an earlier run, or of a bundle whose other attempt has finished
	}
	switch {
	case outcome == scheduler.Finished && a.isLast():
		b.move(Finished)
		b.Groups, b.Avoid = nil, nil
	case !slices.ContainsFunc(b.attempts, func(x *Attempt) bool { return x.isOf(b.turn) }):
		b.move(Waiting)
	}
}

// move changes a bundle's state and the counts of its stages.
func (b *Bundle) move(to BundleState) {
	if !b.staged {
		b.keepStages()
	}
	if b.stages == nil {
		b.Job.Counts[b.stage].move(b.State, to)
	} else {
		for _, s := range *b.stages {
			b.Job.Counts[s].move(b.State, to)
		}
	}
	b.State = to
}

// keepStages records the stages of its groups.
func (b *Bundle) keepStages() {
	b.staged = true
	if len(b.Groups) == 1 {
		b.stage = b.Groups[0].Stage
		return
	}
	list := make([]scheduler.StageID, len(b.Groups))
	for i := range b.Groups {
		list[i] = b.Groups[i].Stage
	}
	b.stages = &list
}
