package lifecycle

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A submission may name other jobs that have to end before its own starts. The job is accepted at
// once, and the policy is not asked about it until all of them have ended as they should. Jobs can't
// wait for one another in a circle: a submission names only jobs that were submitted before it.

// checkAfter refuses a submission whose list of dependencies is wrong in itself.
func checkAfter(list []*wire.JobDependency) error {
	if len(list) > wire.AfterMax {
		return fmt.Errorf("the job waits for %d jobs, at most %d are allowed: have it wait for a job that waits for them", len(list), wire.AfterMax)
	}
	seen := make(map[uint64]bool, len(list))
	for _, d := range list {
		switch id := d.GetJob(); {
		case id == 0:
			return errors.New("the job waits for a job without a number: name each job that has to end first")
		case seen[id]:
			return fmt.Errorf("the job waits for %v twice: name it once", scheduler.JobID(id))
		default:
			seen[id] = true
		}
	}
	return nil
}

// unmet returns the dependencies of a submission that have not ended, ascending. The error says
// which one the job can't wait for, and why.
func (ad *Admission) unmet(m *wire.Submit) (others []scheduler.JobID, err error) {
	for _, d := range m.GetSpec().GetAfter() {
		id := scheduler.JobID(d.GetJob())
		s, err := ad.dependency(id, m)
		switch {
		case err != nil:
			return nil, err
		case !wire.JobOver(s.GetState()):
			others = append(others, id)
		case !d.GetAny() && s.GetState() != wire.JobState_JOB_STATE_SUCCEEDED:
			return nil, fmt.Errorf("%s: wait for any end of it (%v:any), or leave it out", notMet(id, s.GetState()), id)
		}
	}
	if n := ad.state.WaitingJobs(); len(others) > 0 && n >= ad.step.Set.JobsWaitingMax {
		return nil, fmt.Errorf("%d jobs wait for other jobs, which is the limit (core.jobsWaitingMax): try again later", n)
	}
	slices.Sort(others)
	return others, nil
}

// dependency returns the summary of a job that a submission waits for, if its submitter may look at
// that job. Ended jobs that the core has forgotten are those that the submission lists.
func (ad *Admission) dependency(id scheduler.JobID, m *wire.Submit) (s *wire.JobSummary, err error) {
	if j := ad.state.Jobs.Get(id); j != nil {
		s = j.Summary()
	} else if s = ad.endedJob(id); s == nil {
		i := slices.IndexFunc(m.GetEnded(), func(e *wire.JobSummary) bool { return e.GetJob() == uint64(id) && wire.JobOver(e.GetState()) })
		if i < 0 {
			return nil, ad.noDependency(id, scheduler.JobID(m.GetJob()))
		}
		s = m.Ended[i]
	}
	if rules := ad.step.Set.Access; rules != nil {
		err = rules.CheckRead(callerOf(m.GetSpec().GetPrincipal()), accessOf(s))
	}
	return s, err
}

// noDependency says why a job can't wait for an unknown one.
func (ad *Admission) noDependency(id, waits scheduler.JobID) error {
	switch {
	case id == waits:
		return fmt.Errorf("%v can't wait for itself: name another job", id)
	case ad.state.ReservedIDs.Has(id):
		return fmt.Errorf("it can't wait for %v, which was announced and not submitted: submit that first", id)
	}
	if f := ad.Lost(id); f != nil {
		return fmt.Errorf("it can't wait for %v: %s", id, f.GetMessage())
	}
	return fmt.Errorf("it can't wait for %v, which is not there: see \"hamadryad jobs --all\"", id)
}

// notMet says that a dependency ended, and not as it should.
func notMet(id scheduler.JobID, state wire.JobState) string {
	verb := "failed"
	if state == wire.JobState_JOB_STATE_KILLED {
		verb = "was killed"
	}
	return fmt.Sprintf("%v, which had to succeed first, %s", id, verb)
}

// wait makes a new job wait for others, and answers its submission.
func (ad *Admission) wait(j *state.Job, others []scheduler.JobID) {
	ad.state.Wait(j, others)
	ad.step.Reply(j.Submission.Accept(), j.ID, nil)
}

// othersOf names the jobs that a job waits for.
func othersOf(j *state.Job) string {
	switch ids := j.Dependencies.Unmet(); len(ids) {
	case 0:
		return "other jobs"
	case 1:
		return ids[0].String()
	default:
		return fmt.Sprintf("%v and %d other jobs", ids[0], len(ids)-1)
	}
}

// endDependencies tells the jobs that wait for a job that it has ended. Later steps go on with
// those whose wait is over.
func (b *base) endDependencies(of *state.Job) {
	for _, id := range b.state.Dependents(of.ID) {
		j, broken := b.state.Jobs.Get(id), ""
		if end := of.End.Outcome(); end != scheduler.JobSucceeded && !j.AnyEnd(of.ID) {
			broken = notMet(of.ID, outcomeState(end))
		}
		b.state.EndDependency(j, of.ID, broken)
	}
	b.state.ForgetDependents(of.ID)
}

func outcomeState(o scheduler.JobOutcome) wire.JobState {
	if o == scheduler.JobKilled {
		return wire.JobState_JOB_STATE_KILLED
	}
	return wire.JobState_JOB_STATE_FAILED
}

// EndWait goes on with a job whose wait for others is over: it asks for its admission, or fails it.
func (ad *Admission) EndWait(j *state.Job) {
	if !ad.step.ConsumeBudget(step.WorkOpen) {
		return
	}
	if why := j.Dependencies.Broken(); why != "" {
		ad.endUnadmitted(j, scheduler.JobFailed, &wire.Failure{Message: why})
		return
	}
	ad.state.StopWaiting(j)
	j.Enter(state.JobPendingAdmission)
	ad.state.RequeueJob(j)
	ad.state.Changes.MarkJob(j)
	ad.askAdmission(j)
}

// endUnadmitted ends an accepted job that was not admitted: no policy knows it, and its last group
// removes the folders that its submitter made.
func (ad *Admission) endUnadmitted(j *state.Job, outcome scheduler.JobOutcome, why *wire.Failure) {
	ad.state.StopWaiting(j)
	if b := j.LastBundle(); b != nil {
		ad.state.AssignID(b)
	}
	ad.jobs.EndJob(j, outcome, why)
}
