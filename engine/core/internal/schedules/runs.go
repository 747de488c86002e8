package schedules

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Due decides what follows from a due time: a run, or none. A due time that was decided before, or
// that lies in the future, changes nothing.
func (t *Table) Due(s *step.Step, m *wire.ScheduleDue, live Live) {
	i, found := t.find(m.GetSchedule())
	if !found || t.list[i].Paused || m.GetDue() <= t.list[i].Decided || m.GetDue() > int64(s.Now) {
		return
	}
	x := t.edit(i)
	x.Decided = m.GetDue()
	x.Missed += uint64(m.GetPassed())
	due := scheduler.Time(m.GetDue())
	switch {
	case s.Now.Sub(due) > startDeadline(x):
		x.Missed++
	case t.start(s, x, due, false, live) != "":
		x.Skipped++
	}
}

func startDeadline(x *wire.Schedule) time.Duration {
	return time.Duration(x.GetDefinition().GetStartDeadlineNs())
}

// start makes a run of a schedule that is being edited. It returns why there is none; "": there is.
func (t *Table) start(s *step.Step, x *wire.Schedule, due scheduler.Time, byHand bool, live Live) string {
	unfinished, queued, last := 0, false, uint64(0)
	for _, r := range x.Runs {
		if over(r, live) {
			continue
		}
		unfinished++
		queued = queued || isQueued(r)
		last = r.Number
	}
	r := &wire.Run{Number: x.RunsMade + 1, Due: int64(due), ByHand: byHand}
	switch how := x.GetDefinition().GetIfRunning(); {
	case unfinished >= s.Set.Schedules.RunsMax:
		return fmt.Sprintf("%d runs have not ended, which is the limit (core.schedules.runsMax)", unfinished)
	case unfinished == 0 || how == wire.IfRunning_IF_RUNNING_ALLOW:
		t.wait(s, x, r, due)
	case how == wire.IfRunning_IF_RUNNING_QUEUE && !queued:
		r.State = wire.RunState_RUN_STATE_QUEUED
		t.enqueue(x.Id)
	case how == wire.IfRunning_IF_RUNNING_QUEUE:
		return fmt.Sprintf("run %d waits for an earlier one already", last)
	default:
		return fmt.Sprintf("run %d has not ended", last)
	}
	x.RunsMade++
	x.Runs = append(x.Runs, r)
	forgetOld(x, s.Set.Schedules.RunsKept, live)
	return ""
}

// wait makes a run wait for a runner, for as long as its start deadline says.
func (t *Table) wait(s *step.Step, x *wire.Schedule, r *wire.Run, from scheduler.Time) {
	r.State = wire.RunState_RUN_STATE_WAITING
	t.until(s, x, r, from.Add(startDeadline(x)))
}

// until sets the time at which a run is missed or lost, unless it goes on before.
func (t *Table) until(s *step.Step, x *wire.Schedule, r *wire.Run, at scheduler.Time) {
	r.Until = int64(at)
	s.SetTimer(max(at.Sub(s.Now), 0), step.TimerSchedule, x.Id)
}

// forgetOld drops the oldest runs that are over, beyond a number of them.
func forgetOld(x *wire.Schedule, keep int, live Live) {
	ended := 0
	for _, r := range x.Runs {
		if over(r, live) {
			ended++
		}
	}
	x.Runs = slices.DeleteFunc(x.Runs, func(r *wire.Run) bool {
		if ended <= keep || !over(r, live) {
			return false
		}
		ended--
		return true
	})
}

func isQueued(r *wire.Run) bool { return r.GetState() == wire.RunState_RUN_STATE_QUEUED }

// over says whether nothing of a run goes on: neither its command nor one of its jobs.
func over(r *wire.Run, live Live) bool {
	return wire.RunOver(r.State) && !slices.ContainsFunc(r.Jobs, func(id uint64) bool { return live(scheduler.JobID(id)) })
}

func (t *Table) enqueue(id uint64) {
	if i, found := slices.BinarySearch(t.queued, id); !found {
		t.queued = slices.Insert(t.queued, i, id)
	}
}

func (t *Table) unqueue(id uint64) {
	if i, found := slices.BinarySearch(t.queued, id); found {
		t.queued = slices.Delete(t.queued, i, i+1)
	}
}

