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

// Where a bundle stands.
const (
	BundleWaiting  = stats.Waiting
	BundleReady    = stats.Ready
	BundleRunning  = stats.Running
	BundleFinished = stats.Finished
)

// Bundle is one bundle of a job.
type Bundle struct {
	id                 scheduler.BundleID
	Job                *Job
	Index              int
	phase              stats.Phase
	hasTCP             bool          // groups of it are joined by tcp
	singleNode         bool          // it is one group of one node
	Stage              int32         // of its first group
	First              int32         // index of that group's first node in the stage
	Gate               dataflow.Gate // late once it was reclaimed
	since              scheduler.Time
	next, prev         int32 // in the job's ready list
	attempts           []*BundleAttempt
	oneAttempt         [1]*BundleAttempt // room for the usual number of them
	lastCommits        []*Commit         // by group: the last that committed; nil before
	Tries              Tries
	Exclusions         BundleExclusions
	speculationOffered scheduler.Time // since when it is a speculative launch is offered; 0: none is
	Protection         Protection
	waitsForStoreRoom  bool // the store of the outputs was full for it: Job.StoreRoom lists it
}

// Tries counts what failed of a bundle. The zero value counts nothing.
type Tries struct {
	failures int // attempts that failed
	losses   int // attempts, or outputs, that were lost
}

// CountFailure counts an attempt that failed, and returns how many did.
func (t *Tries) CountFailure() int {
	t.failures++
	return t.failures
}

// CountLoss counts an attempt or an output that was lost, and returns how many were.
func (t *Tries) CountLoss() int {
	t.losses++
	return t.losses
}

// Failures returns how many attempts failed.
func (t *Tries) Failures() int { return t.failures }

// Losses returns how many attempts, or outputs, were lost.
func (t *Tries) Losses() int { return t.losses }

// Protection keeps a bundle that was preempted from the next preemption for a while. The zero value
// is that of a bundle that never was.
type Protection struct {
	preempted bool
	until     scheduler.Time
}

// Preempted says whether the bundle was preempted: each of its starts is protected for a while.
func (p *Protection) Preempted() bool { return p.preempted }

// Begin protects it until a time.
func (p *Protection) Begin(until scheduler.Time) { p.until = until }

// Until returns until when it may not be preempted; 0: it was never protected.
func (p *Protection) Until() scheduler.Time { return p.until }

// Commit is the accepted end of a group's attempt.
type Commit struct {
	Attempt       scheduler.AttemptID
	BundleAttempt uint64
	Token         []byte // as BundleAttempt.Token
	Launcher      scheduler.LauncherID
	Host          string
	Rack          string
	Stored        bool // keeps files in its launcher's store
	Lost          bool // and they are gone
	Spec          bool
	Launched      scheduler.Time
	Started       scheduler.Time
	Phased        scheduler.Time // when it began to execute; 0: not reported
	Ended         scheduler.Time
	Work          scheduler.Work
	Report        *wire.AttemptEnded // work, files and counters
}

// ID is resources.Bundle's.
func (b *Bundle) ID() scheduler.BundleID { return b.id }

// JobID is resources.Bundle's.
func (b *Bundle) JobID() scheduler.JobID { return b.Job.ID }

// Width is how many groups the bundle has.
func (b *Bundle) Width() int {
	if b.singleNode || b.Last() {
		return 1
	}
	return len(b.Groups())
}

// Request returns what the i-th group takes.
func (b *Bundle) Request(i int) resources.Request {
	switch {
	case b.singleNode:
		return b.Job.Stages[b.Stage].singleNode
	case b.Last():
		return resources.Request{Kind: b.Job.lastKind()} // it never waits for what tasks hold
	}
	g := &b.Job.Plan.Groups[b.Groups()[i]]
	return resources.Request{Kind: b.Job.Stages[g.Stage].kind, Slots: g.Slots, Memory: g.Memory}
}

// StageOf returns the stage that the i-th group counts for.
func (b *Bundle) StageOf(i int) int {
	switch {
	case b.singleNode:
		return int(b.Stage)
	case b.Last():
		return len(b.Job.Plan.Graph.Stages)
	}
	return b.Job.Plan.Groups[b.Groups()[i]].Stage
}

// Last says whether it is the bundle that publishes or cleans.
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

// NodesWithFiles are the nodes of a bundle's i-th group, in a job that has file channels.
func (b *Bundle) NodesWithFiles(i int) []int32 {
	if !b.Job.Inputs.Files.HasConnections() {
		return nil
	}
	return b.Nodes(i)
}

// SetSpeculationOffered has a bundle wanted twice since a time, or, at 0, not any more.
func (b *Bundle) SetSpeculationOffered(since scheduler.Time) {
	if b.SpeculationOffered() != 0 {
		b.Job.speculativeCount--
	}
	if b.speculationOffered = since; since != 0 {
		b.Job.speculativeCount++
	}
}

// HasAttempt says whether an attempt is among its live ones.
func (b *Bundle) HasAttempt(r *BundleAttempt) bool {
	for _, x := range b.Attempts() {
		if x == r {
			return true
		}
	}
	return false
}

// SuspendedAttempt is the attempt of it that waits to be resumed, and may be; nil: none does.
func (b *Bundle) SuspendedAttempt() *BundleAttempt {
	for _, r := range b.Attempts() {
		if r.Suspended() != 0 && r.Stopped() == 0 {
			return r
		}
	}
	return nil
}

