package scheduler

import "time"

// Event is something that happened, with its time. The concrete types of this package are all there
// are. A manager of a later version may have more: the SDK skips those. A value of an enumeration
// of this package that only a later version knows becomes 0, which none of them uses, so a policy must
// be ready for 0. Events of a round are in order. At never decreases within a round, nor from one
// round to the next. The events of a Snapshot keep their original times.
type Event interface {
	// When returns the event's time.
	When() Time
	isEvent()
}

// LauncherJoined: a launcher registered with its slots, memory and place. At this time it holds
// nothing: later events report the attempts that it was found to run.
type LauncherJoined struct {
	At       Time
	Launcher LauncherID
	Name     string
	Host     string // matched against Place.Host
	Rack     string // "" when unknown
	Slots    []SlotCount
	Memory   int64 // bytes
	// Swap is how much memory of suspended attempts fits into the launcher's swap, in bytes. 0:
	// suspended attempts keep their memory. See InSwap.
	Swap int64
	// Resources are what the launcher has of countable resources. SuspensionFrees are the kinds
	// of them that suspension of an attempt frees, in order. See Resources.FreedBySuspension.
	Resources       Resources `json:",omitzero"`
	SuspensionFrees []ResourceKind
	// NoSuspend says that the launcher can't suspend attempts. A preemption that would suspend
	// one there is refused as Unsupported. An earlier manager does not tell it, and a policy
	// learns it from the refusal.
	NoSuspend bool
}

// InSwap returns how much of the memory of a launcher's suspended attempts, held together, is in
// its swap. Swap takes what it can; the rest counts as memory. All in bytes.
//
// So suspending an attempt frees, and resuming one needs, the memory by which held - InSwap
// changes. It depends only on the attempts that are suspended. If nothing else runs and nothing is
// reserved, any suspended attempt has the memory to resume.
func InSwap(held, swap int64) int64 { return min(held, swap) }

// LauncherLost: the launcher is gone, with its attempts and stored outputs. An AttemptEnded event
// with outcome Lost follows for each of its attempts.
type LauncherLost struct {
	At       Time
	Launcher LauncherID
	Reason   string
}

// LauncherDraining: an administrator started (or ended) a drain. A draining launcher offers nothing
// for new work. Its running attempts go on, and its suspended ones can be resumed
// (Offer.ForResume).
type LauncherDraining struct {
	At       Time
	Launcher LauncherID
	Draining bool
}

// LauncherExcluded: the manager excludes a launcher, because attempts of several jobs failed there,
// or readmits it. Like a draining launcher, it offers nothing for new work. A launcher that joins
// is not excluded.
type LauncherExcluded struct {
	At       Time
	Launcher LauncherID
	Excluded bool
}

// LauncherLoad: how busy a launcher's machine is, with all its processes. Several launchers on one
// machine all report the machine's load. Only a policy with AbilityLoad gets it: when a load
// changes as the constants below say, and when it becomes known or unknown. Snapshots do not have
// it: a policy that takes over, or declares the ability later, gets all known loads in its next
// round. Until then a load is unknown. A policy should refuse nothing because a load is unknown.
type LauncherLoad struct {
	At       Time
	Launcher LauncherID
	// CPU is the part of all processors' time that was not idle, 0 to 1, from one heartbeat of the
	// launcher to the next. Waiting for disks counts as idle. It is LoadUnknown in a launcher's
	// first moments, and if its system does not report it.
	CPU float64
	// Memory is the part of the machine's memory that is not available to new work, 0 to 1, at the
	// heartbeat. Caches that can be dropped are available. It is unrelated to the memory in offers.
	// It is LoadUnknown if the system does not report it.
	Memory float64
}

// LoadUnknown stands for an unknown load. It is below every load, so that "over a limit" is false
// for it.
const LoadUnknown = -1

// When a LauncherLoad is sent, from heartbeat to heartbeat. Each may cost the manager an entry in
// its log, and the policy a round.
const (
	LoadEvery = time.Second      // not sooner after the last one
	LoadStep  = 0.05             // when CPU or memory has changed by that much, or more
	LoadSlow  = 10 * time.Second // that long after the last one,
	LoadFine  = 0.01             // when either has changed by that much
)

