package lifecycle

import (
	"errors"
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// limitTimerMax bounds how long the timer of a limit runs at once. Nothing cancels timers, so one of
// a job that has ended would stay until the limit.
const limitTimerMax = 10 * time.Minute

// timeLimitMax bounds time limits: ten years.
const timeLimitMax = 10 * 365 * 24 * time.Hour

// checkLimits refuses a submission whose limits can't be kept.
func checkLimits(l *wire.JobLimits) error {
	switch {
	case l.GetTimeLimitNs() < 0 || l.GetTimeLimitNs() > int64(timeLimitMax):
		return fmt.Errorf("the time limit is %v: it has to be from 0, which is none, to %v", time.Duration(l.GetTimeLimitNs()), timeLimitMax)
	case l.GetDeadline() < 0:
		return errors.New("the deadline lies before 1970")
	case l.GetFailAtDeadline() && l.GetDeadline() == 0:
		return errors.New("the job is to fail at its deadline and has none: set one")
	}
	return nil
}

// deadlinePast refuses a submission whose deadline has passed.
func (ad *Admission) deadlinePast(l *wire.JobLimits) error {
	if at := scheduler.Time(l.GetDeadline()); at != 0 && at <= ad.step.Now {
		return fmt.Errorf("the deadline %s has passed: set a later one", instant(at))
	}
	return nil
}

// watchDeadline sets the timer of a job that fails at its deadline. It returns false for a deadline
// that is reached, and for a job without one.
func (ad *Admission) watchDeadline(j *state.Job) bool {
	return j.Limits().GetFailAtDeadline() && setLimitTimer(ad.step, j.Deadline(), step.TimerDeadline, j.ID, &j.Submission.Timers.Deadline)
}

// DeadlineDue fails a job at its deadline. A job that still waits for its admission is refused. One
// that publishes goes on: its groups have finished, and an end between two of its outputs would
// leave half of them.
func (ad *Admission) DeadlineDue(id scheduler.JobID) {
	j := ad.state.Jobs.Get(id)
	if j == nil || !mayEndForLimit(j) || ad.step.Now < j.Submission.Timers.Deadline || !j.Limits().GetFailAtDeadline() || ad.watchDeadline(j) {
		return
	}
	if j.Phase() == state.JobWaiting {
		ad.endUnadmitted(j, scheduler.JobFailed, &wire.Failure{Message: fmt.Sprintf("its deadline %s passed while it waited for %s", instant(j.Deadline()), othersOf(j))})
		return
	}
	if j.Phase() == state.JobPendingAdmission {
		ad.turnAway(j, fmt.Sprintf("its deadline %s passed before the policy admitted it", instant(j.Deadline())))
		return
	}
	ad.jobs.EndJob(j, scheduler.JobFailed, &wire.Failure{Message: fmt.Sprintf("its deadline %s passed before it was over", instant(j.Deadline()))})
}

// mayEndForLimit says whether a limit may still end the job.
func mayEndForLimit(j *state.Job) bool { return !j.Ends() && j.Phase() != state.JobPublishing }

// started notes a launch of a job. With the first launch its time limit begins.
func (js *Jobs) started(j *state.Job) {
	if j.Submission.Start(js.step.Now) {
		js.watchTimeLimit(j)
	}
}

// watchTimeLimit sets the timer of the time limit of a job that has started. It returns false for a
// limit that is reached, and for a job without one.
func (js *Jobs) watchTimeLimit(j *state.Job) bool {
	return j.TimeLimit() > 0 && setLimitTimer(js.step, j.Submission.Started().Add(j.TimeLimit()), step.TimerTimeLimit, j.ID, &j.Submission.Timers.TimeLimit)
}

// TimeLimitDue fails a job that has run for its time limit, unless it publishes, as DeadlineDue.
func (js *Jobs) TimeLimitDue(id scheduler.JobID) {
	j := js.state.Jobs.Get(id)
	if j == nil || !mayEndForLimit(j) || js.step.Now < j.Submission.Timers.TimeLimit || j.TimeLimit() == 0 || js.watchTimeLimit(j) {
		return
	}
	js.EndJob(j, scheduler.JobFailed, &wire.Failure{Message: fmt.Sprintf("it ran for its time limit of %v and was not over: submit it again with a longer one", j.TimeLimit())})
}

// setLimitTimer sets the timer for a limit that lies ahead, and records when it fires. It returns
// false for a limit that is reached.
func setLimitTimer(s *step.Step, end scheduler.Time, kind step.TimerKind, id scheduler.JobID, fires *scheduler.Time) bool {
	left := end.Sub(s.Now)
	if left <= 0 {
		return false
	}
	left = min(left, limitTimerMax)
	*fires = s.Now.Add(left)
	s.SetTimer(left, kind, uint64(id))
	return true
}

// instant is a time for people.
func instant(t scheduler.Time) string { return time.Unix(0, int64(t)).UTC().Format(time.RFC3339) }