// DropAttempt takes an attempt off its list.
func (b *Bundle) DropAttempt(r *BundleAttempt) {
	i := slices.Index(b.Attempts(), r)
	if i < 0 {
		return
	}
	rest := append(b.Attempts()[:i:i], b.Attempts()[i+1:]...) // a walk over the attempts that is under way keeps the old list
	if b.oneAttempt[0] == r {
		b.oneAttempt[0] = nil // nothing is to hold what ended
	}
	if len(rest) == 0 {
		rest = b.oneAttempt[:0]
	}
	b.attempts = rest
}

// Describe names a group for people: its first node.
func (j *Job) Describe(b *Bundle, i int) string {
	if b.Last() {
		return "the group that publishes"
	}
	n := j.Plan.Node(b.Nodes(i)[0])
	return fmt.Sprintf("stage %q node %d", j.Stages[n.Stage].Name(), n.Index)
}

// Unavailable says why a bundle may not run on a launcher; "" when it may.
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

// StartIsFinal says whether nothing that may still happen in the step can change what the
// start commands of a bundle say: it is one group and reads no file channel.
func (b *Bundle) StartIsFinal() bool {
	return b.singleNode && !b.hasTCP && !b.Job.Inputs.Files.HasConnections()
}

// Phase is where it stands.
func (b *Bundle) Phase() stats.Phase { return b.phase }

// Attempts are its attempts, the first first. The caller must not change the list; it stays as
// it is when one is dropped.
func (b *Bundle) Attempts() []*BundleAttempt { return b.attempts }

func (b *Bundle) addAttempt(r *BundleAttempt) {
	b.attempts = append(b.attempts, r)
	b.Job.lastLaunch = r.launched
}

// SpeculationOffered is since when it is a speculative launch is offered; 0: none is.
func (b *Bundle) SpeculationOffered() scheduler.Time { return b.speculationOffered }

// EnterAt moves it to a phase, and notes since when it is there.
func (b *Bundle) EnterAt(p stats.Phase, now scheduler.Time) {
	if p == BundleReady && b.Last() {
		b.Job.lastMore = b.Job.MemoryForFiles()
	}
	b.Enter(p)
	b.since = now
}

// OfferAgain notes that the policy is offered it anew, in the same phase.
func (b *Bundle) OfferAgain(now scheduler.Time) { b.since = now }

// Commit finishes it with the accepted ends of its groups, and returns the commits before; nil:
// there were none.
func (b *Bundle) Commit(commits []*Commit, now scheduler.Time) (before []*Commit) {
	b.EnterAt(BundleFinished, now)
	b.SetSpeculationOffered(0)
	before, b.lastCommits = b.lastCommits, commits
	return before
}

// TrimReport forgets what is not needed any more of the i-th group's report: nobody changes a
// message, and a frozen state may have the commit of a gang from an earlier step.
func (b *Bundle) TrimReport(i int) {
	k := b.lastCommits[i]
	if len(b.lastCommits) > 1 {
		own := *k
		k, b.lastCommits[i] = &own, &own
	}
	m := k.Report
	if m.Work == nil && len(m.Files) == 0 && len(m.Counters) == 0 {
		k.Report = &emptyReport
		return
	}
	k.Report = &wire.AttemptEnded{Work: m.Work, Files: m.Files, Counters: m.Counters}
}

var emptyReport wire.AttemptEnded

// Reopen counts a finished bundle as unfinished: its output was lost.
func (b *Bundle) Reopen(now scheduler.Time) {
	b.EnterAt(BundleWaiting, now)
	b.Tries.CountLoss()
	b.Job.unfinished++
	b.Job.countDone(b, -1)
}

// LoseOutput notes that what its i-th group stored is gone, and returns the commit of that.
func (b *Bundle) LoseOutput(i int) *Commit {
	k := *b.lastCommits[i]
	k.Lost = true
	b.lastCommits = slices.Clone(b.lastCommits) // a frozen state has the old ones
	b.lastCommits[i] = &k
	return &k
}

// MarkPreempted notes that it is preempted: from its next start it is protected for a while.
func (b *Bundle) MarkPreempted() {
	b.Protection.preempted = true
	b.SetSpeculationOffered(0)
}

// WaitForStoreRoom has it wait until the store of the outputs may have room.
func (b *Bundle) WaitForStoreRoom() { b.waitsForStoreRoom = true }

// TryStoreRoom ends that wait.
func (b *Bundle) TryStoreRoom() { b.waitsForStoreRoom = false }

// Since returns since when it is in its phase, or is offered as it is.
func (b *Bundle) Since() scheduler.Time { return b.since }

// WaitsForStoreRoom returns whether the store of the outputs was full for it, and it is not tried again yet.
func (b *Bundle) WaitsForStoreRoom() bool { return b.waitsForStoreRoom }

// LastCommits returns the last accepted ends of its groups, by group; nil before the first. The caller must not
// change the list.
func (b *Bundle) LastCommits() []*Commit { return b.lastCommits }

// HasTCP returns whether groups of it are joined by tcp channels.
func (b *Bundle) HasTCP() bool { return b.hasTCP }

// SingleNode returns whether it is one group of one node.
func (b *Bundle) SingleNode() bool { return b.singleNode }
