package state

import (
	"fmt"
	"iter"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/dataflow"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/stats"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Phases of a bundle.
const (
	BundleWaiting  = stats.Waiting
	BundleReady    = stats.Ready
	BundleRunning  = stats.Running
	BundleFinished = stats.Finished
	BundleGivenUp  = stats.GivenUp // only of an element of a job array
	BundleUnused   = stats.Unused  // only of a reader of an adapted connection, or of an aggregating node
)

// Bundle is one bundle of a job. A job may have a million, so what few of them need is behind pointers.
type Bundle struct {
	id                 scheduler.BundleID
	Job                *Job
	Index              int
	phase              stats.Phase
	hasTCP             bool          // groups of it are joined by tcp
	singleNode         bool          // it is one group of one node
	Stage              int32         // of its first group
	First              int32         // index of that group's first node in the stage
	Gate               dataflow.Gate // late after a reclaim
	since              scheduler.Time
	next, prev         int32 // in the job's ready list
	attempts           []*BundleAttempt
	oneAttempt         [1]*BundleAttempt // room for the usual number of them
	lastCommits        []*Commit         // by group: the last commit; nil before the first
	Tries              Tries
	Exclusions         BundleExclusions
	speculationOffered scheduler.Time // since when a speculative launch of it is offered; 0: none is
	Protection         Protection
	announced          *[]announcement // by group; nil: it has no input, or has finished
	waitsForStoreRoom  bool            // it met a full output store: Job.StoreRoom lists it
	Element            Element
}

// announcement is the input of a group as the policy was told.
type announcement struct {
	bytes  int64
	places []scheduler.Place // nil where they follow from the job's plan
}

// Announce records the input with which the bundle was announced to the policy.
func (b *Bundle) Announce(groups []scheduler.Group) {
	b.announced = nil
	var list []announcement // not changed afterwards: a frozen state may have it
	for i, g := range groups {
		read, stored := b.Job.Inputs.Read(b.Nodes(i))
		if list == nil && read {
			list = make([]announcement, len(groups))
		}
		if list != nil {
			list[i].bytes = g.InputBytes
		}
		if stored {
			list[i].places = g.Places
		}
	}
	if list != nil {
		b.announced = &list
	}
}

// AsAnnounced returns a group with the input that the policy was told. Outputs that it reads may have
// been lost or replaced since.
func (b *Bundle) AsAnnounced(group int, g scheduler.Group) scheduler.Group {
	if b.announced == nil {
		return g
	}
	announced := &(*b.announced)[group]
	g.InputBytes = announced.bytes
	if places := announced.places; places != nil {
		g.Places = places
	}
	return g
}

// Tries counts a bundle's failures and losses. The zero value has none.
type Tries struct {
	failures int32 // failed attempts
	losses   int32 // lost attempts or outputs
}

// CountFailure counts a failed attempt, and returns the number so far.
func (t *Tries) CountFailure() int {
	t.failures++
	return int(t.failures)
}

// CountLoss counts a lost attempt or output, and returns the number so far.
func (t *Tries) CountLoss() int {
	t.losses++
	return int(t.losses)
}

// Failures returns how many attempts failed.
func (t *Tries) Failures() int { return int(t.failures) }

// Losses returns how many attempts, or outputs, were lost.
func (t *Tries) Losses() int { return int(t.losses) }

// Protection keeps a preempted bundle from the next preemption for a while. The zero value is that
// of a bundle that was never preempted.
type Protection struct {
	preempted bool
	until     scheduler.Time
}

// Preempted reports whether the bundle was preempted: each of its starts is protected for a while.
func (p *Protection) Preempted() bool { return p.preempted }

// ProtectUntil protects the bundle until a time.
func (p *Protection) ProtectUntil(until scheduler.Time) { p.until = until }

// Until returns the end of its protection; 0: it was never protected.
func (p *Protection) Until() scheduler.Time { return p.until }

// Commit is the accepted end of a group's attempt.
type Commit struct {
	Attempt       scheduler.AttemptID
	BundleAttempt uint64
	Token         []byte // as BundleAttempt.Token
	Launcher      scheduler.LauncherID
	Host          string
	Rack          string
	Stored        bool // its launcher's store has its files
	Lost          bool // and they are gone
	Spec          bool
	Launched      scheduler.Time
	Started       scheduler.Time
	Phased        scheduler.Time // when the attempt began to execute; 0: not reported
	Ended         scheduler.Time
	Work          scheduler.Work
	Report        *wire.AttemptEnded // files and counters
}

// ID is resources.Bundle's.
func (b *Bundle) ID() scheduler.BundleID { return b.id }

// JobID is resources.Bundle's.
func (b *Bundle) JobID() scheduler.JobID { return b.Job.ID }

// Width is the number of groups of the bundle.
func (b *Bundle) Width() int {
	if b.singleNode || b.Last() {
		return 1
	}
	return len(b.Groups())
}

// Request returns the needs of the i-th group.
func (b *Bundle) Request(i int) resources.Request {
	switch {
	case b.singleNode:
		return b.Job.Stages[b.Stage].singleNode
	case b.Last():
		return resources.Request{Kind: b.Job.lastKind()} // it never waits for slots of tasks
	}
	g := &b.Job.Plan.Groups[b.Groups()[i]]
	return resources.Request{Kind: b.Job.Stages[g.Stage].kind, Slots: g.Slots, Memory: g.Memory, Resources: g.Resources}
}

// StageOf returns the stage that the i-th group counts for.
func (b *Bundle) StageOf(i int) int {
	switch {
	case b.singleNode:
		return int(b.Stage)
	case b.Last():
		return len(b.Job.Plan.Graph.Stages)
	}
	return int(b.Job.Plan.Groups[b.Groups()[i]].Stage)
}

// Last reports whether it is the bundle that publishes or cleans.
func (b *Bundle) Last() bool { return !b.singleNode && b.Index == len(b.Job.Plan.Bundles) }

// Groups returns the numbers of a bundle's groups in the plan; nil for the last
// bundle of a job with outputs.
func (b *Bundle) Groups() []int32 {
	if b.Last() {
		return nil
	}
	return b.Job.Plan.Bundles[b.Index].Groups
}

// Nodes returns the numbers of the nodes of a bundle's i-th group.
func (b *Bundle) Nodes(i int) []int32 {
	if b.Last() {
		return nil
	}
	return b.Job.Plan.Groups[b.Groups()[i]].Nodes
}

// AllNodes yields the numbers of the nodes of all groups.
func (b *Bundle) AllNodes() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for i := range b.Groups() {
			for _, x := range b.Nodes(i) {
				if !yield(x) {
					return
				}
			}
		}
	}
}

