package state

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// User is a user with live jobs. What its attempts hold is counted while it has a limit.
type User struct {
	scheduler.LimitedUser
	jobs      int            // live ones
	jobsMax   int            // 0: no bound
	roomSince scheduler.Time // see RoomSince
	dirty     bool           // in ChangeFeed.users
}

// RoomSince returns since when the user's attempts have freed nothing, and the limit has been the same.
func (u *User) RoomSince() scheduler.Time { return u.roomSince }

// Refusal says why the user may not hold more of what is needed.
func (u *User) Refusal(need scheduler.Usage) string {
	return fmt.Sprintf("%s: its attempts hold %v, and this needs %v", u.AtLimit(), u.Limit.Bounds(u.Holds), u.Limit.Bounds(need))
}

// Usage is what the bundle's groups need together.
func (b *Bundle) Usage() (sum scheduler.Usage) {
	for i := range b.Width() {
		d := b.Request(i)
		sum = sum.Plus(d.Usage())
	}
	return sum
}

// WithinUserLimit reports whether a launch of the bundle would keep the limit of the job's user, once
// something was freed.
func (b *Bundle) WithinUserLimit(freed scheduler.Usage) bool {
	return !b.Job.user.Limited() || b.Job.user.Allows(b.Usage(), freed)
}

// Frees is what the user of a job would hold no more if the bundle attempt were suspended, or ended.
func (r *BundleAttempt) Frees(of *User, suspend bool) (sum scheduler.Usage) {
	if r.Bundle.Job.user != of || !of.Limited() {
		return sum
	}
	for _, a := range r.Attempts {
		if a.Phase() == phase.Ended {
			continue
		}
		sum = sum.Plus(a.Frees(&a.Launcher.Launcher, suspend))
	}
	return sum
}

// TakesToResume returns the slots and resources that resuming the bundle attempt adds to what its user
// holds.
func (r *BundleAttempt) TakesToResume() (sum scheduler.Usage) {
	for _, a := range r.Attempts {
		if a.WaitsForResume() {
			sum = sum.Plus(a.TakesToResume(&a.Launcher.Launcher))
		}
	}
	return sum
}

// User returns the job's user.
func (j *Job) User() *User { return j.user }

// UserJobs returns how many jobs of a user are live.
func (st *Cluster) UserJobs(name string) int {
	if u := st.users[name]; u != nil {
		return u.jobs
	}
	return 0
}

// addToUser adds a live job, with its attempts, to its user.
func (st *Cluster) addToUser(j *Job) {
	name := j.Spec.GetPrincipal().GetName()
	u := st.users[name]
	if u == nil {
		l := &st.step.Set.UserLimits
		u = &User{LimitedUser: scheduler.LimitedUser{Name: name, Limit: l.LimitOf(name)}, jobsMax: l.Of(name).Jobs, roomSince: st.step.Now}
		st.users[name] = u
	}
	u.jobs++
	j.user = u
	for _, a := range j.attempts {
		a.countForUser()
	}
	st.Changes.MarkUser(u)
}

// removeFromUser removes a job that has no attempts from its user.
func (st *Cluster) removeFromUser(j *Job) {
	if j.user.jobs--; j.user.jobs == 0 {
		delete(st.users, j.user.Name)
	}
	st.Changes.MarkUser(j.user)
}

// countForUser counts a live attempt that is not counted yet, if its user has a limit.
func (a *Attempt) countForUser() {
	if u := a.BundleAttempt.Bundle.Job.user; u != nil && u.Limited() {
		a.CountFor(&a.Launcher.Launcher, &u.Holds)
	}
}

// NoteFreed records that an attempt freed something that its user may hold again.
func (st *Cluster) NoteFreed(a *Attempt) {
	if u := a.BundleAttempt.Bundle.Job.user; u.Limited() {
		u.roomSince = st.step.Now
		st.Changes.MarkUser(u)
	}
}