// Job is a job as a policy receives it at its submission.
type Job struct {
	ID        JobID
	Name      string
	User      string
	Pool      string // as asked for at submission or moved to since; may be ""
	Priority  Priority
	Submitted Time
	// TimeLimit is how long the job may run, from the first launch of one of its groups; 0: no limit.
	// The core ends a job at its limit. It counts the time for which the job's attempts are suspended.
	TimeLimit time.Duration
	// Deadline is when the job should be over; 0: none. Nothing but the policy works towards it.
	Deadline   Time
	Properties []Property // free, in order of name
	Stages     []Stage    // Stages[i].ID == i
}

// Property is one of a job's free properties.
type Property struct{ Name, Value string }

// Stage is one stage of a job as a policy sees it. A group counts for the
// stage of its first node, so the counts of all stages add up to the job's
// number of groups.
type Stage struct {
	ID       StageID
	Name     string
	Groups   int      // how many groups, may be none at first; grows with StageGrown
	Kind     SlotKind // changes with StageGrown
	Slots    int      // slots of Kind that each group takes
	Shuffles bool     // its attempts have a shuffle phase before they execute
	// Expected is how long each of its attempts is expected to run, without suspension, as
	// ExpectedBy says. It may be wrong. 0: unknown. It does not change while the job lives.
	Expected   time.Duration  `json:",omitempty"`
	ExpectedBy EstimateSource `json:",omitempty"`
	// NoSuspend says that a preemption may not suspend its attempts, since they hold external
	// resources. Such a preemption is refused as Unsupported, also for a bundle with such a group.
	NoSuspend bool
	// After lists the stages, ascending, whose stored outputs this stage reads. Its groups may be
	// ready before those have all finished, and then wait for the rest while running. Stages that
	// run together with it are not listed.
	After []StageID
}

// EstimateSource says where an expected duration comes from.
type EstimateSource uint8

// The sources.
const (
	EstimateNone    EstimateSource = iota // nothing is known
	EstimateAuthor                        // the job's author or submitter gave it
	EstimatePastRun                       // the median of the stage in an earlier job of the same program and name
)

// String returns the source's name.
func (s EstimateSource) String() string { return name(s, "none", "author", "past run") }

// JobSubmitted: a job was admitted.
type JobSubmitted struct {
	At  Time
	Job Job
}

// JobUpdated: pool, priority, limits or properties of a job changed. The event has all of them.
type JobUpdated struct {
	At         Time
	Job        JobID
	Pool       string
	Priority   Priority
	TimeLimit  time.Duration // as in Job
	Deadline   Time          // as in Job
	Properties []Property
}

// JobOutcome says how a job ended.
type JobOutcome uint8

// How a job can end.
const (
	JobSucceeded JobOutcome = iota + 1
	JobFailed
	JobKilled
)

// String returns the outcome's name.
func (o JobOutcome) String() string {
	return name(o, "unknown", "succeeded", "failed", "killed")
}

// JobFinished: the job has ended, and none of its work runs or waits.
type JobFinished struct {
	At      Time
	Job     JobID
	Outcome JobOutcome
}

// StageGrown: the stage has more groups than before, or needs slots of another kind. Its kind
// changes only while nothing of it runs. Its ready bundles are withdrawn before, and are ready
// again afterwards, with the new kind.
type StageGrown struct {
	At     Time
	Job    JobID
	Stage  StageID
	Groups int      // the new total
	Kind   SlotKind // from now on; "": unchanged
}

// Place is where part of a group's input lies.
type Place struct {
	Host  string
	Rack  string // "" when unknown
	Bytes int64
}

// PlacesMax is how many places a group lists at most: those with most bytes.
const PlacesMax = 8