// NodesWithFiles are the nodes of a bundle's i-th group, in a job with file channels.
func (b *Bundle) NodesWithFiles(i int) []int32 {
	if !b.Job.Inputs.Files.HasConnections() {
		return nil
	}
	return b.Nodes(i)
}

// SetSpeculationOffered offers a bundle for a second attempt since a time, or, at 0, withdraws the
// offer.
func (b *Bundle) SetSpeculationOffered(since scheduler.Time) {
	if b.SpeculationOffered() != 0 {
		b.Job.speculativeCount--
	}
	if b.speculationOffered = since; since != 0 {
		b.Job.speculativeCount++
	}
}

// HasAttempt reports whether an attempt is among its live ones.
func (b *Bundle) HasAttempt(r *BundleAttempt) bool {
	for _, x := range b.Attempts() {
		if x == r {
			return true
		}
	}
	return false
}

// SuspendedAttempt is its attempt that waits for resumption, and may be resumed; nil: there is
// none.
func (b *Bundle) SuspendedAttempt() *BundleAttempt {
	for _, r := range b.Attempts() {
		if r.Suspended() != 0 && r.Stopped() == 0 {
			return r
		}
	}
	return nil
}

// DropAttempt removes an attempt from its list.
func (b *Bundle) DropAttempt(r *BundleAttempt) {
	i := slices.Index(b.Attempts(), r)
	if i < 0 {
		return
	}
	rest := append(b.Attempts()[:i:i], b.Attempts()[i+1:]...) // an iteration over the attempts keeps the old list
	if b.oneAttempt[0] == r {
		b.oneAttempt[0] = nil // releases the ended attempt
	}
	if len(rest) == 0 {
		rest = b.oneAttempt[:0]
	}
	b.attempts = rest
}

// Describe names a group for people, by its first node.
func (j *Job) Describe(b *Bundle, i int) string {
	if b.Last() {
		return "the group that publishes"
	}
	n := j.Plan.Node(b.Nodes(i)[0])
	return fmt.Sprintf("stage %q node %d", j.Stages[n.Stage].Name(), n.Index)
}

