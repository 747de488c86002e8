package state

import (
	"slices"
	"time"
	"unsafe"

	"github.com/hamadryad/hamadryad/engine/core/internal/dataflow"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/stats"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// FailStage counts a failure for the stage that it names, one of those in the attempt's
// group; for the group's first where it names none.
func (j *Job) FailStage(f *wire.Failure, a *Attempt) {
	failed := int(a.Stage)
	for _, n := range a.BundleAttempt.Bundle.Nodes(a.Group) {
		if stage := j.Plan.Node(n).Stage; j.Stages[stage].Name() == f.GetStage() {
			failed = stage
			break
		}
	}
	j.Stages[failed].Fail()
	j.markStageDirty(failed)
}

// ReservedID is a job id that was handed out and not submitted yet.
type ReservedID struct {
	ID    scheduler.JobID
	At    scheduler.Time
	Owner string // to whom; "" where nobody asked, and of older checkpoints
}

// jobPhase is where a live job stands.
type jobPhase uint8

const (
	JobPendingAdmission jobPhase = iota + 1 // waits for the policy to admit it
	JobRunning                              // its groups run or wait
	JobPublishing                           // all groups finished; the last one publishes
	JobEnding                               // failed or killed: its attempts are being stopped
	JobCleaning                             // failed or killed: the last group cleans
	JobRemoving                             // over: what is left of it is taken out of the state
)

// Job is a live job.
type Job struct {
	// What every launch and end touches lies together, up to jobHot.
	ID               scheduler.JobID
	Spec             *wire.JobSpec
	Plan             *graph.Expanded
	phase            jobPhase
	dirty            bool     // in State.changed
	rowsSent         bool     // its stages have rows
	notesShared      bool     // Notes are not to be changed any more
	prefers          bool     // some stage may take slots of other kinds
	Bundles          []Bundle // in the plan's order, then the last one of a job with outputs
	Stages           []stage
	unfinished       int        // bundles, without the last
	Attempts         attemptSet // live
	suspended        int        // of them: suspended
	speculativeCount int        // of them: speculative; and bundles with an open offer
	ready            readyList
	Opened           int // bundles that were made known, without the last
	Exclusions       JobExclusions
	lastLaunch       scheduler.Time         // of a bundle of it
	RanOn            []scheduler.LauncherID // launchers to be told of its end, ascending

	Stats       stats.Job
	dirtyStages []int32  // stages whose rows changed
	stageNames  []string // nil: nobody asked

	Client    uint64 // whom the admission answers; 0 when answered
	Pool      string
	Priority  scheduler.Priority
	Submitted scheduler.Time
	Admitted  scheduler.Time
	Inputs    dataflow.Inputs    // of its groups
	First     scheduler.BundleID // of its bundles; those of one that opened has not come to lack their ids
	Closed    int                // bundles that stopAll, then remove, has come to
	Shapes    []shape            // distinct demands of its bundles
	largest   int64              // memory of a group, bytes

	Outcome      scheduler.JobOutcome // of a job that ends
	Failure      *wire.Failure
	OutputCommit OutputCommit
	StoreRoom    StoreRoom // in the store of its outputs
	filesAt      filesPlace

	lastMore int64 // bytes that its last group takes beside lastMemory, since that was made ready

	watchingReaders bool           // the timer for readers that wait is set
	roomSince       scheduler.Time // since when work that they wait for had room at each look; 0: at the last one it had none
	unplaceable     scheduler.Time // since when a bundle can't be placed; 0: all can
	whyNot          string         // the message for it
	PolicyWait      scheduler.Waiting

	notes        []string
	notesDropped int
}

const jobHot = unsafe.Offsetof(Job{}.Client)

// shape is what a bundle takes. A job has few distinct ones, however many
// bundles: those are what is held against the cluster when it changes.
type shape struct {
	Bundle int // one that has it
	Key    string
}

// EndedJob is what is kept of a job that ended.
type EndedJob struct {
	Status  *wire.JobStatus
	Refused *wire.Failure // why its submission was; nil when it was not
}

// stage is what a job knows of a stage.
type stage struct {
	stats.Stage
	singleNode resources.Request // of its groups of one node that are bundles by themselves

	kind      string              // of slots that its groups take
	suspended uint32              // of its nodes that run
	dirty     bool                // in Job.touches
	noSuspend bool                // its groups, or some of them, must not be suspended
	after     []scheduler.StageID // whose groups store what its own read, ascending
}

// NoSuspend says whether groups that count for a stage must not be suspended.
func (j *Job) NoSuspend(stage int) bool { return j.Stages[stage].noSuspend }

// lastStage is the name of the stage that publishes a job's outputs.
const lastStage = "publish"

// Phase is where it stands; 0 in none yet.
func (j *Job) Phase() jobPhase { return j.phase }

// Enter moves it to a phase.
func (j *Job) Enter(p jobPhase) { j.phase = p }

// Ends says whether nothing of the job is to start any more, but its last bundle.
func (j *Job) Ends() bool {
	return j.Phase() == JobEnding || j.Phase() == JobCleaning || j.Phase() == JobRemoving
}

// LastBundle returns the bundle that publishes or cleans, or nil.
func (j *Job) LastBundle() *Bundle {
	if len(j.Bundles) > len(j.Plan.Bundles) {
		return &j.Bundles[len(j.Bundles)-1]
	}
	return nil
}

// lastKind is the slot kind of the group that publishes: the default one if the
// job uses it, else that of its first stage, which the cluster must have anyway.
func (j *Job) lastKind() string {
	for _, s := range j.Plan.Graph.Stages {
		if graph.KindOf(s) == scheduler.DefaultKind {
			return scheduler.DefaultKind
		}
	}
	return j.Kind(0)
}

// What the group that publishes or cleans takes, bytes: it only renames and deletes, but
// holds the list of the files.
const (
	lastMemory     = 64 << 20
	lastFileMemory = 512 // for each file to publish or keep
)

// LastMemory is what its last group may use, in bytes. It is not counted against what the
// launcher has: Settings.FinishersMax bounds how many such groups run there.
func (j *Job) LastMemory() int64 { return lastMemory + j.lastMore }

// MemoryForFiles is what the last group takes for the list of files: no more than some
// group of the job took, so that there is a launcher for it.
func (j *Job) MemoryForFiles() int64 {
	return max(min(int64(j.FilesTotal())*lastFileMemory, j.largest-lastMemory), 0)
}

// AttemptsMax is how often a bundle of it may fail.
func (j *Job) AttemptsMax(s *step.Settings) int {
	if j.Spec.AttemptsMax > 0 {
		return int(min(j.Spec.AttemptsMax, attemptsMaxMax))
	}
	return s.AttemptsMax
}

// attemptsMaxMax bounds what a job may ask for.
const attemptsMaxMax = 100

// GroupOf returns the bundle of a node and the place of its group in it.
func (j *Job) GroupOf(n graph.Node) (*Bundle, int) {
	g := j.Plan.GroupOf(j.Plan.Number(n))
	b := &j.Bundles[j.Plan.Groups[g].Bundle]
	i, _ := slices.BinarySearch(b.Groups(), int32(g))
	return b, i
}

// commitOf returns the last accepted end of the group of a node, or nil.
func (j *Job) commitOf(n graph.Node) *Commit {
	b, i := j.GroupOf(n)
	if b.lastCommits == nil {
		return nil
	}
	return b.lastCommits[i]
}

// ForPolicy is what the policy learns of a job.
func (j *Job) ForPolicy() scheduler.Job {
	p := scheduler.Job{
		ID: j.ID, Name: j.Spec.Name, User: j.Spec.GetPrincipal().GetName(), Pool: j.Pool, Priority: j.Priority,
		Submitted: j.Submitted, Properties: j.Properties(),
	}
	for i := range j.Stages {
		if i == len(j.Plan.Graph.Stages) {
			break // no policy decides on the group that publishes or cleans
		}
		m := j.Plan.Graph.Stages[i]
		p.Stages = append(p.Stages, scheduler.Stage{
			ID: scheduler.StageID(i), Name: j.Stages[i].Name(), Groups: j.Stages[i].Groups(), Kind: j.Stages[i].kind,
			Slots: max(int(m.Slots), j.Stages[i].Slots(), 1), Shuffles: m.Shuffles, NoSuspend: j.Stages[i].noSuspend, After: j.Stages[i].after,
		})
	}
	return p
}

// Properties are those that it was submitted with, in order of name.
func (j *Job) Properties() []scheduler.Property {
	var list []scheduler.Property
	for _, p := range j.Spec.Properties {
		list = append(list, scheduler.Property{Name: p.Name, Value: p.Value})
	}
	return list
}

// Refs names nodes, by their numbers in the plan, to a launcher.
func (j *Job) Refs(nodes []int32) []*wire.NodeRef {
	refs := make([]*wire.NodeRef, len(nodes))
	for i, x := range nodes {
		n := j.Plan.Node(x)
		refs[i] = &wire.NodeRef{Stage: uint32(n.Stage), Index: uint32(n.Index)}
	}
	return refs
}

// Needed says whether some unfinished bundle reads what is gone of a group.
func (j *Job) Needed(b *Bundle, i int) bool {
	for _, x := range b.Nodes(i) {
		n := j.Plan.Node(x)
		for _, conn := range j.Inputs.OutOf(n.Stage) {
			if out := (dataflow.Key{Conn: conn, From: int32(n.Index)}); !j.Inputs.There(out) && j.readersOpen(out) {
				return true
			}
		}
	}
	return false
}

// readersOpen says whether a reader of a writer is unfinished.
func (j *Job) readersOpen(k dataflow.Key) bool {
	if !j.Stages[j.Plan.Connection(int(k.Conn)).ToStage].Open() {
		return false
	}
	open := j.Inputs.All(k.Conn)
	if !open {
		j.Inputs.EachReader(k, func(reader graph.Node) {
			open = open || j.Bundles[j.Plan.BundleOf(j.Plan.Number(reader))].Phase() != BundleFinished
		})
	}
	return open
}

// hasPendingWork says whether a later step has to go on with a job.
func (j *Job) hasPendingWork() bool {
	switch j.Phase() {
	case JobRunning:
		return j.Opened < len(j.Plan.Bundles) || j.Inputs.Updating()
	case JobEnding:
		return j.Closed < len(j.Bundles)
	}
	return j.Phase() == JobRemoving
}

// knows says whether a bundle is among those that are known, and not among those that
// are gone again.
func (j *Job) knows(b *Bundle) bool {
	switch {
	case j.Phase() == JobPendingAdmission, j.Phase() == JobRemoving && b.Index < j.Closed:
		return false
	}
	return b.Last() || b.Index < j.Opened
}

// UnplaceableRemedy says what helps a job with a bundle that no launchers could hold.
const UnplaceableRemedy = ": ask for less, or add launchers"

// FinishBundle counts a bundle that committed as finished.
func (j *Job) FinishBundle(b *Bundle) {
	j.unfinished--
	j.countDone(b, +1)
}

// NotePlaceable notes why a bundle of it can't be placed; "": all can. It returns whether the
// reason changed, and whether it can't be placed from now on.
func (j *Job) NotePlaceable(why string, now scheduler.Time) (changed, begins bool) {
	changed = j.whyNot != why
	j.whyNot = why
	begins = why != "" && j.unplaceable == 0
	switch {
	case why == "":
		j.unplaceable = 0
	case begins:
		j.unplaceable = now
	}
	return changed, begins
}

// NoteRoom notes whether work that its readers wait for has room now.
func (j *Job) NoteRoom(room bool, now scheduler.Time) {
	switch {
	case !room:
		j.roomSince = 0
	case j.roomSince == 0:
		j.roomSince = now
	}
}

// HadRoomFor returns for how long that work has had room at each look.
func (j *Job) HadRoomFor(now scheduler.Time) time.Duration {
	if j.roomSince == 0 {
		return 0
	}
	return now.Sub(j.roomSince)
}

// WatchReaders notes that the timer for its waiting readers is set; false when it was set before.
func (j *Job) WatchReaders() bool {
	began := !j.watchingReaders
	j.watchingReaders = true
	return began
}

// WatchDone notes that this timer was due.
func (j *Job) WatchDone() { j.watchingReaders = false }

// Unfinished returns how many of its bundles are unfinished, without the last.
func (j *Job) Unfinished() int { return j.unfinished }

// Unplaceable returns since when a bundle can't be placed; 0: all can.
func (j *Job) Unplaceable() scheduler.Time { return j.unplaceable }

// WhyNot returns why a bundle can't be placed; "": all can.
func (j *Job) WhyNot() string { return j.whyNot }

// LastLaunch returns when a bundle of it was launched last.
func (j *Job) LastLaunch() scheduler.Time { return j.lastLaunch }

// Notes returns what its status tells of it, the newest last. The caller must not change the list.
func (j *Job) Notes() []string { return j.notes }

// NotesDropped returns how many older notes were dropped.
func (j *Job) NotesDropped() int { return j.notesDropped }

// SpeculativeCount returns how many speculative attempts live, or are offered.
func (j *Job) SpeculativeCount() int { return j.speculativeCount }