// Group is one node group of a bundle.
type Group struct {
	Stage      StageID
	Kind       SlotKind
	Slots      int
	Memory     int64     // bytes
	Resources  Resources `json:",omitzero"` // countable resources beside slots and memory
	InputBytes int64     // all of its input, located or not
	Places     []Place   // at most PlacesMax, most bytes first, then by host
}

// Usage returns what of the group's needs counts for limits of users.
func (g *Group) Usage() Usage {
	return Usage{Slots: g.Slots, Memory: g.Memory, Resources: g.Resources}
}

// BundleReady: the bundle's inputs are complete, and it may be launched. It is sent again if the
// bundle must run once more after a failed attempt.
type BundleReady struct {
	At     Time
	Job    JobID
	Bundle BundleID
	Groups []Group      // not to be changed: bundles that are alike may share the list
	Avoid  []LauncherID // launchers the manager will refuse for it, ascending
}

// BundleWithdrawn: a ready bundle is no longer ready, because an input was lost. BundleReady
// follows when its inputs are complete again.
type BundleWithdrawn struct {
	At     Time
	Job    JobID
	Bundle BundleID
}

// BundleReopened: a finished bundle counts as unfinished again because its
// output was lost while still needed. BundleReady follows when its own inputs
// are complete.
type BundleReopened struct {
	At     Time
	Job    JobID
	Bundle BundleID
}

// BundleGivenUp: a bundle of one group ended without success, and its job goes on: it is an element
// of a job array. It needs nothing more. It counts as finished from then on, although no attempt of
// it finished. None of its attempts is live, and it is not ready. A policy may never have heard of
// it. GivenUp false undoes that: the bundle waits again, and BundleReady follows. A policy that does
// not know this event sees a bundle that waits until its job ends.
type BundleGivenUp struct {
	At      Time
	Job     JobID
	Bundle  BundleID
	Stage   StageID // of its group
	GivenUp bool
}

// SpeculationOffered: a running bundle may be launched a second time, on other launchers. It is a
// straggler, or was suspended for long and the site offers that. The first attempt to commit wins.
// The offer ends with that launch, or with SpeculationWithdrawn.
type SpeculationOffered struct {
	At     Time
	Job    JobID
	Bundle BundleID
	Groups []Group
	Avoid  []LauncherID
}

// BundleProtected: preemptions of the bundle's attempts are refused until a time. It is sent when a
// preemption of them is accepted, at each later launch of the bundle, and when it is resumed. The
// last one counts. A snapshot has it for bundles with live attempts.
type BundleProtected struct {
	At     Time
	Job    JobID
	Bundle BundleID
	Until  Time
}

// BundleReserved: the manager accepted a Reserve for the bundle. A snapshot tells of the reservations
// that the policy made before it was restarted.
type BundleReserved struct {
	At        Time
	Job       JobID
	Bundle    BundleID
	Launchers []LauncherID // one for each group
	Until     Time
}

// ReservationEnd is why a reservation by Reserve ended.
type ReservationEnd uint8

// Why a reservation by Reserve can end.
const (
	ReservationUsed          ReservationEnd = iota + 1 // its bundle was launched, there or elsewhere
	ReservationExpired                                 // Reserve.Until has come
	ReservationWithdrawn                               // the policy withdrew it
	ReservationNotReady                                // its bundle is not ready any more, or its job ended
	ReservationLauncherLost                            // one of its launchers was lost, drains or is excluded
	ReservationPolicyChanged                           // another policy took over
)

// String returns the reason's name.
func (e ReservationEnd) String() string {
	return name(e, "unknown", "used", "expired", "withdrawn", "not ready", "launcher lost", "policy changed")
}

// ReservationEnded: a reservation by Reserve ended, and what was left of it is free for all. It is
// not sent when the bundle's job has ended.
type ReservationEnded struct {
	At     Time
	Job    JobID
	Bundle BundleID
	End    ReservationEnd
}

// AttemptStarted: the attempt's worker runs it.
type AttemptStarted struct {
	At          Time
	Attempt     AttemptID
	Job         JobID
	Bundle      BundleID
	Group       int // index in the bundle's groups
	Stage       StageID
	Launcher    LauncherID
	Speculative bool
}

