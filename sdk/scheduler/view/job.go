package view

import (
	"iter"
	"slices"
	"time"
	"unsafe"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Job is a live job.
type Job struct {
	// What launches and ends touch lies together, up to jobHot.
	ready list
	kinds []kindReady // in the order the kinds were first ready
	live  liveList
	held  []scheduler.SlotCount

	// Counts has one entry for each stage.
	Counts []Counts
	// Owner is the policy's: what it keeps of the job. The view never looks at it.
	Owner any
	// Info is the job as last told: updates of pool, priority and properties and
	// grown stages are in it.
	Info scheduler.Job

	gangs   list             // those of ready with more than one group
	byHost  map[string]*list // single-group bundles with input on a host
	byRack  map[string]*list
	bundles []*Bundle
}

const jobHot = unsafe.Offsetof(Job{}.gangs)

// kindReady is what is launchable of a job and needs one kind of slot.
type kindReady struct {
	kind  scheduler.SlotKind
	slots int  // of all groups that need the kind
	list  list // bundles whose first group needs it
}

func (j *Job) ofKind(kind scheduler.SlotKind) *kindReady {
	for i := range j.kinds {
		if j.kinds[i].kind == kind {
			return &j.kinds[i]
		}
	}
	return nil
}

func (j *Job) addKind(kind scheduler.SlotKind) *kindReady {
	if k := j.ofKind(kind); k != nil {
		return k
	}
	j.kinds = append(j.kinds, kindReady{kind: kind})
	return &j.kinds[len(j.kinds)-1]
}

// Counts says where the groups of a stage are. Their sum is the number of groups.
type Counts struct {
	Waiting  int // not running: not ready yet, or ready
	Running  int // of bundles that are launched
	Finished int // of bundles that are finished
}

// ID returns the job's id.
func (j *Job) ID() scheduler.JobID { return j.Info.ID }

// ReadyCount returns how many bundles may be launched, as of the last Apply.
func (j *Job) ReadyCount() int { return j.ready.len() }

// ReadySlots returns how many slots of a kind the launchable bundles need, as of
// the last Apply.
func (j *Job) ReadySlots(kind scheduler.SlotKind) int {
	if k := j.ofKind(kind); k != nil {
		return k.slots
	}
	return 0
}

// ReadyFirst returns how many of the launchable bundles need a kind of slot for their
// first group, as of the last Apply: those that Walk gives before any is launched.
func (j *Job) ReadyFirst(kind scheduler.SlotKind) int {
	if k := j.ofKind(kind); k != nil {
		return k.list.len()
	}
	return 0
}

// GangCount returns how many of the launchable bundles have several groups.
func (j *Job) GangCount() int { return j.gangs.len() }

// Located reports whether a single-group bundle of the job was ever ready with input
// on some host. For a job without, no launcher is nearer than another.
func (j *Job) Located() bool { return len(j.byHost) > 0 }

// Attempts returns the job's live attempts in order of id.
func (j *Job) Attempts() []*Attempt { return j.live.all() }

// Held returns how many slots of a kind the job's assigned and running attempts
// hold.
func (j *Job) Held(kind scheduler.SlotKind) int {
	for _, h := range j.held {
		if h.Kind == kind {
			return h.Count
		}
	}
	return 0
}

// HeldSlots returns the slots the job holds, in order of kind.
func (j *Job) HeldSlots() []scheduler.SlotCount { return j.held }

func (j *Job) hold(kind scheduler.SlotKind, n int) {
	for i := range j.held {
		if j.held[i].Kind == kind {
			j.held[i].Count += n
			return
		}
	}
	j.held = append(j.held, scheduler.SlotCount{Kind: kind, Count: n})
	slices.SortFunc(j.held, byKind)
}

// BundleState is where a bundle stands.
type BundleState uint8

// The states of a bundle, in order of progress.
const (
	Waiting  BundleState = iota // ran in vain, was withdrawn, or is wanted again
	Ready                       // may be launched
	Launched                    // has live attempts
	Finished                    // each group has finished
)

// String returns the state's name.
func (s BundleState) String() string {
	return [...]string{"waiting", "ready", "launched", "finished"}[s]
}

// Bundle is a bundle that was ready at least once.
type Bundle struct {
	ID    scheduler.BundleID
	Job   *Job
	State BundleState
	// SpeculationOffered says that it runs and may be launched a second time.
	SpeculationOffered bool
	// Groups is nil when the bundle is finished.
	Groups []scheduler.Group
	// Avoid lists launchers the manager will refuse, ascending.
	Avoid []scheduler.LauncherID
	// Since is when it last became ready, or a second attempt was offered.
	Since scheduler.Time
	// ProtectedUntil is when attempts of it may be preempted again, 0 when they always
	// might. What commits never may, and nobody is told of that.
	ProtectedUntil scheduler.Time

	stages   []scheduler.StageID // of its groups, kept when Groups is dropped
	oneStage [1]scheduler.StageID
	attempts []*Attempt // live, of this and earlier readiness
	turn     int        // counts BundleReady events
	given    uint64     // the turn in which the policy launched it
}

// Launchable says whether a launch of the bundle would be for something.
func (b *Bundle) Launchable() bool { return b.State == Ready || b.SpeculationOffered }

// Attempts returns the bundle's live attempts.
func (b *Bundle) Attempts() []*Attempt { return b.attempts }

// AttemptState is where a live attempt stands.
type AttemptState uint8

// The states of an attempt.
const (
	Assigned  AttemptState = iota // accepted, its worker not told of yet
	Running                       // its worker runs
	Suspended                     // stopped: no slots, but memory
)

// String returns the state's name.
func (s AttemptState) String() string { return [...]string{"assigned", "running", "suspended"}[s] }

// Attempt is a live attempt.
type Attempt struct {
	ID       scheduler.AttemptID
	Bundle   *Bundle
	Group    int
	Need     *scheduler.Group // what it takes
	Launcher scheduler.LauncherID
	// Speculative says that it is the second of two, whether the first lives or not. From
	// a snapshot, of one whose first is gone, it is known once one of its groups has
	// started.
	Speculative bool
	State       AttemptState
	Phase       scheduler.Phase // 0 while assigned
	Progress    float64         // as last told, 0 to 1
	Work        scheduler.Work  // as last told
	// Since is when State was entered, PhaseSince when Phase was, AssignedAt when
	// the launch was accepted.
	Since, PhaseSince, AssignedAt scheduler.Time
	// Leaving is the job for which an accepted preemption takes the attempt's
	// slots, 0 when none does.
	Leaving scheduler.JobID

	run   *run
	on    *Launcher     // nil in Start, for one told after it, or gone
	place int           // in its job's list
	turn  int           // the bundle's, when it was launched
	ran   time.Duration // up to Since, net of suspension
}

// run is one accepted launch of a bundle.
type run struct{ left int } // groups that have not finished

// ProtectedUntil is when the attempt may be preempted, which a preemption before is
// refused for; 0 or a time that has passed when it may be now.
func (a *Attempt) ProtectedUntil() scheduler.Time { return a.Bundle.ProtectedUntil }

// Job returns the attempt's job.
func (a *Attempt) Job() *Job { return a.Bundle.Job }

// Ran returns how long the attempt has run at a time, net of suspension.
func (a *Attempt) Ran(now scheduler.Time) time.Duration {
	if a.State == Running {
		return a.ran + now.Sub(a.Since)
	}
	return a.ran
}

// Ended is an attempt that ended in the last Apply or Start.
type Ended struct {
	*Attempt
	Event scheduler.AttemptEnded
}

// Jobs returns the live jobs in order of id.
func (v *View) Jobs() []*Job { return v.jobList }

// Job returns a live job, or nil.
func (v *View) Job(id scheduler.JobID) *Job { return v.jobs.Get(id) }

// Bundle returns a bundle that was ready at least once, of a live job, or nil.
func (v *View) Bundle(id scheduler.BundleID) *Bundle { return v.bundles.Get(id) }

// Attempt returns a live attempt, or nil.
func (v *View) Attempt(id scheduler.AttemptID) *Attempt { return v.attempts.Get(id) }

// Ended returns the attempts that ended in the last Apply or Start, in order.
func (v *View) Ended() []Ended { return v.ended }

// Ready walks the launchable bundles in order of job, then id.
func (v *View) Ready() iter.Seq[*Bundle] {
	return func(yield func(*Bundle) bool) {
		for _, j := range v.jobList {
			for b := range j.ready.all(v.turn) {
				if !yield(b) {
					return
				}
			}
		}
	}
}

// ReadyOf walks a job's launchable bundles in order of id. Like its siblings it
// leaves out what was given to Launch since the last Apply.
func (v *View) ReadyOf(j *Job) iter.Seq[*Bundle] { return j.ready.all(v.turn) }

// ReadyOfKind walks those of ReadyOf whose first group needs a kind of slot and
// whose id is greater than after: a policy that launches one bundle at a time goes
// on behind the last one it tried.
func (v *View) ReadyOfKind(j *Job, kind scheduler.SlotKind, after scheduler.BundleID) iter.Seq[*Bundle] {
	return v.Walk(j, kind, after).each()
}

// Walk is ReadyOfKind without an iterator.
func (v *View) Walk(j *Job, kind scheduler.SlotKind, after scheduler.BundleID) Walk {
	if k := j.ofKind(kind); k != nil {
		return k.list.after(after, v.turn)
	}
	return Walk{}
}

// GangsOf walks a job's launchable bundles with several groups.
func (v *View) GangsOf(j *Job) iter.Seq[*Bundle] { return j.gangs.all(v.turn) }

// ReadyAt walks a job's launchable single-group bundles with input on a host.
func (v *View) ReadyAt(j *Job, host string) iter.Seq[*Bundle] { return j.byHost[host].all(v.turn) }

// ReadyIn walks a job's launchable single-group bundles with input in a rack.
func (v *View) ReadyIn(j *Job, rack string) iter.Seq[*Bundle] { return j.byRack[rack].all(v.turn) }

// Launch makes the decision to launch a bundle, which Ready and its siblings
// leave out from then on until the next Apply.
func (v *View) Launch(b *Bundle, where []scheduler.LauncherID) scheduler.Launch {
	b.given = v.turn
	return scheduler.Launch{Bundle: b.ID, Launchers: where}
}
