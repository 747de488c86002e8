package policystate

import (
	"cmp"
	"math"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// SnapshotBuilder is a snapshot that is being made, in slices: it tells the world as it is by
// the events that would have told it, with their original times: launchers, live jobs,
// what is ready, what runs, and what finished with how long it took.
//
// What happens meanwhile to what was come to is told by events, as after a snapshot;
// what happens to the rest is seen when that is come to. So, put in order of time, both
// together are the snapshot of the moment at which the last was come to.
type SnapshotBuilder struct {
	Launcher scheduler.LauncherID // this one and all before were come to
	Job      scheduler.JobID      // likewise; of this one the bundles below Bundle
	Bundle   int
	pages    [][]scheduler.Event // what was told; not in checkpoints, as a new life of the manager starts its policy anew
}

const (
	// snapshotPage is how many events a page holds: a list that grows would be copied
	// as a whole.
	snapshotPage = 4096
	// AllLaunchers is Gathering.Launcher when all were come to.
	AllLaunchers = scheduler.LauncherID(math.MaxUint64)
)

// Whether a launcher, a job or a bundle was come to. A snapshot that is made, nil, has
// come to all.
func (g *SnapshotBuilder) hasLauncher(id scheduler.LauncherID) bool {
	return g == nil || id <= g.Launcher
}

func (g *SnapshotBuilder) hasJob(id scheduler.JobID) bool { return g == nil || id <= g.Job }

func (g *SnapshotBuilder) hasBundle(job scheduler.JobID, index int) bool {
	return g == nil || job < g.Job || job == g.Job && index < g.Bundle
}

// Add tells an event of what is come to.
func (g *SnapshotBuilder) Add(e scheduler.Event) {
	last := len(g.pages) - 1
	if last < 0 || len(g.pages[last]) == snapshotPage {
		g.pages = append(g.pages, make([]scheduler.Event, 0, snapshotPage))
		last++
	}
	g.pages[last] = append(g.pages[last], e)
}

// Building is the snapshot that is being made; nil: none is.
func (x *Session) Building() *SnapshotBuilder {
	if x.next == nil {
		return nil
	}
	return x.next.building
}

// SnapshotParts is what a snapshot is made of.
type SnapshotParts struct {
	now        scheduler.Time
	pages      [][]scheduler.Event
	checkpoint *Checkpoint // nil: it left none
}

// FinishSnapshot ends the gathering, when all was come to.
func (x *Session) FinishSnapshot(now scheduler.Time) SnapshotParts {
	n := x.next
	g := SnapshotParts{now, append(n.building.pages, n.events), x.checkpoints[n.Policy]}
	n.building, n.events = nil, nil
	return g
}

// Snapshot puts what was gathered in order. With a million tasks that takes a second, and
// is done beside the core. Each call makes it anew.
func (g SnapshotParts) Snapshot() scheduler.Snapshot {
	events := slices.Concat(g.pages...)
	// The events of one launcher, job or bundle are in order of time already; a
	// stable sort keeps what has one time in the order it has to have.
	slices.SortStableFunc(events, func(x, y scheduler.Event) int { return cmp.Compare(x.When(), y.When()) })
	s := scheduler.Snapshot{Now: g.now, Events: events}
	if k := g.checkpoint; k != nil {
		s.Checkpoint = &scheduler.Checkpoint{Version: k.Data.Version, Data: slices.Clone(k.Data.Data)}
		s.Since, _ = slices.BinarySearchFunc(events, k.At+1, func(e scheduler.Event, at scheduler.Time) int { return cmp.Compare(e.When(), at) })
	}
	return s
}

// Notify tells an event to the policy that decides, if there is one.
func (x *Session) Notify(e scheduler.Event) { x.current.notify(e) }

func (g *Generation) notify(e scheduler.Event) {
	if g != nil {
		g.events = append(g.events, e)
	}
}

// NotifyLauncher tells an event about a launcher to the policy, and to one that is being
// started, unless that will see it when its snapshot comes to the launcher.
func (x *Session) NotifyLauncher(id scheduler.LauncherID, e scheduler.Event) {
	x.Notify(e)
	if n := x.next; n != nil && n.building.hasLauncher(id) {
		n.notify(e)
	}
}

// NotifyJob is the same for an event about a job.
func (x *Session) NotifyJob(id scheduler.JobID, e scheduler.Event) {
	x.Notify(e)
	if n := x.next; n != nil && n.building.hasJob(id) {
		n.notify(e)
	}
}

// NotifyBundle is the same for an event about a bundle: the one of an index of a job.
func (x *Session) NotifyBundle(job scheduler.JobID, index int, e scheduler.Event) {
	x.Notify(e)
	if x.NextKnows(job, index) {
		x.next.notify(e)
	}
}

// NotifyNext tells an event to a generation that is being started, if one is, alone.
func (x *Session) NotifyNext(e scheduler.Event) { x.next.notify(e) }

// NextKnows says whether a generation is being started that knows a bundle: what happens
// to others it sees when its snapshot comes to them.
func (x *Session) NextKnows(job scheduler.JobID, index int) bool {
	return x.next != nil && x.next.building.hasBundle(job, index)
}

// Backlogged says whether the policy thinks and as many events as a bound wait for it.
func (x *Session) Backlogged(bound int) bool { return x.inFlight && len(x.current.events) >= bound }

// Events is how many events wait to be told, to both generations.
func (x *Session) Events() (n int) {
	for _, g := range []*Generation{x.current, x.next} {
		if g != nil {
			n += len(g.events)
		}
	}
	return n
}
