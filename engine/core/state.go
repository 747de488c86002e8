package core

import (
	"iter"
	"time"
	"unsafe"

	"github.com/hamadryad/hamadryad/engine/core/capacity"
	"github.com/hamadryad/hamadryad/engine/core/commands"
	"github.com/hamadryad/hamadryad/engine/core/inputs"
	"github.com/hamadryad/hamadryad/engine/core/tally"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// prepared is a job id that was handed out and not submitted yet.
type prepared struct {
	id scheduler.JobID
	at scheduler.Time
}

// jobPhase is where a live job stands.
type jobPhase uint8

const (
	jobAsked      jobPhase = iota + 1 // waits for the policy to admit it
	jobRunning                        // its groups run or wait
	jobPublishing                     // all groups finished; the last one publishes
	jobEnding                         // failed or killed: its attempts are being stopped
	jobCleaning                       // failed or killed: the last group cleans
	jobLeaving                        // over: what is left of it is taken out of the state
)

// job is a live job.
type job struct {
	// What every launch and end touches lies together, up to jobHot.
	id         scheduler.JobID
	spec       *wire.JobSpec
	plan       *graph.Expanded
	phase      jobPhase
	touched    bool     // in Core.changed
	bundles    []bundle // in the plan's order, then the last one of a job with outputs
	stages     []stage
	unfinished int        // bundles, without the last
	attempts   attemptSet // live
	resting    int        // of them: suspended
	doubled    int        // of them: speculative; and bundles that are wanted twice
	ready      readyList
	opened     int                    // bundles that were made known, without the last
	avoid      []scheduler.LauncherID // excluded for the whole job, ascending
	lastLaunch scheduler.Time         // of a bundle of it
	ranOn      []scheduler.LauncherID // launchers to be told of its end, ascending

	tally tally.Job

	client    uint64 // whom the admission answers; 0 when answered
	pool      string
	priority  scheduler.Priority
	submitted scheduler.Time
	admitted  scheduler.Time
	inputs    inputs.Inputs      // of its groups
	first     scheduler.BundleID // of its bundles; those of one that opened has not come to lack their ids
	closed    int                // bundles that stopAll, then leave, has come to
	shapes    []shape            // distinct demands of its bundles
	largest   int64              // memory of a group, bytes

	outcome  scheduler.JobOutcome // of a job that ends
	failure  *wire.Failure
	intent   bool // publishing was granted: outputs may be there
	keep     bool // publishing failed for good: its parts stay, for a person
	tries    int  // of the last group
	outlived bool // a life of the manager, whose log may have lost that publishing was granted
	waitTill scheduler.Time
	whyLater string   // why publishing waits until then
	kept     []string // folders with parts that stay, of a job that is over
	filesAt  filesPlace

	lastMore int64 // bytes that its last group takes beside lastMemory, since that was made ready

	watched     bool           // the timer for readers that wait is set
	blamed      []blame        // in order of launcher
	avoiding    bool           // some bundle of it may avoid a launcher
	unplaceable scheduler.Time // since when a bundle can't be placed; 0: all can
	whyNot      string         // the message for it
	policyWait  scheduler.Waiting

	notes        []string
	notesDropped int
}

const jobHot = unsafe.Offsetof(job{}.client)

// blame counts a job's failures on a launcher.
type blame struct {
	launcher scheduler.LauncherID
	failures int
}

// stage is what a job knows of a stage.
type stage struct {
	tally.Stage
	single capacity.Demand // of its groups of one node that are bundles by themselves
}

// Where a bundle stands.
const (
	bundleWaiting  = tally.Waiting
	bundleReady    = tally.Ready
	bundleRunning  = tally.Running
	bundleFinished = tally.Finished
)

// bundle is one bundle of a job.
type bundle struct {
	id         scheduler.BundleID
	job        *job
	index      int
	phase      tally.Phase
	wired      bool        // groups of it are joined by tcp
	single     bool        // it is one group of one node
	stage      int32       // of its first group
	first      int32       // index of that group's first node in the stage
	gate       inputs.Gate // late once it was taken back
	since      scheduler.Time
	next, prev int32 // in the job's ready list
	runs       []*run
	oneRun     [1]*run   // room for the usual number of them
	kept       []*commit // by group: the last that committed; nil before
	failures   int
	losses     int
	avoid      []scheduler.LauncherID // where it failed, the latest last
	twice      scheduler.Time         // since when it is wanted twice; 0: it is not
	preempted  bool
	protected  scheduler.Time // until then
}

// commit is the accepted end of a group's attempt.
type commit struct {
	attempt  scheduler.AttemptID
	run      uint64
	token    []byte
	launcher scheduler.LauncherID
	host     string
	rack     string
	stored   bool // keeps files in its launcher's store
	lost     bool // and they are gone
	spec     bool
	launched scheduler.Time
	started  scheduler.Time
	phased   scheduler.Time // when it began to execute; 0 when that was not told
	ended    scheduler.Time
	work     scheduler.Work
	report   *wire.AttemptEnded // work, files and counters
}

// run is a bundle attempt: all of its groups' attempts together.
type run struct {
	id          uint64 // of its first attempt
	bundle      *bundle
	attempts    []*attempt // by group
	commits     []*commit  // by group, of those that finished
	token       []byte
	speculative bool
	live        int
	peersSent   bool
	granted     bool                     // has the commit grant
	stopped     scheduler.AttemptOutcome // why all of it is being stopped; 0: it is not
	failure     *wire.Failure            // why it failed
	lost        string                   // why it was lost
	launched    scheduler.Time
	toSuspend   scheduler.Time  // when it was last preempted to be suspended; 0: never
	suspendFor  scheduler.JobID // for whom
	suspended   scheduler.Time  // since when its last attempt was; 0: it is not
	suspension  uint64          // its number in Core.suspended; not in checkpoints, which have the order
}

// attemptPhase is where a live attempt stands.
type attemptPhase uint8

const (
	attemptAssigned attemptPhase = iota
	attemptRunning
	attemptSuspended
	attemptEnded
)

// attempt is one try at running a group.
type attempt struct {
	id       scheduler.AttemptID
	run      *run
	group    int
	launcher *launcher
	stage    int32 // that its group counts for
	index    int32 // of its group's first node
	capacity.Holding
	places  [attemptSets]int32 // in its job's and its launcher's set
	phase   attemptPhase
	started scheduler.Time
	since   scheduler.Time // running or suspended
	ran     time.Duration  // up to since, net of suspension
	phased  scheduler.Time
	outcome scheduler.AttemptOutcome // once it ended
	address string

	stop       *stop
	suspending bool
	resuming   bool
	pending    commands.Pending

	reads    inputs.Reader
	progress float64
	work     *wire.Work
	told     scheduler.Time // of its progress
}

// stop is why an attempt is being stopped.
type stop struct {
	outcome scheduler.AttemptOutcome
	grace   time.Duration
	reason  string
	forJob  scheduler.JobID
	at      scheduler.Time
}

// endedJob is what is kept of a job that ended.
type endedJob struct {
	status  *wire.JobStatus
	refused *wire.Failure // why its submission was; nil when it was not
}

// allNodes yields the numbers of the nodes of all groups.
func (b *bundle) allNodes() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for i := range b.groups() {
			for _, x := range b.nodes(i) {
				if !yield(x) {
					return
				}
			}
		}
	}
}