// ReleaseQueued lets a queued run wait for a runner when all earlier runs of its schedule, and their
// jobs, are over. The core calls it at the end of each step.
func (t *Table) ReleaseQueued(s *step.Step, live Live) {
	for _, id := range slices.Clone(t.queued) {
		i, _ := t.find(id)
		if slices.ContainsFunc(t.list[i].Runs, func(r *wire.Run) bool { return !isQueued(r) && !over(r, live) }) {
			continue
		}
		x := t.edit(i)
		t.wait(s, x, x.Runs[slices.IndexFunc(x.Runs, isQueued)], s.Now)
		t.unqueue(id)
	}
}

// TakeRun gives the oldest waiting run of the caller's schedules to a runner. Runs that the runner
// holds stay its own. Runs that it should hold and does not know of were lost with an answer: they
// wait again.
func (t *Table) TakeRun(s *step.Step, m *wire.TakeRun) {
	user := m.GetPrincipal().GetName()
	t.renew(s, m)
	taken := &wire.TakeRunReply{}
	if x, r := t.oldestWaiting(user); x >= 0 && !m.GetFull() {
		x := t.edit(x)
		r := x.Runs[r]
		r.State, r.Runner, r.Started = wire.RunState_RUN_STATE_RUNNING, m.GetRunner(), int64(s.Now)
		r.Try++
		for len(r.Terms) < int(r.Try) { // of tries before the first that has one, none is known
			r.Terms = append(r.Terms, 0)
		}
		r.Terms[r.Try-1] = s.Term
		t.until(s, x, r, s.Now.Add(s.Set.Schedules.Lease))
		taken = &wire.TakeRunReply{
			Key:  &wire.RunKey{Schedule: x.Id, Run: r.Number, Try: r.Try, Term: s.Term},
			Name: x.Name, Due: r.Due, Command: x.GetDefinition().GetCommand(), Folder: x.GetDefinition().GetFolder(),
		}
	}
	s.Emit(step.Reply{Client: m.GetClient(), Run: taken})
}

// renew extends the leases of what a runner holds.
func (t *Table) renew(s *step.Step, m *wire.TakeRun) {
	user := m.GetPrincipal().GetName()
	for i, x := range t.list {
		if x.User != user {
			continue
		}
		for k, r := range x.Runs {
			if r.State != wire.RunState_RUN_STATE_RUNNING {
				continue
			}
			switch {
			case wire.Holds(m.GetHeld(), x, r):
				x = t.edit(i)
				t.until(s, x, x.Runs[k], s.Now.Add(s.Set.Schedules.Lease))
			case r.Runner == m.GetRunner() && r.SubmittingTry == 0:
				x = t.edit(i)
				t.wait(s, x, x.Runs[k], s.Now)
			}
		}
	}
}

func names(key *wire.RunKey, x *wire.Schedule, r *wire.Run) bool {
	return key.GetSchedule() == x.Id && key.GetRun() == r.Number
}

// oldestWaiting returns the indexes of the waiting run that was due first; -1: none waits.
func (t *Table) oldestWaiting(user string) (schedule, run int) {
	schedule = -1
	due := int64(0)
	for i, x := range t.list {
		if x.User != user {
			continue
		}
		for k, r := range x.Runs {
			if r.State == wire.RunState_RUN_STATE_WAITING && (schedule < 0 || r.Due < due) {
				schedule, run, due = i, k, r.Due
			}
		}
	}
	return schedule, run
}

// lookUp returns the indexes of a run of a user's schedule, or the reason why there is none.
func (t *Table) lookUp(key *wire.RunKey, user string) (schedule, run int, err error) {
	i, found := t.find(key.GetSchedule())
	if !found || t.list[i].User != user {
		return 0, 0, fmt.Errorf("user %q has no schedule with the number %d: it was removed", user, key.GetSchedule())
	}
	x := t.list[i]
	k := slices.IndexFunc(x.Runs, func(r *wire.Run) bool { return names(key, x, r) })
	if k < 0 || key.GetTry() == 0 || key.GetTry() > x.Runs[k].Try {
		return 0, 0, fmt.Errorf("schedule %q has no run %d, or has forgotten it", x.Name, key.GetRun())
	}
	if key.GetTerm() != wire.TermOf(x.Runs[k], key.GetTry()) {
		return 0, 0, fmt.Errorf("the manager's log has lost this start of run %d of schedule %q: leave it to a later one", key.GetRun(), x.Name)
	}
	return i, k, nil
}

