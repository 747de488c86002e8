// Package changes is the core's change feed: the rows of all objects that changed in a step, with
// their state at its end. Views of the cluster are built from the rows outside the core, so that
// readers don't slow a round.
//
// # Invariants
//
// A row replaces the earlier one of the same number, so that applying a row twice changes nothing.
// A row and the data that it points to never change afterwards: rows may be read on any goroutine.
// All rows that change in a step come in one batch, in order of their numbers.
//
// There is a row for each job, stage, attempt, launcher and user with a limit that changed. There
// is one for the outcome of each decision of the policy. Consecutive elements of a job array share
// one.
package changes

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// ChangeSet is the changes of a step. Jobs precede their stages and attempts.
type ChangeSet struct {
	Jobs      []Job
	Stages    []Stage
	Elements  []Elements // in order of jobs and elements
	Attempts  []Attempt
	Launchers []Launcher
	Users     []User     // with a limit, in order of name
	Decided   []Decision // in order of the decisions, up to a bound
	// Ended are jobs that have ended, in order of their ends. They have no rows any more; the last
	// rows of their stages and attempts are in the same batch or an earlier one.
	Ended []*wire.JobStatus
}

// Job is the row of a live job.
type Job struct {
	ID         scheduler.JobID
	Spec       *wire.JobSpec   // as it was submitted; pool and priority may have changed since
	Plan       *graph.Expanded // its stages by number, and the nodes of its groups
	StageNames []string        // of the plan, and of the stage that publishes
	State      wire.JobState   // waiting, asked, running, finishing or killing
	Pool       string
	Priority   scheduler.Priority
	Submitted  scheduler.Time
	Admitted   scheduler.Time  // 0: not yet
	Started    scheduler.Time  // when one of its groups was first launched; 0: none was
	Limits     *wire.JobLimits // nil: none

	Array Array // none: the job is no array

	Groups, Finished int // groups, with the publishing one; finished ones
	Running          int // live attempts that are not suspended
	Files            int // that accepted attempts wrote into its outputs

	Failure      *wire.Failure   // why it ends; nil: it goes on, or was killed
	Counters     []*wire.Counter // of accepted attempts, in order of name
	Read         [scheduler.LocalityLevels]int64
	Local        [scheduler.LocalityLevels]uint32
	Notes        []string // events of the job, the newest last
	NotesDropped int      // older ones
	Waits        Waits
}

// Waits is the reasons why a job waits.
type Waits struct {
	Retry     string                // why the publishing group, or a bundle that met a full output store, waits for a retry; "": none does
	Stopping  int                   // attempts that still run while the job ends
	WhyNot    string                // why a bundle of it can't be placed; "": all can
	Ready     int                   // bundles
	Longest   string                // a group of the longest ready bundle, described; "": none is ready
	Since     scheduler.Time        // since when this bundle is ready
	Width     int                   // groups of it
	Needs     []scheduler.SlotCount // all slots that it needs at once, in order of kind
	Memory    int64                 // bytes, of all of its groups
	Resources scheduler.Resources   // countable, of all of its groups
	Groups    []GroupNeed           // the needs of each of its groups, where it has several
	Policy    scheduler.Waiting     // the policy's reason
	After     []Dependency          // the jobs that have to end first, in order of id
}

// Array is the elements of a job array. It does not change.
type Array struct {
	Set   wire.ElementSet // empty: there is no array
	Spec  *wire.Elements
	Stage int // whose nodes they are
}

// Elements is the state of consecutive elements of a job array. Elements without a row wait.
type Elements struct {
	Job          scheduler.JobID
	First, Count int32 // positions in the array
	State        wire.ElementState
}

// Dependency is a job that has to end before another starts.
type Dependency struct {
	Job    scheduler.JobID
	AnyEnd bool // otherwise it has to succeed
}

