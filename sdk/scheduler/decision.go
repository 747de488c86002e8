package scheduler

import (
	"fmt"
	"time"
)

// Decisions is a policy's answer to a round. The manager applies the lists in
// the order of the fields, each list as listed.
type Decisions struct {
	Refuse  []Refuse
	Admit   []Admit
	Preempt []Preempt
	Resume  []Resume
	Launch  []Launch
	Reserve []Reserve

	Speculate []Speculate

	// Answers to Requested events.
	Answers []Answer
	// Settings accepts or rejects a SettingChanged event.
	Settings []SettingsVerdict
	// Waiting says why jobs wait; sent when a job's reason changes. The manager forgets all reasons
	// when a policy starts.
	Waiting []Waiting
	// Notes the policy wants logged and delivered to it again on replay.
	Notes []Note
	// WakeAt requests a round with TimePassed at that time even if nothing happens. Zero requests
	// none and cancels an earlier request. Wake-ups are at least Environment.WakeMin apart: a sooner
	// one comes that much later. Rounds for other reasons are not held up.
	WakeAt Time
	// Checkpoint, when not nil, replaces the policy's checkpoint, or is appended to it.
	// Only from a policy with AbilityCheckpoint.
	Checkpoint *Checkpoint
}

// Refuse refuses a submission before the job exists.
type Refuse struct {
	Job    JobID
	Reason string // for the person who submitted the job
}

// Admit admits a submission.
type Admit struct {
	Job JobID
	// Pool is where the policy puts the job, which may differ from the pool that it names
	// (Job.Pool); "" keeps that. The manager also checks that the user may submit there, and
	// otherwise refuses the job.
	Pool string
}

// PreemptMode is how victims are preempted.
type PreemptMode uint8

// The modes.
const (
	PreemptKill    PreemptMode = iota + 1 // at once
	PreemptSoft                           // asked to stop first; killed after Grace
	PreemptSuspend                        // stopped, to be resumed; frees slots, memory as far as the launcher has swap for it, and resources of LauncherJoined.SuspensionFrees
)

// String returns the mode's name.
func (m PreemptMode) String() string {
	return name(m, "unknown", "kill", "soft kill", "suspend")
}

// Preempt preempts one set of victims for a named beneficiary. With Bundle set, that is one bundle,
// ready or suspended; otherwise it is any of the job's ready bundles. The manager accepts the set
// whole or refuses it: free, reserved and freed capacity must fit the beneficiary. A victim in a
// bundle joined by tcp channels means the whole bundle. A suspended attempt can also be killed as a
// victim, which frees its memory. An offer to launch a victim's bundle a second time ends.
//
// What the victims free, sooner if they end by themselves, becomes a Reservation for the
// beneficiary. Name the bundle if it must be that one, such as a gang, whose slots no other bundle
// of its job may take one by one. Otherwise name none: then no slot waits for one bundle while
// another could use it.
//
// A bundle is suspended when all live attempts of a bundle attempt are, and none is being stopped
// or resumed. It resumes on its own launchers, so the victims must be there, and Placement is nil.
// Resume it when they have ended.
//
// A victim is protected from the acceptance on: for Environment.ProtectFor no preemption of it is
// accepted. Its bundle is protected for as long again from each later launch, and from its
// resumption. A BundleProtected event says each time until when; a view keeps it
// (view.Attempt.ProtectedUntil). A committing attempt is always protected, and a stopping one can't
// be a victim again. A commit shows only in the later AttemptEnded.
type Preempt struct {
	Victims   []AttemptID
	Mode      PreemptMode
	Grace     time.Duration // for PreemptSoft; bounded by the site
	For       JobID
	Bundle    BundleID     // the beneficiary; 0: any of the job's ready bundles
	Placement []LauncherID // where that bundle, if ready, is to run, one launcher for each group, or nil
}

// Resume resumes a suspended attempt on its launcher, with the rest of its bundle. It takes their
// slots, and their memory in swap, first from what is reserved for their bundle alone, then from
// what is free (view.Capacity.TakeForResume says whether there is enough). Otherwise it is refused as
// NoCapacity, and nothing changes, or as UserAtLimit. The launcher may be draining or excluded: then Offer.ForResume
// is what is free there. The outcome lists the attempts to be resumed, and AttemptResumed follows
// for each. If a launcher fails to resume one, all end as lost, and their bundle is ready again.
type Resume struct{ Attempt AttemptID }

// Reserve reserves room for a ready bundle without preempting anything. Launchers[i] is for its i-th
// group. On each launcher it takes what is free, and what becomes free, until it has what the
// groups need there, after the launches of the same answer. Offer.Reserved tells how much it has.
// Of two on a launcher the earlier one is filled first. When all of it is there, launch the bundle
// as any other.
//
// The reservation ends at Until, and for the reasons of ReservationEnd. It also ends when another
// policy takes over; a restart of the manager or of the same policy does not end it. Another
// Reserve of the bundle replaces it, and keeps its place among others. One without launchers
// withdraws it.
//
// It is refused as NotReady unless the bundle is ready, as NoCapacity where the launchers could not
// hold the bundle even when empty, as LauncherUnavailable, as UserAtLimit where the bundle's user could
// not launch it after the launches of the same answer, as NothingGained where Until has passed
// or there is nothing to withdraw, and as LimitReached beyond Limits.ReservationsMax. A manager
// whose Limits.ReservationsMax is 0 does not know this decision: do not send it.
type Reserve struct {
	Bundle    BundleID
	Launchers []LauncherID // nil: withdraw the reservation
	Until     Time
}

