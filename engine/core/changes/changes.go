// Package changes is what the core reports of itself: the rows of all that changed in a step, as
// they are at its end. What is shown of the cluster is made of them beside the core, so that
// readers don't slow a round.
//
// # Invariants
//
// A row replaces the earlier one of the same number, so that taking one in twice changes nothing.
// What a row points to never changes afterwards: rows may be read on any goroutine. All rows that
// change in a step come in one batch, in order of their numbers.
//
// There is a row for each job, stage, attempt and launcher that changed, and one for the outcome of
// each decision of the policy.
package changes

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// ChangeSet are what changed in a step. Those of jobs come before those of what is in them.
type ChangeSet struct {
	Jobs      []Job
	Stages    []Stage
	Attempts  []Attempt
	Launchers []Launcher
	Decided   []Decision // in the order in which they were taken, up to a bound
	// Ended are jobs that are over, in the order of their ends. They have no rows any more; the
	// last ones of their stages and attempts are in the same batch or came before.
	Ended []*wire.JobStatus
}

// Job is the row of one that lives.
type Job struct {
	ID         scheduler.JobID
	Spec       *wire.JobSpec   // as it was submitted; pool and priority may have changed since
	Plan       *graph.Expanded // its stages by number, and the nodes of its groups
	StageNames []string        // of the plan, and of the stage that publishes
	State      wire.JobState   // asked, running, finishing or killing
	Pool       string
	Priority   scheduler.Priority
	Submitted  scheduler.Time
	Admitted   scheduler.Time // 0: it was not yet

	Groups, Finished int // groups, with the one that publishes; of them finished
	Running          int // attempts that live and are not suspended
	Files            int // that accepted attempts wrote into its outputs

	Failure      *wire.Failure   // why it ends; nil: it does not, or was killed
	Counters     []*wire.Counter // of accepted attempts, in order of name
	Read         [scheduler.LocalityLevels]int64
	Local        [scheduler.LocalityLevels]uint32
	Notes        []string // what happened to it, the newest last
	NotesDropped int      // older ones
	Waits        Waits
}

// Waits is what a job waits for.
type Waits struct {
	Retry    string                // why what publishes, or met a full store of outputs, waits until it is tried again; "": nothing does
	Stopping int                   // attempts of a job that ends
	WhyNot   string                // why a bundle of it can't be placed; "": all can
	Ready    int                   // bundles
	Longest  string                // a group of the bundle that is ready longest, in words; "": none is ready
	Since    scheduler.Time        // that this bundle is ready
	Width    int                   // groups of it
	Needs    []scheduler.SlotCount // that it takes at once, in order of kind
	Memory   int64                 // bytes, of all of its groups
	Groups   []GroupNeed           // what each of its groups takes, where it has several
	Policy   scheduler.Waiting     // the policy's reason
}

// GroupNeed is what each of so many groups of a bundle takes of one launcher.
type GroupNeed struct {
	Kind   string // of slots
	Slots  int
	Memory int64 // bytes
	Count  int   // groups
}

// Stage is the row of a stage of a live job. Its counts are of nodes; those of the stage that
// publishes are of its one group.
type Stage struct {
	Job                                          scheduler.JobID
	Number                                       int32
	Nodes                                        uint32
	Waiting, Ready, Running, Suspended, Finished uint32
	Failures                                     uint32
}

// State is where an attempt stands.
type State uint8

// The states.
const (
	Assigned State = iota + 1 // its launcher was sent its start
	Running
	Starved // it runs, and waits for inputs
	Suspended
	Stopping
	Ended
)

// Attempt is the row of one try at running a group.
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
	Outcome     scheduler.AttemptOutcome // of one that ended

	Ready     scheduler.Time // since when its bundle had been; 0: a second attempt
	Launched  scheduler.Time
	Started   scheduler.Time  // 0: it has not
	Executing scheduler.Time  // since when it had read its input; 0: not reported
	Since     scheduler.Time  // of its state, where that is suspended or ended
	Suspended time.Duration   // before that
	Reason    string          // why it is being stopped, or ended
	For       scheduler.JobID // for whom it was preempted; 0: for nobody
	Work      scheduler.Work  // of one that ended
}

// Launcher is the row of one that is up, or lost and remembered.
type Launcher struct {
	ID                 scheduler.LauncherID
	Name, Host, Rack   string
	State              string                // up, draining, drained, excluded or lost
	Slots, Free        []scheduler.SlotCount // free is only what work may start on
	Memory, MemoryFree int64                 // bytes
	Swap, SwapFree     int64                 // bytes
	Running, Suspended int                   // attempts
	ExcludedUntil      scheduler.Time        // 0: it is not excluded
	ExcludedFor        []scheduler.JobID     // the jobs for which it is
	HTTPAddress        string
	Gone               bool // it is forgotten
}

// Decision is what became of one of the policy's decisions.
type Decision struct {
	Generation uint64 // of the policy
	Round      uint64
	Kind       scheduler.DecisionKind
	Job        scheduler.JobID      // that it is for; 0: none, or one that is not known
	Bundle     scheduler.BundleID   // 0: of none
	Attempt    scheduler.AttemptID  // that was to go on, or the first victim; 0: of none
	Launcher   scheduler.LauncherID // of the first group, or the first victim; 0: of none, or not known
	Count      int                  // groups of a launch, victims of a preemption
	From       scheduler.JobID      // job of the first victim; 0: there is no victim, or it is not known
	Reason     scheduler.RefusalReason
	Detail     string
}

// Accepted says whether it was carried out.
func (d *Decision) Accepted() bool { return d.Reason == scheduler.NotRefused }

// WaitsForLauncher says why a job's last group does not start, which needs no slots, with so
// many launchers up.
func WaitsForLauncher(group string, up int) string {
	return fmt.Sprintf("%s waits for a launcher: each of %d drains, is avoided, or runs as many such groups as core.finishersMax allows", group, up)
}

// AllClosed says why work waits while none of the launchers that are up takes any.
func AllClosed(up int) string {
	return fmt.Sprintf("all %d launchers that are up are drained or excluded, so nothing new starts: see \"hamadryad launchers\"; \"hamadryad undrain NAME\" ends a drain", up)
}
