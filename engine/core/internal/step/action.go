package step

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Action is something the shell must do. This file has all concrete types. The actions of a step
// are ordered.
type Action interface{ isAction() }

// ToLauncher sends a command to a launcher that is up. Commands to one launcher
// go out in order.
type ToLauncher struct {
	Launcher scheduler.LauncherID
	Command  *wire.Command
}

// Welcome answers a launcher's join. Commands to it follow in later actions.
type Welcome struct {
	Name        string
	Incarnation uint64
	Term        uint64               // the manager's
	Launcher    scheduler.LauncherID // 0 when refused
	Refused     string               // why it may not join; "" when it may
	Afresh      bool                 // refused: it may as a new incarnation
	Assigned    []Assigned           // live attempts on it according to the core, in order of id
}

// Assigned is a live attempt on a launcher, its job, and the hashes of the blobs it needs.
type Assigned struct {
	Attempt       scheduler.AttemptID
	Job           scheduler.JobID
	Program, Plan string
}

// AskPolicy gives a round to the policy. A PolicyAnswer or PolicyFailed input
// is to follow.
type AskPolicy struct {
	Generation uint64
	Round      *scheduler.Round
}

// StartPolicy starts a generation of the policy, beside the running one if there
// is one. A PolicyStarted or PolicyFailed input is to follow.
type StartPolicy struct {
	Generation    uint64
	Environment   scheduler.Environment
	SnapshotMaker // which makes the snapshot, beside the core
}

// SnapshotMaker holds the parts of a snapshot.
type SnapshotMaker interface {
	// Snapshot makes the snapshot, on any goroutine.
	Snapshot() scheduler.Snapshot
}

// PolicyGone ends a generation: after a cut-over to another (Breach ""), or
// because it broke the contract (Breach says how); then the shell starts anew.
type PolicyGone struct {
	Generation uint64
	Breach     string
	Stalled    bool // the breach is that it started nothing: another start would not help
}

// PolicyStalls says that a generation leaves a job without attempts, although its work is ready and
// fits. The generation goes on, as other work runs. The core says it again each Every while it lasts.
type PolicyStalls struct {
	Generation uint64
	Problem    string // in words, which follow the policy's name
	Every      time.Duration
}

// Reply answers a client's request: prepare, submit, kill, update, drain, or a
// request for a policy's page.
type Reply struct {
	Client  uint64
	Job     scheduler.JobID    // of a prepare or submit
	Failure *wire.Failure      // nil: done
	Answer  *scheduler.Answer  // to a request for a page
	Run     *wire.TakeRunReply // to a runner that asks for a run
	// Before and After are what a change found and left, in words; "" where nothing changed.
	Before, After string
}

// SettingsVerdict is the result for a version of the policy's settings.
type SettingsVerdict struct {
	Generation    uint64 // that accepted it; 0: none
	Version       uint64
	Source        VerdictSource
	Problems      scheduler.Problems // why it was rejected; none if it was accepted
	Abilities     scheduler.Ability  // from now on; 0: as before
	ProgressEvery time.Duration      // of Abilities
}

// VerdictSource is how a verdict was reached.
type VerdictSource uint8

// The sources.
const (
	// VerdictAnswered: the policy accepted the settings or, for Problems, rejected them.
	VerdictAnswered VerdictSource = iota
	// VerdictTimedOut: the policy got the settings, and then failed or did not answer in time.
	// In the second case a verdict may follow.
	VerdictTimedOut
	// VerdictNotAsked: no policy got the settings, or another took over before the answer. There
	// is no verdict yet, and the next policy may be asked.
	VerdictNotAsked
)

// JobsChanged lists the jobs whose status changed. It is the last action of a step with such
// changes. Jobs are distinct, in order of id; Ended are those that are over.
type JobsChanged struct{ Jobs, Ended []scheduler.JobID }

// SchedulesChanged has the schedules that changed in a step, ascending by id, and the ids of those
// that were removed. It comes before replies. The schedules are never changed afterwards.
type SchedulesChanged struct {
	Schedules []*wire.Schedule
	Removed   []uint64
}

// Changes are the rows of all that changed in a step, and what was counted: the first action of
// a step, so that a client that gets its answer finds what was done.
type Changes struct {
	At      scheduler.Time
	Decides uint64 // generation of the policy that decides; 0: none
	Version uint64 // of the configuration in force (Settings.Version)
	Stats   Stats
	// Announced are the smallest and the largest number of the jobs that are announced and not submitted; 0: none is.
	ReservedIDs [2]scheduler.JobID
	changes.ChangeSet
}

// LogLine is a log line for the administrator.
type LogLine struct {
	Level   Level
	Message string
	Attrs   []Attr
	Often   bool // a launcher can cause any number of such lines: count repeated ones
}

// Level is the severity of a log line.
type Level uint8

// The levels.
const (
	Info Level = iota + 1
	Warn
	Error
)

// Attr is a key and a value of a log line.
type Attr struct{ Key, Value string }

func (ToLauncher) isAction()       {}
func (Welcome) isAction()          {}
func (AskPolicy) isAction()        {}
func (StartPolicy) isAction()      {}
func (PolicyGone) isAction()       {}
func (PolicyStalls) isAction()     {}
func (Reply) isAction()            {}
func (SettingsVerdict) isAction()  {}
func (JobsChanged) isAction()      {}
func (Changes) isAction()          {}
func (SchedulesChanged) isAction() {}
func (LogLine) isAction()          {}
