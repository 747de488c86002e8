package view

import (
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// users are the users with live jobs, by name.
type users map[string]*user

// user is a user with live jobs. Holds is what attempts hold as the manager counts.
type user struct {
	scheduler.LimitedUser
	jobs int // live ones
	// counted means that the limit is not zero, the user's jobs refer to it, and Holds is kept. It is
	// false until the end of a snapshot, which may list attempts before their launchers.
	counted bool
	// freed is what the policy freed tentatively since, less what it took; kept by Capacity.
	freed scheduler.Usage
}

// allows reports whether the user may hold more of what is needed, with all that was taken.
func (u *user) allows(need scheduler.Usage) bool { return u.Allows(need, u.freed) }

// submitted adds a job to its user.
func (us *users) submitted(j *Job) {
	if *us == nil {
		*us = users{}
	}
	u := (*us)[j.Info.User]
	if u == nil {
		u = &user{LimitedUser: scheduler.LimitedUser{Name: j.Info.User}}
		(*us)[u.Name] = u
	}
	u.jobs++
	j.owner = u
	if u.counted {
		j.countFor(u)
	}
}

// finished removes a job, which holds nothing, from its user.
func (us users) finished(j *Job) {
	if j.owner.jobs--; j.owner.jobs == 0 {
		delete(us, j.owner.Name)
	}
}

// setUserLimit sets a user's limit. A user without live jobs needs none.
func (js *jobs) setUserLimit(e scheduler.UserLimitSet, starting bool) error {
	if e.Limit.Slots < 0 || e.Limit.Memory < 0 || e.Limit.Resources != e.Limit.Resources.Positive() {
		return fmt.Errorf("user %q is limited to %v", e.User, e.Limit)
	}
	u := js.users[e.User]
	if u == nil {
		return nil
	}
	u.Limit = e.Limit
	if starting || u.counted == u.Limited() {
		return nil
	}
	u.counted = u.Limited()
	u.Holds = scheduler.Usage{}
	for _, j := range js.list {
		if j.owner == u {
			j.countFor(u)
		}
	}
	return nil
}

// countUsers begins the counts of all users with a limit, after a snapshot.
func (js *jobs) countUsers() {
	for _, j := range js.list {
		j.owner.counted = j.owner.Limited()
		j.countFor(j.owner)
	}
}

// countFor begins the counts of a job for its user's limit, or ends them.
func (j *Job) countFor(u *user) {
	if !u.counted {
		j.user, j.launchable.needs = nil, nil
		return
	}
	j.user = u
	for _, a := range j.Attempts() {
		u.Holds = u.Holds.Plus(a.usage())
	}
	j.launchable.needs = map[scheduler.Usage]int{}
	for b := range j.launchables() {
		j.launchable.needs[b.need()]++
	}
}

// need is what all groups of the bundle need together.
func (b *Bundle) need() (n scheduler.Usage) {
	for i := range b.Groups {
		n = n.Plus(b.Groups[i].Usage())
	}
	return n
}

// usage is what the attempt holds, as the manager counts it for its user's limit.
func (a *Attempt) usage() scheduler.Usage {
	if a.State == Suspended && !a.Resuming {
		return a.Need.Usage().Minus(a.freedBySuspension())
	}
	return a.Need.Usage()
}

// freedBySuspension is what the attempt's suspension frees, and its resumption takes again.
func (a *Attempt) freedBySuspension() scheduler.Usage {
	var kinds []scheduler.ResourceKind
	if a.on != nil {
		kinds = a.on.SuspensionFrees
	}
	return a.Need.Usage().FreedBySuspension(kinds)
}

// counting changes an attempt, and keeps what its user holds.
func (a *Attempt) counting(change func()) {
	u := a.Job().user
	if u != nil {
		u.Holds = u.Holds.Minus(a.usage())
	}
	change()
	if u != nil {
		u.Holds = u.Holds.Plus(a.usage())
	}
}

// WithinUserLimit reports whether the job's user may hold what the bundle needs, beside what the
// user's attempts hold and what was taken tentatively. Otherwise a launch of it is refused as
// scheduler.UserAtLimit. Walks skip such bundles, and Fit finds no place for them.
func (b *Bundle) WithinUserLimit() bool { return b.Job.user == nil || b.Job.user.allows(b.need()) }

// WithinUserLimit reports whether one of the job's launchable bundles is within its user's limit, or
// none is launchable. Its cost depends on how many different needs the bundles have.
func (j *Job) WithinUserLimit() bool {
	if j.user == nil || len(j.launchable.needs) == 0 {
		return true
	}
	for need := range j.launchable.needs {
		if j.user.allows(need) {
			return true
		}
	}
	return false
}

// UserLimit returns the limit of the job's user; the zero limit is none.
func (j *Job) UserLimit() scheduler.UserLimit { return j.owner.Limit }

// UserHolds returns what the attempts of the job's user hold, as of the last Apply. It is kept only
// for a user with a limit.
func (j *Job) UserHolds() scheduler.Usage {
	if j.user == nil {
		return scheduler.Usage{}
	}
	return j.user.Holds
}

// AtUserLimit returns, for people, the limit that keeps all launchable bundles of the job from a
// launch; "": WithinUserLimit.
func (j *Job) AtUserLimit() string {
	if j.WithinUserLimit() {
		return ""
	}
	return j.user.AtLimit()
}

// resuming is what the job's attempts that are being resumed took for it, if a limit of its user is
// counted.
func (j *Job) resuming() (sum scheduler.Usage) {
	for _, a := range j.Attempts() {
		if j.user != nil && a.State == Suspended && a.Resuming {
			sum = sum.Plus(a.freedBySuspension())
		}
	}
	return sum
}

// userTaken undoes a change of what is taken for a user. It belongs to the change at index at of the
// journal.
type userTaken struct {
	at     int
	of     *user
	before scheduler.Usage // its freed
}

// takeForUser counts tentatively what the journal's next change takes for a user, if the user has a
// limit.
func (c *Capacity) takeForUser(u *user, more scheduler.Usage) {
	if u != nil {
		c.userJournal = append(c.userJournal, userTaken{len(c.journal), u, u.freed})
		u.freed = u.freed.Minus(more)
	}
}

// undoUsers undoes what was taken for users since a mark.
func (c *Capacity) undoUsers(mark int) {
	for n := len(c.userJournal); n > 0 && c.userJournal[n-1].at >= mark; n-- {
		x := c.userJournal[n-1]
		x.of.freed = x.before
		c.userJournal = c.userJournal[:n-1]
	}
}

// HoldForUsers takes back what Release freed for users since the mark and nothing took since. It is for
// victims of a preemption that is decided: until they have ended their users hold it, and the manager
// counts it. What their launchers have free is not changed.
func (c *Capacity) HoldForUsers(mark int) {
	before := map[*user]scheduler.Usage{}
	var order []*user
	for _, x := range c.userJournal {
		if _, known := before[x.of]; x.at >= mark && !known {
			before[x.of], order = x.before, append(order, x.of)
		}
	}
	for _, u := range order {
		rest := u.freed.Minus(before[u])
		rest = scheduler.Usage{Slots: max(rest.Slots, 0), Memory: max(rest.Memory, 0), Resources: rest.Resources.Positive()}
		c.userJournal = append(c.userJournal, userTaken{len(c.journal) - 1, u, u.freed}) // undone with the last change
		u.freed = u.freed.Minus(rest)
	}
}

// withUserIdle calls f as if the user's attempts held nothing.
func (u *user) withUserIdle(f func()) {
	if u == nil {
		f()
		return
	}
	before := u.freed
	u.freed = u.Holds
	f()
	u.freed = before
}
