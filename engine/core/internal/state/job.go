package state

import (
	"slices"
	"unsafe"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/core/internal/dataflow"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/stats"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// FailStage counts a failure for the stage that it names, if the attempt's group has a node of it, else
// for the stage that the group counts for.
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
	prefers          bool     // some stage may take slots of other kinds
	Bundles          []Bundle // in the plan's order, then the last one of a job with outputs
	Stages           []stage
	unfinished       int        // bundles, without the last
	attempts         attemptSet // live
	suspended        int        // of them: suspended
	speculativeCount int        // of them: speculative; and bundles with an open offer
	Ready            ReadyList
	Slices           Slices
	Exclusions       JobExclusions
	lastLaunch       scheduler.Time // of a bundle of it
	RanOn            LauncherSet    // launchers that are sent its end

	Stats       stats.Job
	dirtyStages []int32  // stages whose rows changed
	stageNames  []string // nil: nobody asked

	Submission Submission
	Inputs     dataflow.Inputs    // of its groups
	first      scheduler.BundleID // of its bundles; a bundle gets its id when it is opened
	Shapes     []shape            // distinct demands of its bundles
	largest    int64              // memory of a group, bytes

	End          JobEnd
	Waits        Waits
	Notes        Notes
	OutputCommit OutputCommit
	StoreRoom    StoreRoom // in the store of its outputs
	filesAt      filesPlace

	lastMore int64 // bytes that its last group takes beside lastMemory, since that was made ready
}

const jobHot = unsafe.Offsetof(Job{}.Submission)

// NewJob returns a job of a specification and its plan, in no phase yet and without an id.
func NewJob(spec *wire.JobSpec, plan *graph.Expanded) *Job {
	j := &Job{Spec: spec, Plan: plan, Submission: Submission{pool: spec.Pool, priority: scheduler.Priority(spec.Priority)}}
	j.expand()
	return j
}

// Submit gives it its id, and the first of the ids that its bundles get as they are opened.
func (j *Job) Submit(id scheduler.JobID, first scheduler.BundleID, now scheduler.Time) {
	j.ID, j.first, j.Submission.submitted = id, first, now
}

// shape is what a bundle takes. A job has few distinct ones, however many
// bundles: those are what is held against the cluster when it changes.
type shape struct {
	Bundle int // one that has it
	Key    string
}

// stage is what a job knows of a stage.
type stage struct {
	stats.Stage
	singleNode resources.Request // of its groups of one node that are bundles by themselves

	kind      string              // of slots that its groups take
	own       string              // kind of slots that they take without a preference
	preferred string              // kind of slots that they take where the cluster has them; "": own
	suspended uint32              // of its nodes that run
	dirty     bool                // in Job.dirtyStages
	noSuspend bool                // its groups, or some of them, must not be suspended
	after     []scheduler.StageID // whose groups store what its own read, ascending
}

// NoSuspend says whether groups that count for the stage must not be suspended.
func (s *stage) NoSuspend() bool { return s.noSuspend }

// Kind is the kind of slots that the stage's groups take.
func (s *stage) Kind() string { return s.kind }

// OwnKind is the kind of slots that they take where there are none that they prefer.
func (s *stage) OwnKind() string { return s.own }

// Preferred is the kind of slots that they take instead where the cluster has them; "": none.
func (s *stage) Preferred() string { return s.preferred }

// Status is what status shows of the stage.
func (s *stage) Status() *wire.StageStatus {
	m := s.Stage.Status()
	m.Running -= s.suspended
	m.Suspended = s.suspended
	return m
}