// AttemptTookSlots: an attempt that was launched ahead (Launch.Ahead) holds slots and memory from
// now on: those of an attempt of its stage that ended there, or ones that were free at its launch.
// Only a policy with AbilityAhead gets it, for its own launches.
type AttemptTookSlots struct {
	At      Time
	Attempt AttemptID
}

// Phase is what an attempt is doing.
type Phase uint8

// The phases, in order. An attempt of a stage that does not shuffle starts in
// PhaseExecute.
const (
	PhaseShuffle Phase = iota + 1
	PhaseExecute
)

// String returns the phase's name.
func (p Phase) String() string { return name(p, "unknown", "shuffle", "execute") }

// AttemptPhase: the attempt entered a phase.
type AttemptPhase struct {
	At      Time
	Attempt AttemptID
	Phase   Phase
}

// Work is how much an attempt has done.
type Work struct {
	Running time.Duration         // net of suspension
	Read    [LocalityLevels]int64 // bytes read, by locality
	ToRead  int64                 // bytes to read in all
	Written int64                 // bytes
}

// AttemptProgress: sent only to a policy with AbilityProgress, at the interval it asked for. A
// snapshot has the last known progress of live attempts if an earlier policy asked for it.
type AttemptProgress struct {
	At       Time
	Attempt  AttemptID
	Progress float64 // 0 to 1
	Work     Work
}

// AttemptOutcome says how an attempt ended. Of Lost and Failed, the first is to be retried, the
// second also reported to a person.
type AttemptOutcome uint8

// How an attempt can end.
const (
	Finished  AttemptOutcome = iota + 1 // it committed
	Lost                                // its launcher, worker or a peer went away
	Failed                              // the program returned an error, or crashed
	Preempted                           // taken back for another job; no failure
	Killed                              // not needed any more (job killed, or another attempt of its bundle committed); no failure
)

// String returns the outcome's name.
func (o AttemptOutcome) String() string {
	return name(o, "unknown", "finished", "lost", "failed", "preempted", "killed")
}

// AttemptStopping: the manager stops the attempt for a reason of its own. Its job was killed or failed,
// another group of its bundle failed, or another attempt of the bundle commits, for example. The
// attempt can't be preempted or resumed any more. It holds what it holds until AttemptEnded. It is sent
// once, and not for an attempt that the policy's preemption stops already. An attempt may end without
// it. An earlier manager does not send it, and refuses decisions on such attempts all the same.
type AttemptStopping struct {
	At      Time
	Attempt AttemptID
	For     JobID // the job whose work gets what the attempt frees; 0: none
}

// AttemptEnded: the attempt ended and holds no slots or memory.
type AttemptEnded struct {
	At      Time
	Attempt AttemptID
	Outcome AttemptOutcome
	Work    Work
	For     JobID  // the beneficiary, when Preempted
	Reason  string // for people
}

// AttemptSuspended: the attempt is stopped. Its slots are free, and the part of its memory that
// moved to the launcher's swap (InSwap).
type AttemptSuspended struct {
	At      Time
	Attempt AttemptID
}

// SuspensionFailed: a preemption was to suspend the attempt, and its launcher could not. The attempt
// runs on with all that it holds, and frees nothing for the beneficiary. An earlier manager does not
// send it: there the attempt seems to be about to be suspended until it ends.
type SuspensionFailed struct {
	At      Time
	Attempt AttemptID
}

// AttemptResumed: the attempt runs again and holds its slots and memory again.
type AttemptResumed struct {
	At      Time
	Attempt AttemptID
}

// DecisionKind says in which list of Decisions a decision was.
type DecisionKind uint8

// The kinds of decision that have an outcome, in the order they are applied.
const (
	DecisionRefuse DecisionKind = iota + 1
	DecisionAdmit
	DecisionPreempt
	DecisionResume
	DecisionLaunch
	DecisionReserve
	DecisionSpeculate
)

// String returns the kind's name.
func (k DecisionKind) String() string {
	return name(k, "unknown", "refuse", "admit", "preempt", "resume", "launch", "reserve", "speculate")
}

