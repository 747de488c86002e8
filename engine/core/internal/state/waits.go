package state

import (
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/internal/sortedset"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Waits is what a job waits for: launchers that could hold its bundles, room for work that its
// early readers need, and the policy. The zero value waits for nothing.
type Waits struct {
	watchingReaders bool              // the timer for early readers is set
	roomSince       scheduler.Time    // since when each check found room; 0: the last found none
	unplaceable     scheduler.Time    // since when no launchers could hold some bundle; 0: they can hold each
	whyNot          string            // the message for it
	policy          scheduler.Waiting // the policy's reason
	idleSince       scheduler.Time    // see IdleSince
}

// UnplaceableRemedy says what helps a job with a bundle that no launchers could hold.
const UnplaceableRemedy = ": ask for less, or add launchers"

// NotePlaceable notes why no launchers could hold some bundle; "": they can hold each. It returns
// whether the reason changed, and whether there was none before.
func (w *Waits) NotePlaceable(why string, now scheduler.Time) (changed, begins bool) {
	changed = w.whyNot != why
	w.whyNot = why
	begins = why != "" && w.unplaceable == 0
	switch {
	case why == "":
		w.unplaceable = 0
	case begins:
		w.unplaceable = now
	}
	return changed, begins
}

// Unplaceable returns since when no launchers could hold some bundle; 0: they can hold each.
func (w *Waits) Unplaceable() scheduler.Time { return w.unplaceable }

// WhyNot returns why no launchers could hold some bundle; "": they can hold each.
func (w *Waits) WhyNot() string { return w.whyNot }

// WatchReaders notes that the timer for early readers is set. It returns false if it was set before.
func (w *Waits) WatchReaders() bool {
	began := !w.watchingReaders
	w.watchingReaders = true
	return began
}

// WatchDone records that the timer for early readers was due.
func (w *Waits) WatchDone() { w.watchingReaders = false }

// NoteRoom notes whether work that early readers need has room now.
func (w *Waits) NoteRoom(room bool, now scheduler.Time) {
	switch {
	case !room:
		w.roomSince = 0
	case w.roomSince == 0:
		w.roomSince = now
	}
}

// HadRoomFor returns how long every check has found room for the work that early readers need.
func (w *Waits) HadRoomFor(now scheduler.Time) time.Duration {
	if w.roomSince == 0 {
		return 0
	}
	return now.Sub(w.roomSince)
}

// IdleSince returns since when no attempt of the job is live under the deciding policy; 0: none ever
// was. It means nothing while one is.
func (w *Waits) IdleSince() scheduler.Time { return w.idleSince }

// Policy returns the policy's reason to let the job wait.
func (w *Waits) Policy() scheduler.Waiting { return w.policy }

// NotePolicy records the policy's reason. It returns false if the reason is unchanged.
func (w *Waits) NotePolicy(reason scheduler.Waiting) (changed bool) {
	changed = w.policy != reason
	w.policy = reason
	return changed
}

// codePlaceable codes a part that lies together in a checkpoint.
func (w *Waits) codePlaceable(c *checkpoint.Codec) {
	checkpoint.Num(c, &w.unplaceable)
	checkpoint.Str(c, &w.whyNot)
	checkpoint.Num(c, &w.policy.Job)
	checkpoint.Num(c, &w.policy.Reason)
	checkpoint.Str(c, &w.policy.Detail)
}

// Notes are the notes in a job's status, the newest last, up to a bound. The zero value is
// empty.
type Notes struct {
	list    []string
	shared  bool // others have the list: it is copied before it changes
	dropped int
}

// List returns the notes. The caller must not change the list.
func (n *Notes) List() []string { return n.list }

// Dropped returns how many older notes were dropped.
func (n *Notes) Dropped() int { return n.dropped }

// Share returns the notes in a list that does not change any more.
func (n *Notes) Share() []string {
	n.shared = true
	return n.list[:len(n.list):len(n.list)]
}

func (n *Notes) add(text string, most int) {
	if n.shared {
		n.list, n.shared = slices.Clone(n.list), false
	}
	if len(n.list) >= most {
		drop := len(n.list) - most + 1
		n.list = slices.Delete(n.list, 0, drop)
		n.dropped += drop
	}
	n.list = append(n.list, text)
}

func (n *Notes) code(w *checkpoint.Codec) {
	checkpoint.List(w, &n.list, checkpoint.Str[string])
	checkpoint.Num(w, &n.dropped)
}

// LauncherSet is a set of launchers, in order of id. The zero value is empty.
type LauncherSet struct{ ids []scheduler.LauncherID }

// IDs returns its launchers, ascending. The caller must not change the list.
func (s *LauncherSet) IDs() []scheduler.LauncherID { return s.ids }

// Add adds a launcher.
func (s *LauncherSet) Add(id scheduler.LauncherID) { s.ids = sortedset.Add(s.ids, id) }

// RemoveFirst removes and returns the launcher with the smallest id. The set must not be empty.
func (s *LauncherSet) RemoveFirst() (id scheduler.LauncherID) {
	id, s.ids = s.ids[0], s.ids[1:]
	return id
}
