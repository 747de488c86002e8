package shares

import (
	"slices"

	"github.com/hamadryad/hamadryad/plugins/fair/allocation"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/heap"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/queueorder"
)

// limiter decides which jobs may run where pools or users have limits. As many may as the limits
// let, in order of priority and submission over all pools. Jobs without a limit are none of its
// business.
//
// Jobs wait in lists by pool and user. So the end of a job costs time in proportion to running
// jobs, not to waiting ones.
type limiter struct {
	lists   map[listKey]*limitedJobs
	changed bool
	allowed []*Job // as of the last enforce
}

type listKey struct {
	pool *Pool
	user string
}

// limitedJobs are the jobs of one user in one pool, in order.
type limitedJobs struct {
	listKey
	jobs []*Job
	next int // while settling
}

// InLine orders jobs as limits let them run: by priority, then by submission.
func InLine(a, b *Job) int {
	return queueorder.ByPriority(a.Job, b.Job)
}

func (l *limiter) add(s *State, j *Job) {
	j.limited = s.Config.Table.UserMax(j.Info.User) != allocation.Unlimited
	for x := j.Pool; x != nil; x = s.Pools[x.Spec.Parent] {
		j.limited = j.limited || s.Config.Table.JobsMax(x.Spec) != allocation.Unlimited
	}
	j.Runnable = !j.limited
	if !j.limited {
		return
	}
	key := listKey{j.Pool, j.Info.User}
	if l.lists == nil {
		l.lists = map[listKey]*limitedJobs{}
	}
	list := l.lists[key]
	if list == nil {
		list = &limitedJobs{listKey: key}
		l.lists[key] = list
	}
	i, _ := slices.BinarySearchFunc(list.jobs, j, InLine)
	list.jobs = slices.Insert(list.jobs, i, j)
	l.changed = true
}

// remove removes a job from its list, even if its priority has changed since.
func (l *limiter) remove(j *Job) {
	if !j.limited {
		return
	}
	key := listKey{j.Pool, j.Info.User}
	list := l.lists[key]
	i, _ := slices.BinarySearchFunc(list.jobs, j, InLine)
	if i == len(list.jobs) || list.jobs[i] != j {
		i = slices.Index(list.jobs, j)
	}
	list.jobs = slices.Delete(list.jobs, i, i+1)
	if len(list.jobs) == 0 {
		delete(l.lists, key)
	}
	l.changed = true
}

// enforce lets exactly the jobs run whose turn it is.
func (l *limiter) enforce(s *State) {
	if !l.changed {
		return
	}
	l.changed = false
	before := l.allowed
	l.allowed = l.choose(s)
	now := make(map[*Job]bool, len(l.allowed))
	for _, j := range l.allowed {
		now[j] = true
		l.let(s, j, true)
	}
	for _, j := range before {
		if !now[j] {
			l.let(s, j, !j.limited)
		}
	}
}

func (l *limiter) let(s *State, j *Job, run bool) {
	if j.Runnable != run {
		j.Runnable = run
		s.Mark(j)
	}
}

// choose walks all lists in order, and leaves a list when its pool or its user has
// no more room.
func (l *limiter) choose(s *State) []*Job {
	heads := heap.Heap[*limitedJobs]{Before: func(a, b *limitedJobs) bool { return InLine(a.jobs[a.next], b.jobs[b.next]) < 0 }}
	for _, list := range l.lists {
		list.next = 0
		heads.Push(list)
	}
	users, pools := map[string]int{}, map[*Pool]int{}
	full := func(list *limitedJobs) bool {
		for x := list.pool; x != nil; x = s.Pools[x.Spec.Parent] {
			if pools[x] >= s.Config.Table.JobsMax(x.Spec) {
				return true
			}
		}
		return users[list.user] >= s.Config.Table.UserMax(list.user)
	}
	var chosen []*Job
	for len(heads.Items) > 0 {
		list := heads.Items[0]
		if full(list) {
			heads.Pop()
			continue
		}
		chosen = append(chosen, list.jobs[list.next])
		users[list.user]++
		for x := list.pool; x != nil; x = s.Pools[x.Spec.Parent] {
			pools[x]++
		}
		if list.next++; list.next == len(list.jobs) {
			heads.Pop()
		} else {
			heads.Fix(0)
		}
	}
	return chosen
}
