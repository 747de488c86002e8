package state

import (
	"slices"
	"time"
	"unsafe"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/core/internal/dataflow"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/stats"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// FailStage counts a failure for the stage it names, if the attempt's group has a node of that
// stage. Otherwise it counts for the group's stage.
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

// jobPhase is the phase of a live job. Its numbers are in checkpoints: new ones come last.
type jobPhase uint8

const (
	JobPendingAdmission jobPhase = iota + 1 // waits for the policy to admit it
	JobRunning                              // its groups run or wait
	JobPublishing                           // all groups finished; the last one publishes
	JobEnding                               // failed or killed: its attempts are being stopped
	JobCleaning                             // failed or killed: the last group cleans
	JobRemoving                             // over: the rest of it is being removed from the state
	JobWaiting                              // accepted, and waits for other jobs to end
)

// Job is a live job.
type Job struct {
	// Fields up to jobHot are used by every launch and end, so they lie together.
	ID               scheduler.JobID
	Spec             *wire.JobSpec
	Plan             *graph.Expanded
	phase            jobPhase
	dirty            bool     // in State.changed
	rowsSent         bool     // its stages have rows
	prefers          bool     // some stage may take slots of other kinds
	Bundles          []Bundle // in the plan's order, then the last one of a job with outputs
	Stages           []stage
	unfinished       int        // bundles that are neither finished nor given up, without the last
	unused           int        // readers of adapted connections and aggregating nodes that are not used
	attempts         attemptSet // live attempts
	user             *User
	suspended        int // live attempts that are suspended
	speculativeCount int // speculative attempts, and bundles with an open offer
	Ready            ReadyList
	Slices           Slices
	Exclusions       JobExclusions
	lastLaunch       scheduler.Time // of one of its bundles
	RanOn            LauncherSet    // launchers to notify of its end

	Stats       stats.Job
	dirtyStages []int32  // stages whose rows changed
	stageNames  []string // nil: not yet computed

	Submission   Submission
	Dependencies Dependencies
	Inputs       dataflow.Inputs    // of its groups
	first        scheduler.BundleID // of its bundles; a bundle gets its id when it is opened
	Shapes       []shape            // distinct demands of its bundles
	largest      int64              // memory of a group, bytes

	End          JobEnd
	Waits        Waits
	Notes        Notes
	OutputCommit OutputCommit
	StoreRoom    StoreRoom // in the store of its outputs
	Elements     Elements
	filesAt      filesPlace

	lastMore int64 // bytes for its last group beside lastMemory, set when it became ready
}

const jobHot = unsafe.Offsetof(Job{}.Submission)

// NewJob returns a job with a specification and its plan, in no phase yet and without an id.
func NewJob(spec *wire.JobSpec, plan *graph.Expanded) *Job {
	j := &Job{Spec: spec, Plan: plan, Submission: Submission{pool: spec.Pool, priority: scheduler.Priority(spec.Priority)}}
	j.expand()
	return j
}

// Submit sets the job's id, and the id of its first bundle. Bundles get their ids when they are
// opened.
func (j *Job) Submit(id scheduler.JobID, first scheduler.BundleID, now scheduler.Time) {
	j.ID, j.first, j.Submission.submitted = id, first, now
}

// shape is a bundle's resource demand. A job has few distinct shapes, so a changed cluster is
// checked against shapes, not bundles.
type shape struct {
	Bundle int // a bundle of this shape
	Key    string
}

// stage is a job's record of a stage.
type stage struct {
	stats.Stage
	singleNode resources.Request // of its bundles of one group of one node

	kind      string              // of slots that its groups take
	own       string              // kind of slots without a preference
	preferred string              // kind of slots that they take where the cluster has them; "": own
	suspended uint32              // running nodes that are suspended
	dirty     bool                // in Job.dirtyStages
	noSuspend bool                // some of its groups must not be suspended
	after     []scheduler.StageID // stages whose stored outputs it reads, ascending
	pastRun   time.Duration       // of its attempts in an earlier job of the same program; 0: unknown
}

// NoSuspend says whether groups that count for the stage must not be suspended.
func (s *stage) NoSuspend() bool { return s.noSuspend }

// Kind is the kind of slots that the stage's groups take.
func (s *stage) Kind() string { return s.kind }

// OwnKind returns the kind of slots that the stage's groups take if their preferred kind is
// missing.
func (s *stage) OwnKind() string { return s.own }

// Preferred returns the kind of slots that the groups take if the cluster has them; "": none.
func (s *stage) Preferred() string { return s.preferred }

// Status returns the stage's status message.
func (s *stage) Status() *wire.StageStatus {
	m := s.Stage.Status()
	m.Running -= s.suspended
	m.Suspended = s.suspended
	return m
}

// Row returns the stage's row, without the job.
func (s *stage) Row() changes.Stage {
	row := s.Stage.Row()
	row.Running -= s.suspended
	row.Suspended = s.suspended
	return row
}

// lastStage is the name of the stage that publishes a job's outputs.
const lastStage = "publish"

// Phase returns the job's phase; 0: none yet.
func (j *Job) Phase() jobPhase { return j.phase }

// Enter moves the job to a phase.
func (j *Job) Enter(p jobPhase) { j.phase = p }

// Ends says whether nothing of the job may start any more except its last bundle.
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

// lastKind is the slot kind of the publishing group: the default kind if the job uses it, else
// its first stage's kind, which the cluster must have anyway.
func (j *Job) lastKind() string {
	for _, s := range j.Plan.Graph.Stages {
		if graph.KindOf(s) == scheduler.DefaultKind {
			return scheduler.DefaultKind
		}
	}
	return j.Stages[0].kind
}

// Memory of the group that publishes or cleans, bytes. It only renames and deletes, but holds
// the list of files.
const (
	lastMemory     = 64 << 20
	lastFileMemory = 512 // for each file to publish or keep
)

// LastMemory returns the memory limit of the job's last group, in bytes. It is not counted
// against the launcher's memory: Settings.FinishersMax bounds how many such groups run there.
func (j *Job) LastMemory() int64 { return lastMemory + j.lastMore }

// MemoryForFiles returns the last group's memory for the list of files. It is bounded by the
// job's largest group, so that some launcher has room.
func (j *Job) MemoryForFiles() int64 {
	return max(min(int64(j.FilesTotal())*lastFileMemory, j.largest-lastMemory), 0)
}

// GroupOf returns the bundle of a node and the index of its group in the bundle.
func (j *Job) GroupOf(n graph.Node) (*Bundle, int) {
	g := j.Plan.GroupOf(j.Plan.Number(n))
	b := &j.Bundles[j.Plan.Groups[g].Bundle]
	i, _ := slices.BinarySearch(b.Groups(), int32(g))
	return b, i
}

// commitOf returns the last accepted end of a node's group, or nil.
func (j *Job) commitOf(n graph.Node) *Commit {
	b, i := j.GroupOf(n)
	if b.lastCommits == nil {
		return nil
	}
	return b.lastCommits[i]
}

// ForPolicy returns the job as the policy sees it.
func (j *Job) ForPolicy() scheduler.Job {
	p := scheduler.Job{
		ID: j.ID, Name: j.Spec.Name, User: j.Spec.GetPrincipal().GetName(), Pool: j.Submission.pool, Priority: j.Submission.priority,
		Submitted: j.Submission.submitted, TimeLimit: j.TimeLimit(), Deadline: j.Deadline(), Properties: j.Properties(),
	}
	for i := range j.Stages {
		if i == len(j.Plan.Graph.Stages) {
			break // no policy decides about the last group
		}
		m := j.Plan.Graph.Stages[i]
		p.Stages = append(p.Stages, scheduler.Stage{
			ID: scheduler.StageID(i), Name: j.Stages[i].Name(), Groups: j.Stages[i].Groups(), Kind: j.Stages[i].kind,
			Slots: max(int(m.Slots), j.Stages[i].Slots(), 1), Shuffles: m.Shuffles, NoSuspend: j.Stages[i].noSuspend, After: j.Stages[i].after,
		})
		s := &p.Stages[i]
		s.Expected, s.ExpectedBy = j.expected(i)
	}
	return p
}

// Properties lists the properties that the job was submitted with, in order of name.
func (j *Job) Properties() []scheduler.Property {
	var list []scheduler.Property
	for _, p := range j.Spec.Properties {
		list = append(list, scheduler.Property{Name: p.Name, Value: p.Value})
	}
	return list
}

// Refs returns the references by which a launcher knows nodes, given their numbers in the plan.
func (j *Job) Refs(nodes []int32) []*wire.NodeRef {
	refs := make([]*wire.NodeRef, len(nodes))
	for i, x := range nodes {
		n := j.Plan.Node(x)
		refs[i] = &wire.NodeRef{Stage: uint32(n.Stage), Index: uint32(n.Index)}
	}
	return refs
}

// Needed says whether some unfinished bundle reads a lost output of a bundle's i-th group.
func (j *Job) Needed(b *Bundle, i int) bool {
	for _, x := range b.Nodes(i) {
		n := j.Plan.Node(x)
		for _, conn := range j.Inputs.Files.OutOf(n.Stage) {
			if out := (dataflow.Key{Conn: conn, From: int32(n.Index)}); !j.Inputs.There(out) && j.readersOpen(out) {
				return true
			}
		}
	}
	return false
}

// readersOpen says whether some reader of an output is unfinished.
func (j *Job) readersOpen(k dataflow.Key) bool {
	if n, is := j.Inputs.AggregatedBy(k); is {
		return j.Bundles[j.Plan.BundleOf(j.Plan.Number(n))].Phase() != BundleFinished
	}
	if !j.Stages[j.Inputs.ReaderStage(k.Conn)].Open() {
		return false
	}
	open := j.Inputs.All(k.Conn)
	if !open {
		j.Inputs.Files.EachReader(k, func(reader graph.Node) {
			open = open || j.Bundles[j.Plan.BundleOf(j.Plan.Number(reader))].Phase() != BundleFinished
		})
	}
	return open
}

// JobEnd is how a job ends. The zero value means that the job goes on.
type JobEnd struct {
	outcome scheduler.JobOutcome
	failure *wire.Failure // nil: it succeeded, or goes on
}

// Outcome returns how the job ends; 0: it goes on.
func (e *JobEnd) Outcome() scheduler.JobOutcome { return e.outcome }

// Failure returns why the job failed or was killed; nil: neither. Callers must not change it.
func (e *JobEnd) Failure() *wire.Failure { return e.failure }

// AddToMessage appends text to the failure's message.
func (e *JobEnd) AddToMessage(text string) {
	e.failure = proto.CloneOf(e.failure)
	e.failure.Message += text
}

// Refuse records why the job's submission is refused.
func (j *Job) Refuse(why *wire.Failure) { j.End = JobEnd{scheduler.JobFailed, why} }

// Fail records why the job fails, whose work is over.
func (j *Job) Fail(why *wire.Failure) { j.End = JobEnd{scheduler.JobFailed, why} }

// BeginEnd starts the job's end: nothing starts any more except its last bundle.
func (j *Job) BeginEnd(outcome scheduler.JobOutcome, f *wire.Failure) {
	j.Enter(JobEnding)
	j.End, j.Slices.closed = JobEnd{outcome, f}, 0
}

// BeginRemoval starts the removal of an ended job from the state. A job that succeeded has no
// failure, even if an end had begun.
func (j *Job) BeginRemoval(outcome scheduler.JobOutcome) {
	j.Enter(JobRemoving)
	j.End.outcome, j.Slices.closed = outcome, 0
	if outcome == scheduler.JobSucceeded {
		j.End.failure = nil
	}
}

// Attempts returns its live attempts, in no order. The caller must not change the list.
func (j *Job) Attempts() attemptSet { return j.attempts }

// FirstBundle returns the id of its first bundle. The others follow it, in the plan's order.
func (j *Job) FirstBundle() scheduler.BundleID { return j.first }

// Slices is the progress of a job's start, end and removal. Each takes several steps and handles
// a slice of the bundles in each.
type Slices struct {
	bundles int // in the plan, without the last one
	all     int // bundles with the last one
	opened  int // bundles with ids, without the last one
	closed  int // bundles stopped, and later removed, of an ending job
}

// Opened returns how many bundles have ids. The last bundle is not counted: it gets its id at
// admission.
func (s *Slices) Opened() int { return s.opened }

// IsOpen says whether a bundle has its id.
func (s *Slices) IsOpen(b *Bundle) bool { return b.Index < s.opened }

// AllOpen says whether all bundles have their ids.
func (s *Slices) AllOpen() bool { return s.opened == s.bundles }

// AllClosed says whether the job's end, or later its removal, has handled all bundles.
func (s *Slices) AllClosed() bool { return s.closed == s.all }

// nextToClose returns the index of the next bundle to stop; false: none is left. It skips
// bundles that were never opened, since they are neither ready nor running.
func (s *Slices) nextToClose() (int, bool) {
	if s.closed == s.opened {
		s.closed = max(s.closed, s.bundles)
	}
	if s.AllClosed() {
		return 0, false
	}
	s.closed++
	return s.closed - 1, true
}

// CloseNext returns the next bundle to stop of an ending job; nil: none is left.
func (j *Job) CloseNext() *Bundle {
	i, some := j.Slices.nextToClose()
	if !some {
		return nil
	}
	return &j.Bundles[i]
}

// hasPendingWork says whether a later step must continue with the job.
func (j *Job) hasPendingWork() bool {
	switch j.Phase() {
	case JobWaiting:
		return j.Dependencies.Settled()
	case JobRunning:
		return !j.Slices.AllOpen() || j.Inputs.Updating() || j.Elements.Pending()
	case JobEnding:
		return !j.Slices.AllClosed()
	}
	return j.Phase() == JobRemoving
}

// knows says whether a bundle has its id and is not yet removed.
func (j *Job) knows(b *Bundle) bool {
	switch {
	case j.BeforeAdmission(), j.Phase() == JobRemoving && b.Index < j.Slices.closed:
		return false
	}
	return b.Last() || j.Slices.IsOpen(b)
}

// FinishBundle counts a committed bundle as finished.
func (j *Job) FinishBundle(b *Bundle) {
	j.unfinished--
	j.countDone(b, +1)
}

// Unfinished returns how many of its bundles are neither finished nor given up, without the last.
func (j *Job) Unfinished() int { return j.unfinished }

// LastLaunch returns when a bundle of the job was last launched.
func (j *Job) LastLaunch() scheduler.Time { return j.lastLaunch }

// SpeculativeCount returns how many speculative attempts are live or offered.
func (j *Job) SpeculativeCount() int { return j.speculativeCount }