// groups returns the numbers of a bundle's groups in the plan; nil for the last
// bundle of a job with outputs.
func (b *bundle) groups() []int32 {
	if b.last() {
		return nil
	}
	return b.job.plan.Bundles[b.index].Groups
}

// Width is how many groups the bundle has.
func (b *bundle) Width() int {
	if b.single || b.last() {
		return 1
	}
	return len(b.groups())
}

// last says whether it is the bundle that publishes or cleans.
func (b *bundle) last() bool { return !b.single && b.index == len(b.job.plan.Bundles) }

// Demand returns what the i-th group takes.
func (b *bundle) Demand(i int) capacity.Demand {
	switch {
	case b.single:
		return b.job.stages[b.stage].single
	case b.last():
		return capacity.Demand{Kind: b.job.lastKind(), Slots: 1, Memory: lastMemory + b.job.lastMore}
	}
	g := &b.job.plan.Groups[b.groups()[i]]
	return capacity.Demand{Kind: g.Kind, Slots: g.Slots, Memory: g.Memory}
}

// stageOf returns the stage that the i-th group counts for.
func (b *bundle) stageOf(i int) int {
	switch {
	case b.single:
		return int(b.stage)
	case b.last():
		return len(b.job.plan.Graph.Stages)
	}
	return b.job.plan.Groups[b.groups()[i]].Stage
}

