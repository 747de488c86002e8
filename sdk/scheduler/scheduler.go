package scheduler

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// TaskScheduler is a policy. The SDK calls it from one goroutine, Start before
// AssignTasks, nothing after Terminate. Check may be called on a value that was
// never started. No method may block on anything outside the process.
type TaskScheduler interface {
	// Check validates a configuration without starting. The error is a Problems
	// when places in the configuration can be named.
	Check(Config) error
	// Start begins with a configuration, a snapshot of the cluster, and the environment. An error
	// means that the policy does not start; a Problems names places.
	Start(Config, Snapshot, Environment) (Description, error)
	// AssignTasks takes one round and answers with decisions. An error is a fault
	// of the policy: the manager restarts it from a new snapshot.
	AssignTasks(Round) (Decisions, error)
	// Explain says why a job waits. It returns ErrUnknownJob for an unknown job. It changes
	// nothing. It is called about once a second for each watch of a job, and rounds wait for it. So
	// it must not walk a job's bundles, of which there may be a million.
	Explain(JobID) (Explanation, error)
	// Status shows pools, shares and queues. It changes nothing.
	Status() (Status, error)
	// Terminate ends the policy. The process exits after it.
	Terminate()
}

// ErrUnknownJob is returned by Explain for a job the policy does not know.
var ErrUnknownJob = errors.New("the policy does not know this job")

// Config is a policy's settings: the part of the site's configuration below
// policy.settings, as YAML text, and the files its settings name.
type Config struct {
	File string // name of the file the text came from, for messages
	Line int    // line of File on which Text starts, 1 or more; 0 when unknown
	Text []byte // YAML; empty means all defaults
	// Files are the contents of files that the settings name. The manager reads
	// and watches them; a policy never opens them itself.
	Files []ConfigFile
}

// ConfigFile is a file named by the settings.
type ConfigFile struct {
	Name string
	Data []byte
}

// Problem is one thing wrong with a configuration.
type Problem struct {
	File    string
	Line    int // 0 when unknown
	Message string
}

// Problems is an error that lists all that is wrong with a configuration.
type Problems []Problem

// Error lists the problems, one a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, q := range p {
		switch {
		case q.File != "" && q.Line > 0:
			lines[i] = fmt.Sprintf("%s:%d: %s", q.File, q.Line, q.Message)
		case q.File != "":
			lines[i] = q.File + ": " + q.Message
		default:
			lines[i] = q.Message
		}
	}
	return strings.Join(lines, "\n")
}

// Snapshot is the state of the cluster at the start, as the events that lead to it, with their
// original times. It has all live launchers and jobs, and the finished attempts of live jobs with
// their durations. The first round lists all offers.
type Snapshot struct {
	Now    Time
	Events []Event
	// Checkpoint is the last one that this policy returned, with all that it was appended to, or
	// nil. If the policy knows its version, Since says which Events came after it.
	Checkpoint *Checkpoint
	Since      int // index into Events; len(Events) if none came after
}

// Environment is what a policy needs to know of its site.
type Environment struct {
	Heartbeat time.Duration // period of launchers' heartbeats
	Seed      uint64        // for a policy that uses random numbers
	Kinds     []SlotKind    // slot kinds the site declares, in order
	Limits    Limits
	// ReserveMax is how long a Reservation lasts at most, after the grace of a soft kill;
	// the site's reserveMax, default 1 minute.
	ReserveMax time.Duration
	// ProtectFor is how long a victim is protected from a further preemption, as Preempt
	// says; the site's protectFor, default 30 s.
	ProtectFor time.Duration
	// SuspendMax is how long a suspended attempt is kept under a policy without AbilityResume. The
	// manager resumes it when its slots are free. After SuspendMax it is preempted, and its bundle
	// ready again; the site's suspendMax, default 10 minutes.
	SuspendMax time.Duration
	// WakeMin is the least time between two wake-ups that Decisions.WakeAt asks for; the site's
	// wakeMin, default 10 ms. 0: an earlier manager, which has no such bound.
	WakeMin   time.Duration
	Simulated bool // memory-only stores; nothing real may be charged
	// Replayed says that the events come from a log, to see what the policy decides. It decides as
	// it would otherwise, without effects outside: its shell does not run, and it writes nothing
	// besides its decisions.
	Replayed bool
	// Store is the folder of the store the site granted, "" when none. Only the
	// plug-in's shell may use it.
	Store string
	// Trace is the file the site granted for a trace, "" when none.
	Trace string
}