// Row is the stage's row, but for whose it is.
func (s *stage) Row() changes.Stage {
	row := s.Stage.Row()
	row.Running -= s.suspended
	row.Suspended = s.suspended
	return row
}

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
	return j.Stages[0].kind
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
		ID: j.ID, Name: j.Spec.Name, User: j.Spec.GetPrincipal().GetName(), Pool: j.Submission.pool, Priority: j.Submission.priority,
		Submitted: j.Submission.submitted, Properties: j.Properties(),
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
	if !j.Stages[j.Plan.Connection(int(k.Conn)).ToStage].Open() {
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

// JobEnd is how a job ends. The zero value is that of a job that goes on.
type JobEnd struct {
	outcome scheduler.JobOutcome
	failure *wire.Failure // nil: it succeeded, or goes on
}

// Outcome returns how the job ends; 0: it goes on.
func (e *JobEnd) Outcome() scheduler.JobOutcome { return e.outcome }

// Failure returns why the job fails, or was killed; nil: it does not, and was not. Nobody may change it.
func (e *JobEnd) Failure() *wire.Failure { return e.failure }

// AddToMessage appends to what the failure says.
func (e *JobEnd) AddToMessage(text string) {
	e.failure = proto.CloneOf(e.failure)
	e.failure.Message += text
}

// Refuse notes why its submission is refused.
func (j *Job) Refuse(why *wire.Failure) { j.End = JobEnd{scheduler.JobFailed, why} }

// BeginEnd has it end: nothing of it starts any more but its last bundle.
func (j *Job) BeginEnd(outcome scheduler.JobOutcome, f *wire.Failure) {
	j.Enter(JobEnding)
	j.End, j.Slices.closed = JobEnd{outcome, f}, 0
}

// BeginRemoval has it leave the state: it is over. A job that succeeded has no failure, whatever
// had begun to end it.
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

// Slices is how far the start of a job, its end and its removal have come: each takes as many steps
// as it needs, a slice of the bundles in each.
type Slices struct {
	bundles int // in the plan, without the last one
	all     int // with it
	opened  int // have ids, without the last one
	closed  int // were stopped, or then removed, of a job that ends
}

// Opened returns how many bundles have ids, without the last, which gets its id with the admission.
func (s *Slices) Opened() int { return s.opened }

// IsOpen says whether a bundle has its id.
func (s *Slices) IsOpen(b *Bundle) bool { return b.Index < s.opened }

// AllOpen says whether all bundles have their ids.
func (s *Slices) AllOpen() bool { return s.opened == s.bundles }

// AllClosed says whether the end, or then the removal, of the job has come to all bundles.
func (s *Slices) AllClosed() bool { return s.closed == s.all }

// nextToClose returns the index of the next bundle to be stopped; false: none is left. Bundles that
// were never opened neither are ready nor run, and are left out.
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

// CloseNext returns the next bundle to be stopped of a job that ends; nil: none is left.
func (j *Job) CloseNext() *Bundle {
	i, some := j.Slices.nextToClose()
	if !some {
		return nil
	}
	return &j.Bundles[i]
}

// hasPendingWork says whether a later step has to go on with a job.
func (j *Job) hasPendingWork() bool {
	switch j.Phase() {
	case JobRunning:
		return !j.Slices.AllOpen() || j.Inputs.Updating()
	case JobEnding:
		return !j.Slices.AllClosed()
	}
	return j.Phase() == JobRemoving
}

// knows says whether a bundle has its id and was not removed yet.
func (j *Job) knows(b *Bundle) bool {
	switch {
	case j.Phase() == JobPendingAdmission, j.Phase() == JobRemoving && b.Index < j.Slices.closed:
		return false
	}
	return b.Last() || j.Slices.IsOpen(b)
}

// FinishBundle counts a bundle that committed as finished.
func (j *Job) FinishBundle(b *Bundle) {
	j.unfinished--
	j.countDone(b, +1)
}

// Unfinished returns how many of its bundles are unfinished, without the last.
func (j *Job) Unfinished() int { return j.unfinished }

// LastLaunch returns when a bundle of it was launched last.
func (j *Job) LastLaunch() scheduler.Time { return j.lastLaunch }

// SpeculativeCount returns how many speculative attempts live, or are offered.
func (j *Job) SpeculativeCount() int { return j.speculativeCount }
