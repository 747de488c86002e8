package policystate

import (
	"cmp"
	"math"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// SnapshotBuilder is a snapshot that is built in slices. It describes the cluster by the events
// that led to it, with their original times: launchers, live jobs, ready bundles, running attempts,
// and finished attempts with their times.
//
// Later changes to an added part follow as events. Changes to the other parts are included when
// those are added. Sorted by time, both together are the snapshot of the moment at which the last
// part was added.
type SnapshotBuilder struct {
	launcher scheduler.LauncherID // it and all earlier ones were added
	job      scheduler.JobID      // it and all earlier ones were added; of its bundles those below bundle
	bundle   int
	pages    [][]scheduler.Event // the added events; not in checkpoints, as a new life of the manager restarts its policy
}

// NextLauncher returns the index of the next launcher to add in an ascending list; false if all
// were added.
func (g *SnapshotBuilder) NextLauncher(ids []scheduler.LauncherID) (int, bool) {
	if g.launcher == allLaunchers {
		return 0, false
	}
	i, _ := slices.BinarySearch(ids, g.launcher+1)
	return i, i < len(ids)
}

// BeginLauncher records that a launcher's events are added now.
func (g *SnapshotBuilder) BeginLauncher(id scheduler.LauncherID) { g.launcher = id }

// LaunchersAdded records that all launchers were added.
func (g *SnapshotBuilder) LaunchersAdded() { g.launcher = allLaunchers }

// Job returns the job whose bundles are being added; 0: none yet.
func (g *SnapshotBuilder) Job() scheduler.JobID { return g.job }

// BeginJob records that a job is added now, from its first bundle on.
func (g *SnapshotBuilder) BeginJob(id scheduler.JobID) { g.job, g.bundle = id, 0 }

// SkipBundles leaves out the job's bundles. Later events report their changes.
func (g *SnapshotBuilder) SkipBundles() { g.bundle = math.MaxInt }

// Bundle returns the index of the job's next bundle to add.
func (g *SnapshotBuilder) Bundle() int { return g.bundle }

// BundleAdded records that this bundle was added.
func (g *SnapshotBuilder) BundleAdded() { g.bundle++ }

const (
	// snapshotPage is the number of events in a page: a single growing list would be copied as a
	// whole.
	snapshotPage = 4096
	// allLaunchers is the value of SnapshotBuilder.launcher when all launchers were added.
	allLaunchers = scheduler.LauncherID(math.MaxUint64)
)

// These report whether a launcher, a job or a bundle was added. A complete snapshot, nil, has all.
func (g *SnapshotBuilder) hasLauncher(id scheduler.LauncherID) bool {
	return g == nil || id <= g.launcher
}

func (g *SnapshotBuilder) hasJob(id scheduler.JobID) bool { return g == nil || id <= g.job }

func (g *SnapshotBuilder) hasBundle(job scheduler.JobID, index int) bool {
	return g == nil || job < g.job || job == g.job && index < g.bundle
}

// Add adds an event of the current part.
func (g *SnapshotBuilder) Add(e scheduler.Event) {
	last := len(g.pages) - 1
	if last < 0 || len(g.pages[last]) == snapshotPage {
		g.pages = append(g.pages, make([]scheduler.Event, 0, snapshotPage))
		last++
	}
	g.pages[last] = append(g.pages[last], e)
}

// Building is the snapshot in progress; nil: none is.
func (x *Session) Building() *SnapshotBuilder {
	if x.next == nil {
		return nil
	}
	return x.next.building
}

// SnapshotParts is the input of a snapshot.
type SnapshotParts struct {
	now        scheduler.Time
	pages      [][]scheduler.Event
	checkpoint *Checkpoint // nil: the policy left none
}

// FinishSnapshot ends the building when all parts were added.
func (x *Session) FinishSnapshot(now scheduler.Time) SnapshotParts {
	n := x.next
	g := x.SnapshotOf(n.building, n.Policy, now)
	g.pages = append(g.pages, n.events)
	n.building, n.events = nil, nil
	return g
}

// SnapshotOf is the collected events, with a policy's checkpoint.
func (x *Session) SnapshotOf(g *SnapshotBuilder, policy string, now scheduler.Time) SnapshotParts {
	return SnapshotParts{now, g.pages, x.checkpoints.Of(policy)}
}

// Snapshot sorts the collected events. With a million tasks that takes a second, outside the core.
// Each call makes a new snapshot.
func (g SnapshotParts) Snapshot() scheduler.Snapshot {
	events := slices.Concat(g.pages...)
	// The events of one launcher, job or bundle are in order of time already; a stable sort keeps
	// the order of events of one time.
	slices.SortStableFunc(events, func(x, y scheduler.Event) int { return cmp.Compare(x.When(), y.When()) })
	s := scheduler.Snapshot{Now: g.now, Events: events}
	if k := g.checkpoint; k != nil {
		s.Checkpoint = &scheduler.Checkpoint{Version: k.Data.Version, Data: slices.Clone(k.Data.Data)}
		s.Since, _ = slices.BinarySearchFunc(events, k.At+1, func(e scheduler.Event, at scheduler.Time) int { return cmp.Compare(e.When(), at) })
	}
	return s
}

// Notify sends an event to the deciding policy, if there is one.
func (x *Session) Notify(e scheduler.Event) { x.current.notify(e) }

func (g *Generation) notify(e scheduler.Event) {
	if g != nil {
		g.events = append(g.events, e)
	}
}

// NotifyLauncher sends an event about a launcher to the policy, and to a starting one, unless its
// snapshot will include it.
func (x *Session) NotifyLauncher(id scheduler.LauncherID, e scheduler.Event) {
	x.Notify(e)
	if n := x.next; n != nil && n.building.hasLauncher(id) {
		n.notify(e)
	}
}

// NotifyJob is NotifyLauncher for an event about a job.
func (x *Session) NotifyJob(id scheduler.JobID, e scheduler.Event) {
	x.Notify(e)
	if n := x.next; n != nil && n.building.hasJob(id) {
		n.notify(e)
	}
}

// NotifyBundle is NotifyLauncher for an event about a bundle, given by its index in the job.
func (x *Session) NotifyBundle(job scheduler.JobID, index int, e scheduler.Event) {
	x.Notify(e)
	if x.NextKnows(job, index) {
		x.next.notify(e)
	}
}

// NotifyNext sends an event only to a starting generation, if there is one.
func (x *Session) NotifyNext(e scheduler.Event) { x.next.notify(e) }

// NextKnows reports whether a starting generation knows a bundle. Changes to other bundles are in
// its snapshot.
func (x *Session) NextKnows(job scheduler.JobID, index int) bool {
	return x.next != nil && x.next.building.hasBundle(job, index)
}

// Backlogged reports whether the policy is thinking and at least bound events wait for it.
func (x *Session) Backlogged(bound int) bool { return x.inFlight && len(x.current.events) >= bound }

// Pending returns how many events wait for the deciding generation's next round.
func (x *Session) Pending() int {
	if x.current == nil {
		return 0
	}
	return len(x.current.events)
}

// Events returns how many events wait to be sent, for both generations.
func (x *Session) Events() (n int) {
	for _, g := range []*Generation{x.current, x.next} {
		if g != nil {
			n += len(g.events)
		}
	}
	return n
}
