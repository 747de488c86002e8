package state

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/ids"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// BundleAttempt is one attempt at a bundle: the attempts of all its groups together.
type BundleAttempt struct {
	ID          uint64 // that of its first attempt
	Bundle      *Bundle
	Attempts    []*Attempt // by group
	commits     []*Commit  // by group, of the finished ones
	token       []byte     // of its data connections, from an earlier manager; nil: Cluster.Token has it
	speculative bool
	peersSent   bool // its attempts were sent each other's addresses
	launched    scheduler.Time
	ready       scheduler.Time // since when its bundle was ready; for status only

	live       int                      // attempts
	granted    bool                     // it has the commit grant
	stopped    scheduler.AttemptOutcome // why all its attempts are being stopped; 0: they are not
	failure    *wire.Failure            // why it failed
	elsewhere  bool                     // its failure may be its launcher's: retry on another
	lost       string                   // why it was lost
	toSuspend  scheduler.Time           // when its last suspension was requested; 0: never
	suspendFor scheduler.JobID          // the beneficiary
	suspended  scheduler.Time           // since when its last attempt was suspended; 0: it is not
	suspension uint64                   // its number in Cluster.Suspended; not in checkpoints, which have the order
}

// Commits returns the accepted ends of the groups, by group; nil for a group without one. The
// caller must not change the list.
func (r *BundleAttempt) Commits() []*Commit { return r.commits }

// Token returns the token of its data connections if an earlier manager made it; nil: Cluster.Token
// has it.
func (r *BundleAttempt) Token() []byte { return r.token }

// Speculative reports whether it is the second attempt at a running bundle.
func (r *BundleAttempt) Speculative() bool { return r.speculative }

// Launched returns when it was launched.
func (r *BundleAttempt) Launched() scheduler.Time { return r.launched }

// Live is the number of its live attempts.
func (r *BundleAttempt) Live() int { return r.live }

// Granted reports whether it has the commit grant.
func (r *BundleAttempt) Granted() bool { return r.granted }

// Grant gives the bundle attempt the commit grant.
func (r *BundleAttempt) Grant() { r.granted = true }

// Stopped is why all its attempts are being stopped; 0: they are not.
func (r *BundleAttempt) Stopped() scheduler.AttemptOutcome { return r.stopped }

// Stop records why all its attempts are being stopped. The first reason is kept, unless a later one
// is a kill.
func (r *BundleAttempt) Stop(outcome scheduler.AttemptOutcome) {
	if r.stopped == 0 || outcome == scheduler.Killed {
		r.stopped = outcome
	}
}

// Failure returns why the bundle attempt failed; nil: it did not.
func (r *BundleAttempt) Failure() *wire.Failure { return r.failure }

// TryElsewhere records that the failure may be its launcher's.
func (r *BundleAttempt) TryElsewhere() { r.elsewhere = true }

// Elsewhere reports whether the failure may be its launcher's.
func (r *BundleAttempt) Elsewhere() bool { return r.elsewhere }

// Fail records why it failed: the first reason, but another reason replaces a lack of room.
func (r *BundleAttempt) Fail(f *wire.Failure) {
	if r.failure == nil || r.failure.Kind == wire.ErrorKind_ERROR_KIND_RESOURCE {
		r.failure = f
	}
}

// Lost returns why the bundle attempt was lost; "": it was not.
func (r *BundleAttempt) Lost() string { return r.lost }

// Lose records why it was lost. The first reason is kept.
func (r *BundleAttempt) Lose(why string) {
	if r.lost == "" {
		r.lost = why
	}
}

// Reason returns why the bundle attempt failed or was lost.
func (r *BundleAttempt) Reason() string {
	if r.failure != nil {
		return r.failure.Message
	}
	return r.lost
}

// SuspendRequested is when its last suspension was requested, and for which job; 0: never.
func (r *BundleAttempt) SuspendRequested() (scheduler.Time, scheduler.JobID) {
	return r.toSuspend, r.suspendFor
}

// NoteSuspendRequested records that it is preempted by suspension.
func (r *BundleAttempt) NoteSuspendRequested(now scheduler.Time, beneficiary scheduler.JobID) {
	r.toSuspend, r.suspendFor = now, beneficiary
}