// Outcome: the result of one decision of an earlier round. Every decision has exactly one, in the
// next round. It is in the order of events at the point where the decision was applied: events that
// happened while the policy was thinking come before it.
//
// An accepted resumption of Round 0 is the manager's own, for a policy without AbilityResume.
type Outcome struct {
	At       Time
	Round    uint64
	Kind     DecisionKind
	Index    int // in the list of its kind
	Accepted bool
	Attempts []AttemptID // of an accepted launch, one for each group in order; of an accepted resumption, those to be resumed
	Reason   RefusalReason
	Detail   string // for people, when refused

	// The decision itself, in the field of its Kind; the others are zero. An earlier manager sends
	// Launch and Preempt only.
	Refuse  Refuse
	Admit   Admit
	Preempt Preempt
	Resume  Resume
	Launch  Launch
	Reserve Reserve

	Speculate Speculate
}

// RefusalReason is why the manager refused a decision.
type RefusalReason uint8

// Why a decision can be refused. If Accepted is false, NotRefused stands for a reason that only a
// later version knows. Shadowed says nothing of the decision, so a policy need not wait before it
// decides the same again.
const (
	NotRefused          RefusalReason = iota
	UnknownID                         // job, bundle, attempt or launcher does not exist
	NotReady                          // the bundle is not ready (any more)
	NoCapacity                        // not that many free slots or that much memory
	WrongShape                        // not one launcher for each group
	LauncherUnavailable               // lost, draining or excluded for this bundle
	NotRunning                        // the victim is not running
	Protected                         // the victim was preempted a short while ago
	NothingGained                     // what would be freed does not fit the beneficiary
	NotSuspended                      // the freed slots and memory do not fit the beneficiary
	NotAsked                          // resume of an attempt that is not suspended
	LimitReached                      // a bound of the manager's was reached
	Unsupported                       // the mode is not possible there, or not allowed by the site
	Shadowed                          // the policy is a shadow: nothing of its decisions has effect
	UserAtLimit                       // the job's user would hold more than the site allows (UserLimitSet)
)

// String returns the reason's name.
func (r RefusalReason) String() string {
	return name(r, "accepted", "unknown id", "not ready", "no capacity", "wrong shape",
		"launcher unavailable", "not running", "protected", "nothing gained",
		"not suspended", "not asked", "limit reached", "unsupported", "shadowed", "user at limit")
}

// SettingChanged: a new version of the settings. The answer accepts or rejects it
// (Decisions.Settings); until then the old version is in force.
type SettingChanged struct {
	At      Time
	Version uint64
	Config  Config
}

// AdmissionAsked: sent only to a policy with AbilityAdmission: may this job be admitted? Answer
// with Decisions.Admit or Decisions.Refuse, within the time the site allows. JobSubmitted follows
// an admission. It also comes without one while a policy with AbilityAdvisoryAdmission is down or
// slow.
type AdmissionAsked struct {
	At  Time
	Job Job
}

// Requested: a caller requested something of the policy's own: a change or, if the policy is no
// PageHandler, a page. It is sent only to a policy with AbilityLoggedRequests. GET and HEAD
// requests change nothing, unless the policy's authenticator says so: a page of another site can
// make a browser send them.
type Requested struct {
	At        Time
	Request   uint64
	Principal Principal
	Method    string // GET, HEAD or POST
	Path      string // below the policy's own root, starting with /
	Query     string // after the question mark, without the request's proof
	Accept    string // the header of that name
	Body      []byte
}

// Noted: a note that the plug-in's shell or the policy itself posted.
type Noted struct {
	At   Time
	Note Note
}

// TimePassed: only time passed; sent at a wake-up that the policy requested.
type TimePassed struct{ At Time }

