package view

import (
	"iter"
	"slices"
	"unsafe"

	"github.com/hamadryad/hamadryad/internal/prefetch"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Job is a live job.
type Job struct {
	// Launches and ends of attempts access the fields up to jobHot.
	live liveList // kept by attempts, as is held
	held slotsHeld
	user *user // nil unless a limit of its user is counted

	turn  *uint64 // of jobs
	given uint64  // the last turn in which one of its bundles was given to Launch or left out
	owner *user
	// Counts has one entry for each stage.
	Counts []Counts
	// Owner is the policy's own data on the job. The view never accesses it.
	Owner any
	// Info is the job as last received, with all updates of pool, priority and properties, and with
	// grown stages.
	Info scheduler.Job

	ahead      []*Attempt // held ahead, in order of id; kept by attempts
	launchable launchable // of bundles
	bundles    []*Bundle  // all known bundles; kept by jobs
}

const jobHot = unsafe.Offsetof(Job{}.launchable) + launchableHot

// Counts are the numbers of a stage's groups by state. Their sum is the number of groups.
type Counts struct {
	Waiting  int // not running: not ready yet, or ready
	Running  int // of bundles that are launched
	Finished int // of bundles that are finished
}

// move counts a group that changes its state.
func (c *Counts) move(from, to BundleState) {
	*c.of(from)--
	*c.of(to)++
}

func (c *Counts) of(s BundleState) *int {
	switch s {
	case Launched:
		return &c.Running
	case Finished:
		return &c.Finished
	}
	return &c.Waiting
}

// ID returns the job's id.
func (j *Job) ID() scheduler.JobID { return j.Info.ID }

// ReadyCount returns how many bundles are ready, as of the last Apply.
func (j *Job) ReadyCount() int { return j.launchable.list.len() - j.launchable.second.len() }

// LaunchableCount returns how many bundles are ready or offered for a second attempt, as of the last
// Apply.
func (j *Job) LaunchableCount() int { return j.launchable.list.len() }

// ReadySlots returns how many slots of a kind the ready bundles need, as of the last Apply.
func (j *Job) ReadySlots(kind scheduler.SlotKind) int {
	slots := j.LaunchableSlots(kind)
	for b := range j.launchable.second.all(noTurn) {
		for i := range b.Groups {
			if b.Groups[i].Kind == kind {
				slots -= b.Groups[i].Slots
			}
		}
	}
	return slots
}

// LaunchableSlots returns how many slots of a kind the bundles of LaunchableCount need.
func (j *Job) LaunchableSlots(kind scheduler.SlotKind) int {
	if k := j.launchable.ofKind(kind); k != nil {
		return k.slots
	}
	return 0
}

// LaunchableFirst returns how many of the bundles of LaunchableCount need a kind of slot for their
// first group. Launchable yields these before any is launched.
func (j *Job) LaunchableFirst(kind scheduler.SlotKind) int {
	if k := j.launchable.ofKind(kind); k != nil {
		return k.list.len()
	}
	return 0
}

// Kinds returns the kinds of slots that the job's stages need, in order of stage, each once.
func (j *Job) Kinds() []scheduler.SlotKind {
	var kinds []scheduler.SlotKind
	for i := range j.Info.Stages {
		if kind := j.Info.Stages[i].Kind; !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// WaitingSlots returns how many slots of a kind the groups need that neither run nor are finished,
// whether they are ready or not.
func (j *Job) WaitingSlots(kind scheduler.SlotKind) (n int) {
	for i := range j.Info.Stages {
		if s := &j.Info.Stages[i]; s.Kind == kind {
			n += s.Slots * j.Counts[i].Waiting
		}
	}
	return n
}

// GangCount returns how many of the bundles of LaunchableCount have several groups.
func (j *Job) GangCount() int { return j.launchable.gangs.len() }

// Located reports whether a single-group bundle of the job was ever ready with located input. For
// other jobs no launcher is nearer than another. It saves a search. A policy must not decide by it:
// after a restart it is false if no such bundle is left.
func (j *Job) Located() bool { return j.launchable.hostsMost() > 0 }

// Attempts returns the job's live attempts in order of id.
func (j *Job) Attempts() []*Attempt { return j.live.all() }

// Ahead returns the job's attempts that are held ahead, in order of id. They hold nothing yet.
func (j *Job) Ahead() []*Attempt { return j.ahead }

// Held returns how many slots of a kind the job's assigned and running attempts
// hold.
func (j *Job) Held(kind scheduler.SlotKind) int { return countOf(j.held, kind) }

// HeldSlots returns the slots the job holds, in order of kind.
func (j *Job) HeldSlots() []scheduler.SlotCount { return j.held }

// Ready walks the job's ready bundles in order of id. Like all walks it skips those that are not
// Bundle.WithinUserLimit; the counts above have them.
func (j *Job) Ready() iter.Seq[*Bundle] { return j.walk(&j.launchable.list, 0).ready() }

// ReadyOfKind walks the bundles of Ready whose first group needs a kind of slot and whose id is
// greater than after. So a policy that launches one bundle at a time continues after the last one
// it tried.
func (j *Job) ReadyOfKind(kind scheduler.SlotKind, after scheduler.BundleID) iter.Seq[*Bundle] {
	return j.walk(j.launchable.listOf(kind), after).ready()
}

// ReadyGangs walks the job's ready bundles with several groups.
func (j *Job) ReadyGangs() iter.Seq[*Bundle] { return j.LaunchableGangs().ready() }

// ReadyAt walks the job's ready single-group bundles with input on a host.
func (j *Job) ReadyAt(host string) iter.Seq[*Bundle] { return j.LaunchableAt(host).ready() }

// ReadyIn walks the job's ready single-group bundles with input in a rack.
func (j *Job) ReadyIn(rack string) iter.Seq[*Bundle] { return j.LaunchableIn(rack).ready() }

// Seconds walks the job's bundles that run and are offered for a second attempt, in order of id.
func (j *Job) Seconds() iter.Seq[*Bundle] { return j.walk(&j.launchable.second, 0).All() }

// Launchable walks, in order of id, the bundles of ReadyOfKind and those of Seconds together, for a
// policy that treats both alike. The kind "" stands for all kinds.
func (j *Job) Launchable(kind scheduler.SlotKind, after scheduler.BundleID) Walk {
	return j.walk(j.launchable.listOf(kind), after)
}

// LaunchableGangs walks the bundles of ReadyGangs and the gangs of Seconds together.
func (j *Job) LaunchableGangs() Walk { return j.walk(&j.launchable.gangs, 0) }

// LaunchableAt walks the bundles of ReadyAt, and such bundles of Seconds, together.
func (j *Job) LaunchableAt(host string) Walk { return j.walk(j.launchable.byHost[host], 0) }

// LaunchableIn walks the bundles of ReadyIn, and such bundles of Seconds, together.
func (j *Job) LaunchableIn(rack string) Walk { return j.walk(j.launchable.byRack[rack], 0) }

// FirstReady returns the ready bundle with the lowest id that was not given to Launch or LeaveOut since
// the last Apply, whatever its user's limit; nil: there is none.
func (j *Job) FirstReady() *Bundle {
	if j.given != *j.turn && j.launchable.second.len() == 0 {
		return j.launchable.list.front()
	}
	walk := j.launchable.list.after(0, *j.turn)
	for b := walk.Next(); b != nil; b = walk.Next() {
		if !b.SpeculationOffered {
			return b
		}
	}
	return nil
}

// walk walks one of the job's lists, from the bundles with ids above after. While no launchable bundle
// is within its user's limit, it ends at once.
func (j *Job) walk(l *list, after scheduler.BundleID) Walk {
	w := l.after(after, *j.turn)
	if j.user != nil {
		w.limited = j
	}
	return w
}

// launchables walks the launchable bundles in order of id, including those given to Launch.
func (j *Job) launchables() iter.Seq[*Bundle] { return j.launchable.all(noTurn) }

// near returns the places of the launchable bundles' input.
func (j *Job) near() *launchable { return &j.launchable }

// prefetch touches the memory that launches and ends access.
func (j *Job) prefetch() byte { return prefetch.First(j, jobHot) }

// prefetchMore touches the memory behind that, for the end of an attempt, or for a launch if a is
// nil. It returns the list whose first bundle a policy is likely to access.
func (j *Job) prefetchMore(a *Attempt) (front *list, sum byte) {
	front, sum = j.launchable.prefetch()
	return front, sum + prefetch.At(j.Counts, 0) + j.held.prefetch() + j.live.prefetch(a)
}