// End records how the command of a taken run ended. The end of a try that another one has replaced
// counts for nothing.
func (t *Table) End(s *step.Step, m *wire.EndRun) {
	i, k, err := t.lookUp(m.GetKey(), m.GetPrincipal().GetName())
	if err != nil {
		s.Reply(m.GetClient(), 0, step.Invalid(err.Error()))
		return
	}
	if r := t.list[i].Runs[k]; r.State == wire.RunState_RUN_STATE_RUNNING && m.GetKey().GetTry() == wire.DecidingTry(r) {
		end(s, t.edit(i).Runs[k], wire.RunState_RUN_STATE_FAILED, m.GetReason())
		if m.GetSucceeded() {
			t.edit(i).Runs[k].State = wire.RunState_RUN_STATE_SUCCEEDED
		}
	}
	s.Reply(m.GetClient(), 0, nil)
}

func end(s *step.Step, r *wire.Run, as wire.RunState, reason string) {
	r.State, r.Ended, r.Reason = as, int64(s.Now), s.Shorten(reason)
}

// Expire goes on with the runs of a schedule whose time is over: those that nobody took, and those
// whose runner said nothing.
func (t *Table) Expire(s *step.Step, id uint64) {
	i, found := t.find(id)
	if !found {
		return
	}
	for k, r := range t.list[i].Runs {
		waits, runs := r.State == wire.RunState_RUN_STATE_WAITING, r.State == wire.RunState_RUN_STATE_RUNNING
		if !waits && !runs || r.Until > int64(s.Now) {
			continue
		}
		x := t.edit(i)
		switch r = x.Runs[k]; {
		case waits:
			end(s, r, wire.RunState_RUN_STATE_MISSED, fmt.Sprintf("no runner of %s took it before its start deadline: start one by \"hamadryad serve schedules\"", x.User))
		case len(r.Jobs) > 0:
			end(s, r, wire.RunState_RUN_STATE_LOST, fmt.Sprintf("runner %s said nothing for %v; jobs that were submitted go on", r.Runner, s.Set.Schedules.Lease))
		case int(r.Try) >= s.Set.Schedules.TriesMax:
			end(s, r, wire.RunState_RUN_STATE_FAILED, fmt.Sprintf("its command was started %d times, and each runner was lost", r.Try))
		default:
			t.wait(s, x, r, s.Now)
		}
	}
}

// SurviveRestart gives runners time to find the manager again.
func (t *Table) SurviveRestart(s *step.Step) {
	for i, x := range t.list {
		for k, r := range x.Runs {
			if r.State == wire.RunState_RUN_STATE_RUNNING {
				x = t.edit(i)
				t.until(s, x, x.Runs[k], s.Now.Add(s.Set.Schedules.Lease))
			}
		}
	}
}

// MaySubmit returns why a try of a run may not submit a job; nil: it may, or the job is of no run.
func (t *Table) MaySubmit(s *step.Step, key *wire.RunKey, user string) error {
	if key == nil {
		return nil
	}
	i, k, err := t.lookUp(key, user)
	if err != nil {
		return err
	}
	x := t.list[i]
	switch r := x.Runs[k]; {
	case r.SubmittingTry != 0 && r.SubmittingTry != key.GetTry():
		return fmt.Errorf("run %d of schedule %q has submitted %v by another start of its command: leave it to that", r.Number, x.Name, scheduler.JobID(r.Jobs[0]))
	case wire.RunOver(r.State):
		return fmt.Errorf("run %d of schedule %q has ended, it %s: its command is too late", r.Number, x.Name, wire.RunStateName(r.State))
	case len(r.Jobs) >= s.Set.Schedules.JobsMax:
		return fmt.Errorf("run %d of schedule %q has submitted %d jobs, which is the limit (core.schedules.jobsMax)", r.Number, x.Name, len(r.Jobs))
	}
	return nil
}

// Submitted records a job of a run, of which MaySubmit had no objection. It returns the key with the
// schedule's name; nil: the job is of no run.
func (t *Table) Submitted(s *step.Step, key *wire.RunKey, job scheduler.JobID) *wire.RunKey {
	if key == nil {
		return nil
	}
	i, found := t.find(key.GetSchedule())
	if !found {
		panic(errors.New("core: a job of a schedule that is not there"))
	}
	x := t.edit(i)
	r := x.Runs[slices.IndexFunc(x.Runs, func(r *wire.Run) bool { return names(key, x, r) })]
	r.SubmittingTry = key.GetTry()
	r.Jobs = append(r.Jobs, uint64(job))
	if r.State == wire.RunState_RUN_STATE_WAITING { // its runner was given up, and its command was not over
		r.State = wire.RunState_RUN_STATE_RUNNING
		t.until(s, x, r, s.Now.Add(s.Set.Schedules.Lease))
	}
	return &wire.RunKey{Schedule: x.Id, Run: r.Number, Try: key.GetTry(), Term: key.GetTerm(), Name: x.Name}
}