// Limits are the manager's bounds on a policy's answers and actions.
type Limits struct {
	AnswerBytes     int           // of one encoded answer; default 4 MiB
	CheckpointBytes int           // of a checkpoint, with all that was appended to it; default 1 MiB
	Decisions       int           // in one answer; default 1,000,000
	GraceMax        time.Duration // of a soft kill; default 1 minute
	RoundDeadline   time.Duration // for one answer; default 10 s
	// SuspendedMax bounds the attempts that are suspended on one launcher, the site's suspendedMax,
	// default 8. SuspendedPercent bounds their total memory, as a part of the launcher's memory and
	// swap, the site's suspendedPercent, default 50. Both 0: an earlier manager, which has no such
	// bounds. See MaySuspend.
	SuspendedMax     int
	SuspendedPercent int
	// ReservationsMax bounds the reservations by Reserve that a policy has at one time, the site's
	// reservationsMax, default 64. 0: an earlier manager, which has no Reserve.
	ReservationsMax int
	// SpeculationPercent bounds a job's second attempts, offered and running, as a part of its live attempts, but
	// at least one: the site's speculationSharePercent, default 10. 0: the site allows no Speculate, or an earlier
	// manager has none.
	SpeculationPercent int
}

// SecondsMax returns how many second attempts, offered and running, a job with so many live attempts may have.
func (l Limits) SecondsMax(live int) int { return max(live*l.SpeculationPercent/100, 1) }

// MaySuspend says whether one launcher may have so many suspended attempts at once, with so much
// memory together. Count those that are suspended, are being suspended, and would be. A preemption
// beyond the bounds is refused as LimitReached. Memory and swap are the launcher's, all in bytes.
func (l Limits) MaySuspend(attempts int, held, memory, swap int64) bool {
	if l.SuspendedMax == 0 && l.SuspendedPercent == 0 {
		return true
	}
	percent := int64(l.SuspendedPercent)
	part := func(n int64) int64 { return n/100*percent + n%100*percent/100 }
	return attempts <= l.SuspendedMax && held-part(memory) <= part(swap)
}

// Ability is an optional part of the contract that a policy declares.
type Ability uint32

// The abilities.
const (
	AbilityProgress       Ability = 1 << iota // wants AttemptProgress events
	AbilityResume                             // resumes the attempts it suspends; otherwise the manager does
	AbilityAdmission                          // admits and refuses submissions
	AbilityLoggedRequests                     // answers Requested events
	AbilityCheckpoint                         // returns checkpoints
	AbilityLoad                               // wants LauncherLoad events
	AbilityPageHandler                        // answers pages without the log; the SDK declares it for a PageHandler
	AbilityAuthenticator                      // its plug-in's shell authenticates callers and submitters; the SDK declares it
	// AbilityAdvisoryAdmission comes with AbilityAdmission. It says that the policy refuses jobs
	// only to help their users, as when a name is misspelt. While the policy is down, or slower to
	// answer than the site's admissionMax, jobs are admitted without its verdict, and it must place
	// them. Without this bit they are refused then, unless the site has admitWithoutPolicy.
	AbilityAdvisoryAdmission
	AbilityAhead // launches ahead: wants Offer.Ahead and AttemptTookSlots events
)

// Has reports whether all of b is declared.
func (a Ability) Has(b Ability) bool { return a&b == b }

// Description is a policy's description of itself at its start.
type Description struct {
	Name          string // of the program, for its author; people see the site's name for it
	Version       string
	Abilities     Ability       // until a SettingsVerdict declares others
	ProgressEvery time.Duration // with AbilityProgress; at least 100 ms
}

// Explanation is why a job waits, within the bounds of Check.
type Explanation struct {
	Reason WaitReason
	Detail string     // one sentence with the numbers
	Place  int        // place in the queue, 1 is next; 0 when there is no queue
	Facts  []Property // further numbers, in the order to show them
}

// Status is what the command line, web pages and metrics show of a policy, within
// the bounds of Check.
type Status struct {
	Pools []PoolStatus // parents before children
	Facts []Property
	// AllPools says that Pools has every pool, under the name that jobs give it
	// (JobSubmitted.Pool). Access lists are compared with it, so that a misspelt pool is found.
	AllPools bool
	// Queue lists the jobs that wait, the next first, where the policy has one order of them all:
	// at most QueueMax, without the others behind. Nil: it has none, or does not tell it. It
	// promises nothing; people see by it how many jobs are before theirs. Package
	// algorithms/queueorder makes one of orders by kind of slots.
	Queue []Queued
}

// Queued is a job that waits.
type Queued struct {
	Job JobID
	// Why explains the job's place, with the numbers that the policy compares, such as "pool
	// research holds 6 of its share of 4.0 map slots"; "" without an explanation. At most
	// WhyBytesMax.
	Why string
}

// PoolStatus is one share-holder of a policy. All of its numbers are finite and 0 or more,
// and no two pools of a status have name and kind in common.
type PoolStatus struct {
	Name      string
	Parent    string // "", or the name of a pool that is listed before it
	Kind      SlotKind
	Weight    float64
	MinShare  int
	MaxShare  int // 0: none
	FairShare float64
	Demand    int
	Running   int
	Jobs      int
}