// ApplyUserLimits gives all users the limits of the settings. It returns the first job of each user
// whose limit changed and of which the policy knows a job, in order of user.
func (st *Cluster) ApplyUserLimits() (changed []*Job) {
	for _, name := range slices.Sorted(maps.Keys(st.users)) {
		u := st.users[name]
		limit, jobsMax := st.step.Set.UserLimits.LimitOf(name), st.step.Set.UserLimits.Of(name).Jobs
		if limit == u.Limit && jobsMax == u.jobsMax {
			continue
		}
		st.Changes.MarkUser(u) // before and after, in case only one of them has bounds
		same := limit == u.Limit
		u.jobsMax = jobsMax
		if !same {
			u.Limit, u.Holds, u.roomSince = limit, scheduler.Usage{}, st.step.Now
		}
		st.Changes.MarkUser(u)
		if same {
			continue
		}
		if first := st.recountUser(u); first != nil {
			changed = append(changed, first)
		}
	}
	return changed
}

// recountUser counts a user's attempts from the start. It returns the user's first job that the policy
// knows, or nil.
func (st *Cluster) recountUser(u *User) (first *Job) {
	for j := range st.Jobs.All() {
		if j.user != u {
			continue
		}
		if first == nil && j.KnownToPolicy() {
			first = j
		}
		for _, a := range j.attempts {
			a.CountForNobody()
			a.countForUser()
		}
	}
	return first
}

// CodeUsers codes since when users have had room. Jobs must be coded before.
func (st *Cluster) CodeUsers(w *checkpoint.Codec) {
	for _, name := range slices.Sorted(maps.Keys(st.users)) {
		checkpoint.Num(w, &st.users[name].roomSince)
	}
}

// UsersKnown returns what the users with a limit hold as far as a policy knows it: an attempt that is
// suspended holds no slots before the policy learns that it was resumed.
func (st *Cluster) UsersKnown() map[*User]scheduler.Usage {
	held := map[*User]scheduler.Usage{}
	for j := range st.Jobs.All() {
		if !j.user.Limited() {
			continue
		}
		for _, a := range j.attempts {
			l := &a.Launcher.Launcher
			holds := a.Holds(l)
			if a.HasSlots && a.Phase() == phase.Suspended {
				holds = holds.Minus(a.TakesToResume(l))
			}
			held[j.user] = held[j.user].Plus(holds)
		}
	}
	return held
}

// checkUsers recounts the users' jobs and what their attempts hold.
func (st *Cluster) checkUsers() error {
	jobs, held := map[string]int{}, map[string]scheduler.Usage{}
	for j := range st.Jobs.All() {
		name := j.Spec.GetPrincipal().GetName()
		u := st.users[name]
		if u == nil || u != j.user {
			return fmt.Errorf("%s is not counted for its user %q", j.ID, name)
		}
		limit, jobsMax := st.step.Set.UserLimits.LimitOf(name), st.step.Set.UserLimits.Of(name).Jobs
		if u.Limit != limit || u.jobsMax != jobsMax {
			return fmt.Errorf("user %q is limited to %d jobs and %v, and the settings say %d and %v", name, u.jobsMax, u.Limit, jobsMax, limit)
		}
		jobs[name]++
		for _, a := range j.attempts {
			if u.Limited() {
				held[name] = held[name].Plus(a.Holds(&a.Launcher.Launcher))
			}
		}
	}
	for name, u := range st.users {
		if u.jobs != jobs[name] || u.Holds != held[name] {
			return fmt.Errorf("user %q has %d live jobs and holds %v, counted as %d and %v", name, jobs[name], held[name], u.jobs, u.Holds)
		}
	}
	if len(jobs) != len(st.users) {
		return fmt.Errorf("%d users have live jobs, counted as %d", len(jobs), len(st.users))
	}
	return nil
}

// bounded reports whether the site bounds what the user's attempts hold, or the user's jobs.
func (u *User) bounded() bool { return u.Limited() || u.jobsMax > 0 }

// Row returns the row of a user.
func (u *User) Row() changes.User {
	return changes.User{LimitedUser: u.LimitedUser, Jobs: u.jobs, JobsMax: u.jobsMax, Gone: u.jobs == 0 || !u.bounded()}
}

// MarkUser reports a user who has a limit.
func (f *ChangeFeed) MarkUser(u *User) {
	if f.on && !u.dirty && u.bounded() {
		u.dirty = true
		f.users = append(f.users, u)
	}
}

// userRows returns the rows of users that changed, in order of name.
func (f *ChangeFeed) userRows() (rows []changes.User) {
	for _, u := range f.users {
		u.dirty = false
		rows = append(rows, u.Row())
	}
	slices.SortStableFunc(rows, changes.User.Compare)
	return rows
}