// Launch starts a whole bundle: Launchers[i] runs its i-th group.
//
// A launch ahead (Ahead) gives a launcher a bundle of one group before a slot is free there. The
// launcher holds the attempt, and starts it in the process of an attempt of the same stage, as soon
// as that ends by itself. So the slot is not idle until the policy has decided again. Until then
// the attempt holds nothing. AttemptTookSlots says when it takes the slots and memory of the
// attempt that ended, so what its job and its user hold does not change.
//
// It needs AbilityAhead and draws on Offer.Ahead. Where the last attempt of the stage has ended
// meanwhile, and its slots are free, the launch takes these at once: AttemptTookSlots follows its
// outcome. Without room ahead and free slots it is refused as NoCapacity.
//
// Attempts held ahead are withdrawn, and their bundles are ready again, when an attempt there is
// preempted or suspended, when something there is reserved, when the launcher drains or is
// excluded, when another policy takes over, and when they were held for long. AttemptStopping tells
// of it. A withdrawal may come too late: then the attempt took slots before, and is stopped.
type Launch struct {
	Bundle    BundleID
	Launchers []LauncherID
	Ahead     bool `json:",omitempty"`
}

// Answer is the reply to a Requested event.
type Answer struct {
	Request     uint64
	Status      int // an HTTP status
	ContentType string
	Body        []byte
	// Later, if not nil, makes the answer. Only a PageHandler's Page may set it. It is called once,
	// concurrently with the policy's rounds, and must not use anything that the policy changes. So
	// a page that takes long to write delays no round. The other fields are ignored then.
	Later func() Answer `json:"-"`
}

// SettingsVerdict accepts a settings version, or rejects it with problems. A rejected version
// changes nothing. With an accepted one a policy may declare new abilities, as in Description; it
// must still answer earlier requests.
type SettingsVerdict struct {
	Version       uint64
	Problems      []Problem     // empty: accepted
	Abilities     Ability       // from now on; 0: unchanged
	ProgressEvery time.Duration // of Abilities, with AbilityProgress; at least 100 ms
}

// WaitReason is why a job, or one of its bundles, waits.
type WaitReason uint8

// Reasons a policy can give.
const (
	WaitNone       WaitReason = iota // it does not wait (any more)
	WaitTurn                         // other jobs come first
	WaitBelowShare                   // below its share, until slots free
	WaitAtLimit                      // at a limit of its pool or user
	WaitLocality                     // for a launcher near its input
	WaitGang                         // its bundle does not fit as a whole
	WaitExcluded                     // the launchers with room are excluded for it
	WaitBudget                       // its budget is spent
	WaitPreempting                   // slots are being preempted for it
	WaitNoCapacity                   // no launcher has such slots or memory free, or the launchers that have are too busy
	WaitAdmission                    // it has not been admitted yet
	WaitHeld                         // the policy keeps free slots from it on purpose; the detail says why
)

// String returns the reason in words.
func (r WaitReason) String() string {
	return name(r, "does not wait", "waits its turn", "below its share", "at its limit",
		"waiting for locality", "gang does not fit", "launchers excluded", "budget spent",
		"preempting for it", "no free capacity", "waiting for admission", "slots are held back")
}

// Waiting says why a job waits. A policy that starts nothing of a job although ready work of it fits
// must give a reason here. Without one it is named as a problem after a time that the site sets
// (core.policyStallAfter, 1 minute by default). If nothing else runs either, it counts as broken and
// is replaced. WaitBudget, WaitAtLimit, WaitHeld, WaitNoCapacity, WaitExcluded and WaitAdmission may
// last; with another reason it has ten times as long.
type Waiting struct {
	Job    JobID
	Reason WaitReason
	Detail string // numbers and names, for people
}

// Note is data to be logged, delivered in a round, and delivered again on replay.
type Note struct {
	Name string
	Body []byte
}

// Checkpoint is a policy's saved state in its own format, opaque to the manager.
type Checkpoint struct {
	Version uint32 // of the format; a policy that does not know it starts without the checkpoint
	Data    []byte // bounded by Limits.CheckpointBytes, with all that it is appended to
	// Append appends Data to the policy's checkpoint, which must be of the same version; without
	// one, Data is the first part. So incremental state costs only its increments. Write the whole
	// again, without Append, before the sum reaches its bound. A Snapshot has the sum, and Append
	// false.
	Append bool
}

// Check returns why a checkpoint may not follow before, nil for none.
func (c Checkpoint) Check(before *Checkpoint, most int) error {
	n := len(c.Data)
	if c.Append && before != nil {
		if before.Version != c.Version {
			return fmt.Errorf("its checkpoint is of version %d, and what it appends of version %d: write the whole anew", before.Version, c.Version)
		}
		n += len(before.Data)
	}
	if n > most {
		return fmt.Errorf("its checkpoint has %d bytes, at most %d are allowed: write less, and the whole anew where it is appended to", n, most)
	}
	return nil
}

// After returns the checkpoint that results when c follows before, nil for none. Before does not
// change. Its data is not copied each time, so only one checkpoint may follow it.
func (c Checkpoint) After(before *Checkpoint) Checkpoint {
	var data []byte
	if c.Append && before != nil {
		data = before.Data
	}
	return Checkpoint{Version: c.Version, Data: append(data, c.Data...)}
}
