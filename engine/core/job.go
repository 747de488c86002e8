package core

import (
	"slices"
	"unsafe"

	"github.com/hamadryad/hamadryad/engine/core/capacity"
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

// shape is what a bundle takes. A job has few distinct ones, however many
// bundles: those are what is held against the cluster when it changes.
type shape struct {
	bundle int // one that has it
	key    string
}

// endedJob is what is kept of a job that ended.
type endedJob struct {
	status  *wire.JobStatus
	refused *wire.Failure // why its submission was; nil when it was not
}

// stage is what a job knows of a stage.
type stage struct {
	tally.Stage
	single capacity.Demand // of its groups of one node that are bundles by themselves
}

// lastStage is the name of the stage that publishes a job's outputs.
const lastStage = "publish"

// ends says whether nothing of the job is to start any more, but its last bundle.
func (j *job) ends() bool {
	return j.phase == jobEnding || j.phase == jobCleaning || j.phase == jobLeaving
}

// lastBundle returns the bundle that publishes or cleans, or nil.
func (j *job) lastBundle() *bundle {
	if len(j.bundles) > len(j.plan.Bundles) {
		return &j.bundles[len(j.bundles)-1]
	}
	return nil
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

func (j *job) attemptsMax(s *Settings) int {
	if j.spec.AttemptsMax > 0 {
		return int(min(j.spec.AttemptsMax, attemptsMaxMax))
	}
	return s.AttemptsMax
}

// attemptsMaxMax bounds what a job may ask for.
const attemptsMaxMax = 100

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

// groupOf returns the bundle of a node and the place of its group in it.
func (j *job) groupOf(n graph.Node) (*bundle, int) {
	g := j.plan.GroupOf(j.plan.Number(n))
	b := &j.bundles[j.plan.Groups[g].Bundle]
	i, _ := slices.BinarySearch(b.groups(), int32(g))
	return b, i
}

// commitOf returns the last accepted end of the group of a node, or nil.
func (j *job) commitOf(n graph.Node) *commit {
	b, i := j.groupOf(n)
	if b.kept == nil {
		return nil
	}
	return b.kept[i]
}

// forPolicy is what the policy learns of a job.
func (j *job) forPolicy() scheduler.Job {
	p := scheduler.Job{
		ID: j.id, Name: j.spec.Name, User: j.spec.GetPrincipal().GetName(), Pool: j.pool, Priority: j.priority,
		Submitted: j.submitted, Properties: j.properties(),
	}
	for i := range j.stages {
		s := scheduler.Stage{ID: scheduler.StageID(i), Name: j.stages[i].Name(), Groups: j.stages[i].Groups()}
		if i < len(j.plan.Graph.Stages) {
			m := j.plan.Graph.Stages[i]
			s.Kind, s.Slots, s.Shuffles = graph.KindOf(m), max(int(m.Slots), j.stages[i].Slots(), 1), m.Shuffles
		} else {
			s.Kind, s.Slots = j.lastKind(), 1
		}
		p.Stages = append(p.Stages, s)
	}
	return p
}

func (j *job) properties() []scheduler.Property {
	var list []scheduler.Property
	for _, p := range j.spec.Properties {
		list = append(list, scheduler.Property{Name: p.Name, Value: p.Value})
	}
	return list
}