// Unavailable returns why a bundle may not run on a launcher; "" when it may.
func (b *Bundle) Unavailable(l *resources.Launcher) string {
	switch {
	case !l.Up:
		return "is lost"
	case l.Draining:
		return "is draining"
	case l.Excluded:
		return "failed for several jobs and is avoided for a while"
	case b.Job.Exclusions.Excludes(l.ID):
		return fmt.Sprintf("failed too often for %s", b.Job.ID)
	case b.Exclusions.Excludes(l.ID):
		return fmt.Sprintf("failed for %v", b.id)
	}
	for _, r := range b.Attempts() {
		for _, a := range r.Attempts {
			if &a.Launcher.Launcher == l {
				return "runs the attempt that this one is to overtake"
			}
		}
	}
	return ""
}

// StartIsFinal reports whether a bundle's start commands can't change any more within the step: it
// is one group and reads no file channel.
func (b *Bundle) StartIsFinal() bool {
	return b.singleNode && !b.hasTCP && !b.Job.Inputs.Files.HasConnections()
}

// Phase is its phase.
func (b *Bundle) Phase() stats.Phase { return b.phase }

// Attempts are its attempts, the oldest first. The caller must not change the list; dropping an
// attempt does not change it either.
func (b *Bundle) Attempts() []*BundleAttempt { return b.attempts }

func (b *Bundle) addAttempt(r *BundleAttempt) {
	b.attempts = append(b.attempts, r)
	b.Job.lastLaunch = r.launched
}

// SpeculationOffered is since when a speculative launch of it is offered; 0: none is.
func (b *Bundle) SpeculationOffered() scheduler.Time { return b.speculationOffered }

// EnterAt moves it to a phase, and records the time.
func (b *Bundle) EnterAt(p stats.Phase, now scheduler.Time) {
	if p == BundleReady && b.Last() {
		b.Job.lastMore = b.Job.MemoryForFiles()
	}
	b.Enter(p)
	b.since = now
}

// OfferAgain records that it is offered to the policy again, in the same phase.
func (b *Bundle) OfferAgain(now scheduler.Time) { b.since = now }

// Commit finishes it with the accepted ends of its groups, and returns the previous commits; nil:
// there were none.
func (b *Bundle) Commit(commits []*Commit, now scheduler.Time) (before []*Commit) {
	b.EnterAt(BundleFinished, now)
	b.announced = nil
	before, b.lastCommits = b.lastCommits, commits
	return before
}

// TrimReport drops the parts of the i-th group's report that are no longer needed. It copies the
// commit: messages are immutable, and a frozen state may have the commit of a gang from an earlier
// step.
func (b *Bundle) TrimReport(i int) {
	k := b.lastCommits[i]
	if len(b.lastCommits) > 1 {
		own := *k
		k, b.lastCommits[i] = &own, &own
	}
	m := k.Report
	if len(m.Files) == 0 && len(m.Counters) == 0 {
		k.Report = &emptyReport
		return
	}
	k.Report = &wire.AttemptEnded{Files: m.Files, Counters: m.Counters}
}

var emptyReport wire.AttemptEnded

// Reopen counts a finished bundle as unfinished, because its output was lost.
func (b *Bundle) Reopen(now scheduler.Time) {
	b.EnterAt(BundleWaiting, now)
	b.Tries.CountLoss()
	b.Job.unfinished++
	b.Job.countDone(b, -1)
}

// LoseOutput records the loss of its i-th group's stored output, and returns that commit.
func (b *Bundle) LoseOutput(i int) *Commit {
	k := *b.lastCommits[i]
	k.Lost = true
	b.lastCommits = slices.Clone(b.lastCommits) // a frozen state shares the old list
	b.lastCommits[i] = &k
	return &k
}

// MarkPreempted records a preemption: from its next start it is protected for a while.
func (b *Bundle) MarkPreempted() { b.Protection.preempted = true }

// WaitForStoreRoom makes it wait until the output store may have room.
func (b *Bundle) WaitForStoreRoom() { b.waitsForStoreRoom = true }

// TryStoreRoom ends the bundle's wait for room in the output store.
func (b *Bundle) TryStoreRoom() { b.waitsForStoreRoom = false }

// Since returns the time of its phase, or of its last offer.
func (b *Bundle) Since() scheduler.Time { return b.since }

// WaitsForStoreRoom reports whether it met a full output store, and is not tried again yet.
func (b *Bundle) WaitsForStoreRoom() bool { return b.waitsForStoreRoom }

// LastCommits returns the last accepted ends of the bundle's groups, by group; nil before the
// first. The caller must not change the list.
func (b *Bundle) LastCommits() []*Commit { return b.lastCommits }

// HasTCP reports whether tcp channels join its groups.
func (b *Bundle) HasTCP() bool { return b.hasTCP }

// SingleNode reports whether it is one group of one node.
func (b *Bundle) SingleNode() bool { return b.singleNode }
