package resources

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// ExclusionLimits are the conditions of a launcher's exclusion by the site.
type ExclusionLimits struct {
	Jobs         int // with a vote against it
	SharePercent int // the largest share of the launchers that are up that may be excluded
}

// Exclusions counts the votes against launchers, and excludes those with enough votes.
type Exclusions struct {
	launchers    *Launchers
	offers       *Offers
	reservations *Reservations
}

// Vote is a job's vote to exclude a launcher on which its attempts failed. All jobs of one user
// that run one program share one vote, since the program may be broken. A job that succeeded
// elsewhere has a vote of its own.
type Vote struct {
	Job       scheduler.JobID
	User      string
	Program   string // its hash
	succeeded bool
}

func (v Vote) alike(w Vote) bool { return v.User == w.User && v.Program == w.Program }

// votesMax bounds the votes against one launcher. Beyond it the oldest vote that is shared with
// another goes, else the oldest.
const votesMax = 100

// VoteAgainst records that a job excludes a launcher, and reports whether the site excludes it from
// now on, until a time. It does when there are enough votes, unless too many launchers are excluded
// already: then the fault is with the work or the site.
func (xs *Exclusions) VoteAgainst(l *Launcher, by Vote, until scheduler.Time, s ExclusionLimits) bool {
	if i, found := slices.BinarySearchFunc(l.excludedBy, by.Job, voteOrder); !found {
		l.excludedBy = slices.Insert(l.excludedBy, i, by)
		l.boundVotes()
		xs.offers.MarkDirty(l)
	}
	return xs.exclude(l, until, s)
}

// ConfirmVotes records that a job succeeded elsewhere than on the launchers that it excludes. It
// lists the launchers that the site therefore excludes, in order of id.
func (xs *Exclusions) ConfirmVotes(job scheduler.JobID, until scheduler.Time, s ExclusionLimits) (excluded []*Launcher) {
	for _, id := range xs.launchers.index.IDs() {
		l := xs.launchers.index.Get(id)
		i, found := slices.BinarySearchFunc(l.excludedBy, job, voteOrder)
		if !found {
			continue
		}
		l.excludedBy = slices.Clone(l.excludedBy)
		l.excludedBy[i].succeeded = true
		if l.Up && xs.exclude(l, until, s) {
			excluded = append(excluded, l)
		}
	}
	return excluded
}

func voteOrder(v Vote, job scheduler.JobID) int { return cmp.Compare(v.Job, job) }

func (xs *Exclusions) exclude(l *Launcher, until scheduler.Time, s ExclusionLimits) bool {
	if l.Excluded || l.votes() < s.Jobs {
		return false
	}
	excluded := 1
	for _, id := range xs.launchers.index.IDs() {
		if x := xs.launchers.index.Get(id); x.Up && x.Excluded {
			excluded++
		}
	}
	if excluded*100 > xs.launchers.up*s.SharePercent {
		return false
	}
	l.Excluded, l.excludedUntil = true, until
	xs.reservations.releaseOn(l)
	xs.offers.MarkChanged(l)
	xs.offers.topologyChanged = true
	return true
}

// votes counts the votes against a launcher.
func (l *Launcher) votes() (n int) {
	for i, v := range l.excludedBy {
		if v.succeeded || !slices.ContainsFunc(l.excludedBy[:i], func(w Vote) bool { return !w.succeeded && w.alike(v) }) {
			n++
		}
	}
	return n
}

func (l *Launcher) boundVotes() {
	if len(l.excludedBy) <= votesMax {
		return
	}
	goes := 0
	for i, v := range l.excludedBy {
		if !v.succeeded && slices.ContainsFunc(l.excludedBy[i+1:], func(w Vote) bool { return !w.succeeded && w.alike(v) }) {
			goes = i
			break
		}
	}
	l.excludedBy = slices.Delete(slices.Clone(l.excludedBy), goes, goes+1)
}

// Exclusion returns the jobs for which the site excludes a launcher, in a list of the caller's own,
// and the end of the exclusion; 0: it is not excluded.
func (l *Launcher) Exclusion() ([]scheduler.JobID, scheduler.Time) {
	if !l.Up || !l.Excluded {
		return nil, 0
	}
	jobs := make([]scheduler.JobID, len(l.excludedBy))
	for i, v := range l.excludedBy {
		jobs[i] = v.Job
	}
	return jobs, l.excludedUntil
}

// WithdrawVotes withdraws a job's votes, and lists the launchers that are therefore no longer
// excluded, in order of id.
func (xs *Exclusions) WithdrawVotes(job scheduler.JobID, s ExclusionLimits) (readmitted []*Launcher) {
	for _, id := range xs.launchers.index.IDs() {
		l := xs.launchers.index.Get(id)
		i, found := slices.BinarySearchFunc(l.excludedBy, job, voteOrder)
		if !found {
			continue
		}
		l.excludedBy = slices.Delete(l.excludedBy, i, i+1)
		if xs.offers.MarkDirty(l); l.votes() < s.Jobs && xs.Readmit(l) {
			readmitted = append(readmitted, l)
		}
	}
	return readmitted
}

// Readmit ends the exclusion of a launcher at once, and reports whether it was excluded.
func (xs *Exclusions) Readmit(l *Launcher) bool {
	return xs.ReadmitDue(l.ID, l.excludedUntil)
}

// ReadmitDue ends the exclusion of a launcher when it is due, and reports whether it did. A
// launcher that joined again and was excluded again stays excluded for longer.
func (xs *Exclusions) ReadmitDue(id scheduler.LauncherID, now scheduler.Time) bool {
	l := xs.launchers.index.Get(id)
	if l == nil || !l.Up || !l.Excluded || now < l.excludedUntil {
		return false
	}
	l.Excluded, l.excludedBy, l.excludedUntil = false, nil, 0
	xs.offers.MarkChanged(l)
	xs.offers.topologyChanged, xs.offers.capacityFreed = true, true
	return true
}
