package view

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/internal/prefetch"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// View is the mirror. The zero View is empty and ready for Start or Apply.
//
// It embeds four parts: events reach them through it, and their exported methods are its own. No
// part accesses another. Bundles refer to their jobs, and attempts to their bundles and launchers.
// The reverse references are lists that the view maintains.
type View struct {
	now   scheduler.Time
	round uint64
	begun bool // by Start, or the first Apply

	launchersMoved bool        // see LaunchersChanged
	aheadRoom      []*Launcher // those with room to launch ahead, in any order

	launchers // the joined launchers
	search    // their free and reserved capacity, and places for bundles
	jobs      // live jobs and their bundles
	attempts  // live attempts
}

// Start discards everything and loads a snapshot. The first round brings the offers.
func (v *View) Start(s scheduler.Snapshot) error {
	v.forgetJobs()
	*v = View{now: s.Now, begun: true, jobs: v.jobs}
	v.snapshotBegins()
	for i, e := range s.Events {
		if err := v.event(e); err != nil {
			return fmt.Errorf("snapshot, event %d (%T): %w", i, e, err)
		}
	}
	if err := v.snapshotEnds(v.Jobs(), &v.launchers); err != nil {
		return err
	}
	v.countUsers()
	return nil
}

// Apply applies a round and discards tentative changes. The error of an inconsistent event names
// it. The events before it have been applied, that event and later ones not.
func (v *View) Apply(r scheduler.Round) error {
	if !v.begun {
		if err := v.Start(scheduler.Snapshot{}); err != nil {
			return err
		}
	}
	v.Capacity.Undo(0)
	if r.Now < v.now {
		return fmt.Errorf("round %d: time went back from %d to %d", r.Number, v.now, r.Now)
	}
	v.now, v.round = r.Now, r.Number
	v.launchersMoved = false
	v.Capacity.searchAnew()
	v.forgetGiven()
	v.forgetEnded()
	for i, e := range r.Events {
		if next := prefetch.Next(r.Events, i); next != nil {
			v.prefetch(next)
		}
		if err := v.event(e); err != nil {
			return fmt.Errorf("round %d, event %d (%T): %w", r.Number, i, e, err)
		}
	}
	for i := range r.Offers {
		if err := v.offer(&r.Offers[i]); err != nil {
			return fmt.Errorf("round %d, offer %d: %w", r.Number, i, err)
		}
	}
	return nil
}

// Now returns the time of the last round, or of the snapshot.
func (v *View) Now() scheduler.Time { return v.now }

// Round returns the number of the last round; 0 before the first.
func (v *View) Round() uint64 { return v.round }

// LaunchersChanged reports whether a launcher joined, left, closed or opened in the last Apply, so
// that Capacity.OpenSlots may have changed.
func (v *View) LaunchersChanged() bool { return v.launchersMoved }

// Sooner returns the earlier of two times for a policy's next round. at is 0 for none, and next
// counts only if it is in the future.
func (v *View) Sooner(at, next scheduler.Time) scheduler.Time {
	if next > v.now && (at == 0 || next < at) {
		return next
	}
	return at
}

func byKind(a, b scheduler.SlotCount) int { return cmp.Compare(a.Kind, b.Kind) }

// insert inserts x into a slice ordered by id, usually at the end.
func insert[T any, K cmp.Ordered](s []T, x T, id func(T) K) []T {
	i := len(s)
	if i > 0 && id(s[i-1]) > id(x) {
		i, _ = slices.BinarySearchFunc(s, id(x), func(y T, k K) int { return cmp.Compare(id(y), k) })
	}
	return slices.Insert(s, i, x)
}

func remove[T any, K cmp.Ordered](s []T, k K, id func(T) K) []T {
	i, found := slices.BinarySearchFunc(s, k, func(y T, k K) int { return cmp.Compare(id(y), k) })
	if !found {
		return s
	}
	return slices.Delete(s, i, i+1)
}

func attemptID(a *Attempt) scheduler.AttemptID    { return a.ID }
func launcherID(l *Launcher) scheduler.LauncherID { return l.ID }