// Suspended is since when it waits for resumption; 0: it does not.
func (r *BundleAttempt) Suspended() scheduler.Time { return r.suspended }

// WaitsForResume reports whether it waits for resumption.
func (r *BundleAttempt) WaitsForResume() bool {
	rests := false
	for _, a := range r.Attempts {
		if a.Phase() == phase.Ended {
			continue // it may have ended before its suspension
		}
		if a.Suspending() || a.Stop() != nil {
			return false
		}
		rests = rests || a.WaitsForResume()
	}
	return rests
}

// Waiting lists its attempts that wait for resumption, and their allocations.
func (r *BundleAttempt) Waiting() (list []*Attempt, held []resources.AllocationOn) {
	for _, a := range r.Attempts {
		if a.WaitsForResume() {
			list = append(list, a)
			held = append(held, resources.AllocationOn{On: &a.Launcher.Launcher, Allocation: &a.Allocation})
		}
	}
	return list, held
}

// StartBundleAttempt starts a bundle on launchers, one for each of its groups, and returns the
// attempt with the ids of the groups' attempts. A speculative attempt is the second one at a
// running bundle, after an offer. One that is held ahead gets no slots yet.
func (st *Cluster) StartBundleAttempt(b *Bundle, where []*Launcher, speculative, ahead bool, ids *ids.IDs) (*BundleAttempt, []scheduler.AttemptID) {
	r, list := newBundleAttempt(b, where)
	r.speculative, r.launched = speculative, st.step.Now
	if speculative {
		b.SetSpeculationOffered(0)
	} else {
		r.ready = b.since
		b.Enter(BundleRunning)
		st.RequeueFinishing(b.Job)
	}
	b.addAttempt(r)
	for i, a := range r.Attempts {
		a.ID = ids.NextAttempt()
		a.Request = b.Request(i)
		a.HasSlots, a.Empty, a.heldAhead = !ahead, ahead, ahead
		a.Locate()
		list[i] = a.ID
		st.AddAttempt(a)
		b.Job.RanOn.Add(a.Launcher.ID)
	}
	r.ID = uint64(list[0])
	return r, list
}

// CommitGroup records the accepted end of the i-th group, and its stored outputs on its launcher.
func (r *BundleAttempt) CommitGroup(a *Attempt, k *Commit) {
	r.commits[a.Group] = k
	if k.Stored {
		a.Launcher.Outputs.Store(a.ID, &Output{Job: r.Bundle.Job, Bundle: r.Bundle, Group: a.Group, BundleAttempt: r.ID})
	}
}

// newBundleAttempt makes a bundle attempt and the attempts of its groups, which have no ids yet,
// and a list for the ids. All of it is one allocation: most bundles are one group, and thousands
// start in a second.
func newBundleAttempt(b *Bundle, where []*Launcher) (*BundleAttempt, []scheduler.AttemptID) {
	if len(where) == 1 {
		var one struct {
			run      BundleAttempt
			attempt  Attempt
			attempts [1]*Attempt
			ids      [1]scheduler.AttemptID
		}
		one.attempt = Attempt{BundleAttempt: &one.run, Launcher: where[0], Allocation: resources.Allocation{HasSlots: true}}
		one.attempts[0] = &one.attempt
		one.run = BundleAttempt{Bundle: b, live: 1, Attempts: one.attempts[:], commits: make([]*Commit, 1)}
		return &one.run, one.ids[:]
	}
	n := len(where)
	r := &BundleAttempt{Bundle: b, live: n, Attempts: make([]*Attempt, n), commits: make([]*Commit, n)}
	for i, l := range where {
		r.Attempts[i] = &Attempt{BundleAttempt: r, Group: i, Launcher: l, Allocation: resources.Allocation{HasSlots: true}}
	}
	return r, make([]scheduler.AttemptID, n)
}

// MarkPeersSent records that its attempts were sent each other's addresses.
func (r *BundleAttempt) MarkPeersSent() { r.peersSent = true }

// PeersSent reports whether its attempts were sent each other's addresses.
func (r *BundleAttempt) PeersSent() bool { return r.peersSent }
