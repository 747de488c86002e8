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

	// Answers to Requested events.
	Answers []Answer
	// Settings accepts or rejects a SettingChanged event.
	Settings []SettingsVerdict
	// Waiting says why jobs wait; sent when a job's reason changes. The manager
	// forgets all of it when a policy starts.
	Waiting []Waiting
	// Notes the policy wants logged and delivered to it again on replay.
	Notes []Note
	// WakeAt asks for a round with TimePassed at that time even if nothing
	// happens; zero asks for none and takes an earlier wish back.
	WakeAt Time
	// Checkpoint, when not nil, replaces the policy's checkpoint, or is appended to it.
	// Only from a policy with AbilityCheckpoint.
	Checkpoint *Checkpoint
}

// Refuse turns a submission away before anything of it exists.
type Refuse struct {
	Job    JobID
	Reason string // for the person who submitted the job
}

// Admit lets a submission in.
type Admit struct {
	Job JobID
	// Pool is where the policy puts the job, which may be another pool than the one that it
	// names (Job.Pool); "" says nothing. The manager judges whether its user may submit there,
	// too, and turns it away where he may not.
	Pool string
}

// PreemptMode is how victims are taken off their slots.
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

// Preempt takes one set of victims for a named beneficiary. That is one bundle of a job where
// Bundle is set, which is ready or suspended, else any of the job's ready bundles. The manager
// accepts the set whole or refuses it: what is free, reserved for the beneficiary and freed must
// fit it. A victim in a bundle joined by tcp channels means the whole bundle. A suspended attempt
// can be a victim too, of a kill: what it frees is memory. The offer to launch a victim a second
// time ends.
//
// What the victims free, sooner if they end by themselves, becomes a Reservation for the
// beneficiary. Name the bundle when it has to be that one, such as a gang, whose slots no
// other bundle of its job may take one by one. Name none when any will do: then none of
// the slots wait for the one while another could use them.
//
// A bundle is suspended when all of a bundle attempt that still lives is, and nothing stops
// or resumes it. It goes on where it is, so what the victims free has to be there, and
// Placement is nil. Resume it when they have left.
//
// A victim is protected from the acceptance on: for Environment.ProtectFor no preemption
// of it is accepted. So is its bundle, for as long again, from each later launch of it,
// and from its resumption. A BundleProtected event says each time until when; a view
// keeps it (view.Attempt.ProtectedUntil). What commits is protected always, and what is
// leaving is no victim again: a commit is not told before AttemptEnded tells of it.
type Preempt struct {
	Victims   []AttemptID
	Mode      PreemptMode
	Grace     time.Duration // for PreemptSoft; bounded by the site
	For       JobID
	Bundle    BundleID     // the one bundle it is for; 0: any of the job's that are ready
	Placement []LauncherID // where that bundle, being ready, is to go, one for each group, or nil
}

// Resume lets a suspended attempt run again, where it is, with the rest of its bundle. It
// takes their slots, and what memory they have in swap, first from what is reserved for
// their bundle alone, then from what is free (view.TakeForResume says whether there is enough).
// Without it is refused as NoCapacity, and nothing changes. It may be draining or excluded:
// then Offer.ForResume is what is free there. The outcome lists the attempts that
// are to go on, and AttemptResumed follows for each. A launcher may fail to let one go on:
// then they end as lost, and their bundle is ready again.
type Resume struct{ Attempt AttemptID }

// Launch starts a whole bundle: Launchers[i] runs its i-th group.
type Launch struct {
	Bundle    BundleID
	Launchers []LauncherID
}

// Answer is the reply to a Requested event.
type Answer struct {
	Request     uint64
	Status      int // an HTTP status
	ContentType string
	Body        []byte
	// Later, when not nil, makes the answer, of a PageHandler's Page alone: it is called once, beside
	// the policy's rounds, and may use nothing that the policy changes. So a page that
	// takes long to write holds up no round. The other fields are not looked at then.
	Later func() Answer `json:"-"`
}

// SettingsVerdict accepts a settings version, or rejects it with problems. A
// rejected version changes nothing. With an accepted one a policy may say anew what
// it can do, as in Description; what it was asked before it still has to answer.
type SettingsVerdict struct {
	Version       uint64
	Problems      []Problem     // empty: accepted
	Abilities     Ability       // from now on; 0: as before
	ProgressEvery time.Duration // of Abilities, with AbilityProgress; at least 100 ms
}

// WaitReason is why a job, or one of its bundles, waits.
type WaitReason uint8

// Reasons a policy can give.
const (
	WaitNone       WaitReason = iota // it does not wait (any more)
	WaitTurn                         // others come first
	WaitBelowShare                   // below its share, until slots free
	WaitAtLimit                      // at a limit of its pool or user
	WaitLocality                     // for a launcher near its input
	WaitGang                         // its bundle does not fit as a whole
	WaitExcluded                     // the launchers with room are excluded for it
	WaitBudget                       // its budget is spent
	WaitPreempting                   // slots are being taken back for it
	WaitNoCapacity                   // no launcher has such slots or memory free, or those that have are too busy
	WaitAdmission                    // it has not been let in yet
	WaitHeld                         // the policy keeps free slots from it on purpose; the detail says why
)

// String returns the reason in words.
func (r WaitReason) String() string {
	return name(r, "does not wait", "waits its turn", "below its share", "at its limit",
		"waiting for locality", "gang does not fit", "launchers excluded", "budget spent",
		"preempting for it", "no free capacity", "waiting for admission", "slots are held back")
}

// Waiting says why a job waits. A policy that starts nothing although ready work
// fits and nothing runs gives a reason here; without one, it counts as broken
// after a while that the site sets, and is replaced.
type Waiting struct {
	Job    JobID
	Reason WaitReason
	Detail string // numbers and names, for people
}

// Note is something to be logged, delivered in a round, and fed again on replay.
type Note struct {
	Name string
	Body []byte
}

// Checkpoint is a policy's own memory in its own format, opaque to the manager.
type Checkpoint struct {
	Version uint32 // of the format; a policy that does not know it starts without
	Data    []byte // bounded by Limits.CheckpointBytes, with all that it is appended to
	// Append adds Data to what the policy's checkpoint has, which must be of the same
	// version; to none it is the first. So what is learned piece by piece costs no more
	// than the pieces: write the whole anew, without Append, before the sum reaches its
	// bound. A Snapshot has the sum, and Append false.
	Append bool
}

// Check says why a checkpoint can't be given after before, nil for none.
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

// After returns the checkpoint that there is when one is given after before, nil for none.
// Before stays as it is; what it has is not copied each time, so nothing else may be given
// after it.
func (c Checkpoint) After(before *Checkpoint) Checkpoint {
	var data []byte
	if c.Append && before != nil {
		data = before.Data
	}
	return Checkpoint{Version: c.Version, Data: append(data, c.Data...)}
}