// ID is capacity.Bundle's.
func (b *bundle) ID() scheduler.BundleID { return b.id }

// JobID is capacity.Bundle's.
func (b *bundle) JobID() scheduler.JobID { return b.job.id }

// What the group that publishes or cleans takes, bytes: it only renames and deletes, but
// holds the list of the files.
const (
	lastMemory     = 64 << 20
	lastFileMemory = 512 // for each file to publish or keep
)

// memoryForFiles is what the last group takes for the list of files: no more than some
// group of the job took, so that there is a launcher for it.
func (j *job) memoryForFiles() int64 {
	return max(min(int64(j.filesTotal())*lastFileMemory, j.largest-lastMemory), 0)
}

// lastKind is the slot kind of the group that publishes: the default one if the
// job uses it, else that of its first stage, which the cluster must have anyway.
func (j *job) lastKind() string {
	for _, s := range j.plan.Graph.Stages {
		if graph.KindOf(s) == scheduler.DefaultKind {
			return scheduler.DefaultKind
		}
	}
	return graph.KindOf(j.plan.Graph.Stages[0])
}

// lastBundle returns the bundle that publishes or cleans, or nil.
func (j *job) lastBundle() *bundle {
	if len(j.bundles) > len(j.plan.Bundles) {
		return &j.bundles[len(j.bundles)-1]
	}
	return nil
}

// nodes returns the numbers of the nodes of a bundle's i-th group.
func (b *bundle) nodes(i int) []int32 {
	if b.last() {
		return nil
	}
	return b.job.plan.Groups[b.groups()[i]].Nodes
}

// ends says whether nothing of the job is to start any more, but its last bundle.
func (j *job) ends() bool {
	return j.phase == jobEnding || j.phase == jobCleaning || j.phase == jobLeaving
}

// readyList links a job's ready bundles, the longest ready first.
type readyList struct {
	first, last int32 // bundle index + 1; 0: none
	count       int
}

func (j *job) linkReady(b *bundle) {
	b.prev, b.next = j.ready.last, 0
	if j.ready.last == 0 {
		j.ready.first = int32(b.index) + 1
	} else {
		j.bundles[j.ready.last-1].next = int32(b.index) + 1
	}
	j.ready.last = int32(b.index) + 1
	j.ready.count++
}

func (j *job) unlinkReady(b *bundle) {
	if b.prev == 0 {
		j.ready.first = b.next
	} else {
		j.bundles[b.prev-1].next = b.next
	}
	if b.next == 0 {
		j.ready.last = b.prev
	} else {
		j.bundles[b.next-1].prev = b.prev
	}
	b.prev, b.next = 0, 0
	j.ready.count--
}

// allReady walks the ready bundles, the longest ready first. The one at hand may
// be unlinked meanwhile.
func (j *job) allReady() func(func(*bundle) bool) {
	return func(yield func(*bundle) bool) {
		for at := j.ready.first; at != 0; {
			b := &j.bundles[at-1]
			at = b.next
			if !yield(b) {
				return
			}
		}
	}
}