// GroupNeed is the needs of each of several equal groups of a bundle, from one launcher.
type GroupNeed struct {
	Kind      string // of slots
	Slots     int
	Memory    int64 // bytes
	Resources scheduler.Resources
	Count     int // groups
}

// Stage is the row of a stage of a live job. It counts nodes; the publishing stage counts its one
// group.
type Stage struct {
	Job                                          scheduler.JobID
	Number                                       int32
	Nodes                                        uint32
	Waiting, Ready, Running, Suspended, Finished uint32
	GivenUp                                      uint32 // elements of a job array that ended without success
	Failures                                     uint32
	Spread                                       Spread
	Aggregation                                  Aggregation
}

// Aggregation says which nodes of an aggregating stage were chosen. The zero value is that of another
// stage.
type Aggregation struct {
	Level   wire.Level
	Least   int64  // bytes for which a place gets a node
	Chosen  bool   // the following were chosen
	Places  uint32 // with writers
	Nodes   uint32 // of them, those that got a node
	Covered uint32 // writers that nodes read
	Direct  uint32 // writers that the final readers read
	Bytes   int64  // of the covered writers, when the nodes were chosen
}

// Status returns the message for people; nil for the zero value.
func (a Aggregation) Status() *wire.AggregateStatus {
	if a.Level == 0 {
		return nil
	}
	return &wire.AggregateStatus{
		Level: a.Level, Least: a.Least, Chosen: a.Chosen, Places: a.Places, Nodes: a.Nodes, Covered: a.Covered, Direct: a.Direct, Bytes: a.Bytes,
	}
}

// Spread says how the partitions of an adapted connection were given to readers. The zero value is
// that of a stage that reads none, or whose readers are not chosen.
type Spread struct {
	Partitions uint32
	Joined     uint32 // partitions that share a reader with others
	Split      uint32 // partitions with several readers
	Pieces     uint32 // readers of those
	Largest    int64  // bytes of the largest portion
	Median     int64  // bytes of the median partition
	Bytes      int64  // partitions are joined up to so many
	Ranges     []Range
	LeftOut    uint32 // further ranges
}

// Range says what some readers of an adapted connection read: one reader of several partitions, or
// several readers of one.
type Range struct {
	Reader, Readers       uint32 // the first, and how many
	Partition, Partitions uint32 // the first, and how many
	Bytes                 int64  // of all these partitions
}

// Status returns the message for people; nil for the zero value.
func (s Spread) Status() *wire.AdaptStatus {
	if s.Partitions == 0 {
		return nil
	}
	m := &wire.AdaptStatus{
		Partitions: s.Partitions, Joined: s.Joined, Split: s.Split, Pieces: s.Pieces, Largest: s.Largest, Median: s.Median, Bytes: s.Bytes, RangesLeftOut: s.LeftOut,
	}
	for _, r := range s.Ranges {
		m.Ranges = append(m.Ranges, &wire.AdaptedRange{Reader: r.Reader, Readers: r.Readers, Partition: r.Partition, Partitions: r.Partitions, Bytes: r.Bytes})
	}
	return m
}

// State is the state of an attempt.
type State uint8

// The states.
const (
	Assigned State = iota + 1 // the start command was sent to its launcher
	Running
	Starved // running, and waiting for inputs
	Suspended
	Stopping
	Ended
	Ahead // held by its launcher, without slots: see scheduler.Launch
)

// Attempt is the row of an attempt at a group.
type Attempt struct {
	ID          scheduler.AttemptID
	Job         scheduler.JobID
	Bundle      scheduler.BundleID
	Run         uint64 // the bundle attempt's number: that of its first attempt
	Launcher    scheduler.LauncherID
	On          string // the launcher's name
	Stage       int32
	Index       int32 // of its group's first node
	State       State
	Speculative bool
	Outcome     scheduler.AttemptOutcome // of an ended attempt

	Ready     scheduler.Time // since when its bundle had been ready; 0: a second attempt
	Launched  scheduler.Time
	Started   scheduler.Time  // 0: not yet
	Executing scheduler.Time  // since when it had read its input; 0: not reported
	Since     scheduler.Time  // of its state, where that is suspended or ended
	Suspended time.Duration   // before that
	Reason    string          // why it is being stopped, or ended
	For       scheduler.JobID // the job that it was preempted for; 0: none
	Work      scheduler.Work  // of an ended attempt
}