// When returns the event's time.
func (e LauncherJoined) When() Time     { return e.At }
func (e LauncherLost) When() Time       { return e.At } // When returns the event's time.
func (e LauncherDraining) When() Time   { return e.At } // When returns the event's time.
func (e LauncherExcluded) When() Time   { return e.At } // When returns the event's time.
func (e LauncherLoad) When() Time       { return e.At } // When returns the event's time.
func (e JobSubmitted) When() Time       { return e.At } // When returns the event's time.
func (e JobUpdated) When() Time         { return e.At } // When returns the event's time.
func (e JobFinished) When() Time        { return e.At } // When returns the event's time.
func (e StageGrown) When() Time         { return e.At } // When returns the event's time.
func (e BundleReady) When() Time        { return e.At } // When returns the event's time.
func (e BundleWithdrawn) When() Time    { return e.At } // When returns the event's time.
func (e BundleReopened) When() Time     { return e.At } // When returns the event's time.
func (e BundleGivenUp) When() Time      { return e.At } // When returns the event's time.
func (e SpeculationOffered) When() Time { return e.At } // When returns the event's time.
func (e BundleProtected) When() Time    { return e.At } // When returns the event's time.
func (e BundleReserved) When() Time     { return e.At } // When returns the event's time.
func (e ReservationEnded) When() Time   { return e.At } // When returns the event's time.
func (e UserLimitSet) When() Time       { return e.At } // When returns the event's time.
func (e AttemptStarted) When() Time     { return e.At } // When returns the event's time.
func (e AttemptTookSlots) When() Time   { return e.At } // When returns the event's time.
func (e AttemptPhase) When() Time       { return e.At } // When returns the event's time.
func (e AttemptProgress) When() Time    { return e.At } // When returns the event's time.
func (e AttemptStopping) When() Time    { return e.At } // When returns the event's time.
func (e AttemptEnded) When() Time       { return e.At } // When returns the event's time.
func (e AttemptSuspended) When() Time   { return e.At } // When returns the event's time.
func (e SuspensionFailed) When() Time   { return e.At } // When returns the event's time.
func (e AttemptResumed) When() Time     { return e.At } // When returns the event's time.
func (e Outcome) When() Time            { return e.At } // When returns the event's time.
func (e SettingChanged) When() Time     { return e.At } // When returns the event's time.
func (e AdmissionAsked) When() Time     { return e.At } // When returns the event's time.
func (e Requested) When() Time          { return e.At } // When returns the event's time.
func (e Noted) When() Time              { return e.At } // When returns the event's time.
func (e TimePassed) When() Time         { return e.At } // When returns the event's time.

func (LauncherJoined) isEvent()     {}
func (LauncherLost) isEvent()       {}
func (LauncherDraining) isEvent()   {}
func (LauncherExcluded) isEvent()   {}
func (LauncherLoad) isEvent()       {}
func (JobSubmitted) isEvent()       {}
func (JobUpdated) isEvent()         {}
func (JobFinished) isEvent()        {}
func (StageGrown) isEvent()         {}
func (BundleReady) isEvent()        {}
func (BundleWithdrawn) isEvent()    {}
func (BundleReopened) isEvent()     {}
func (BundleGivenUp) isEvent()      {}
func (SpeculationOffered) isEvent() {}
func (BundleProtected) isEvent()    {}
func (BundleReserved) isEvent()     {}
func (ReservationEnded) isEvent()   {}
func (UserLimitSet) isEvent()       {}
func (AttemptStarted) isEvent()     {}
func (AttemptTookSlots) isEvent()   {}
func (AttemptPhase) isEvent()       {}
func (AttemptProgress) isEvent()    {}
func (AttemptStopping) isEvent()    {}
func (AttemptEnded) isEvent()       {}
func (AttemptSuspended) isEvent()   {}
func (SuspensionFailed) isEvent()   {}
func (AttemptResumed) isEvent()     {}
func (Outcome) isEvent()            {}
func (SettingChanged) isEvent()     {}
func (AdmissionAsked) isEvent()     {}
func (Requested) isEvent()          {}
func (Noted) isEvent()              {}
func (TimePassed) isEvent()         {}

// name returns the name of an enumeration's value; the first name stands for any unnamed value.
func name[T ~uint8](v T, names ...string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return names[0]
}