// Launcher is the row of a launcher that is up, or lost and remembered.
type Launcher struct {
	ID                       scheduler.LauncherID
	Name, Host, Rack         string
	State                    string                // up, draining, drained, excluded or lost
	Slots, Free              []scheduler.SlotCount // free slots are only those on which work may start
	Memory, MemoryFree       int64                 // bytes
	Swap, SwapFree           int64                 // bytes
	Resources, ResourcesFree scheduler.Resources
	Running, Suspended       int               // attempts
	ExcludedUntil            scheduler.Time    // 0: not excluded
	ExcludedFor              []scheduler.JobID // the jobs that exclude it
	HTTPAddress              string
	Gone                     bool // forgotten
}

// User is the row of a user with live jobs and a limit, of jobs or of what attempts hold.
type User struct {
	scheduler.LimitedUser
	Jobs    int  // live ones
	JobsMax int  // 0: no bound
	Gone    bool // it has no live job any more, or no limit
}

// Compare orders users by name.
func (u User) Compare(v User) int { return cmp.Compare(u.Name, v.Name) }

// Decision is the outcome of one of the policy's decisions.
type Decision struct {
	Generation uint64 // of the policy
	Round      uint64
	Kind       scheduler.DecisionKind
	Job        scheduler.JobID      // its job; 0: none, or an unknown one
	Bundle     scheduler.BundleID   // 0: none
	Attempt    scheduler.AttemptID  // the attempt to resume, or the first victim; 0: none
	Launcher   scheduler.LauncherID // of the first group, or the first victim; 0: none, or unknown
	Count      int                  // groups of a launch, victims of a preemption
	From       scheduler.JobID      // job of the first victim; 0: no victim, or an unknown one
	Reason     scheduler.RefusalReason
	Detail     string
}

// Accepted reports whether it was carried out.
func (d *Decision) Accepted() bool { return d.Reason == scheduler.NotRefused }

// WaitsForLauncher explains why a job's last group, which needs no slots, does not start although
// so many launchers are up.
func WaitsForLauncher(group string, up int) string {
	return fmt.Sprintf("%s waits for a launcher: each of %d drains, is avoided, or runs as many such groups as core.finishersMax allows", group, up)
}

// dependenciesNamed bounds the jobs that WaitsForJobs names.
const dependenciesNamed = 5

// WaitsForJobs explains that a job waits for others, of which there are some.
func WaitsForJobs(list []Dependency) string {
	var parts []string
	for _, d := range list[:min(len(list), dependenciesNamed)] {
		end := "succeed"
		if d.AnyEnd {
			end = "end"
		}
		parts = append(parts, fmt.Sprintf("%v to %s", d.Job, end))
	}
	if more := len(list) - dependenciesNamed; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return "waits for " + strings.Join(parts, ", ")
}

// AtUserLimit explains why a bundle waits whose job's user may not hold what it needs.
func AtUserLimit(user *scheduler.LimitedUser, need scheduler.Usage) string {
	text := user.AtLimit()
	if !user.Limit.Covers(need) {
		text += fmt.Sprintf("; what starts together needs %v, so it waits until the limit is raised", user.Limit.Bounds(need))
	}
	return text
}

// AllClosed explains why work waits while none of the launchers that are up accepts any.
func AllClosed(up int) string {
	return fmt.Sprintf("all %d launchers that are up are drained or excluded, so nothing new starts: see \"hamadryad launchers\"; \"hamadryad undrain NAME\" ends a drain", up)
}
