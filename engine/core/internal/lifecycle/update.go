package lifecycle

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// UpdateJob changes a job's pool, priority or limits. A request that is refused changes nothing.
func (ad *Admission) UpdateJob(m *wire.UpdateJob) {
	id := scheduler.JobID(m.GetJob())
	if err := ad.mayUpdate(m); err != nil {
		ad.step.Reply(m.GetClient(), id, step.Denied(err))
		return
	}
	j := ad.state.Jobs.Get(id)
	if j == nil {
		ad.step.Reply(m.GetClient(), 0, ad.noJob(id))
		return
	}
	if len(m.GetPool()) > ad.step.Set.Graph.NameBytes {
		ad.step.Reply(m.GetClient(), j.ID, step.Invalid(fmt.Sprintf("the pool's name has %d bytes, at most %d are allowed: shorten it", len(m.GetPool()), ad.step.Set.Graph.NameBytes)))
		return
	}
	limits, err := ad.newLimits(j, m.GetLimits())
	if err != nil {
		ad.step.Reply(m.GetClient(), j.ID, step.Invalid(fmt.Sprintf("%s: %v", j.ID, err)))
		return
	}
	before := changeable(j, m)
	if m.Pool != nil {
		j.Submission.MoveTo(*m.Pool)
		ad.state.NoteJob(j, fmt.Sprintf("moved to pool %q by %s", *m.Pool, m.GetPrincipal().GetName()))
	}
	if m.Priority != nil {
		j.Submission.Reprioritize(scheduler.Priority(*m.Priority))
		ad.state.NoteJob(j, fmt.Sprintf("priority set to %s by %s", j.Submission.Priority(), m.GetPrincipal().GetName()))
	}
	if limits != nil {
		ad.limit(j, limits)
		ad.state.NoteJob(j, fmt.Sprintf("set to %s by %s", limitsOf(j), m.GetPrincipal().GetName()))
	}
	if j.KnownToPolicy() {
		ad.policy.NotifyJob(j.ID, scheduler.JobUpdated{
			At: ad.step.Now, Job: j.ID, Pool: j.Submission.Pool(), Priority: j.Submission.Priority(), TimeLimit: j.TimeLimit(), Deadline: j.Deadline(), Properties: j.Properties(),
		})
	}
	ad.state.Changes.MarkJob(j)
	ad.step.ReplyChanged(m.GetClient(), j.ID, before, changeable(j, m))
}

// changeable is the part of a job that a request changes, for the audit.
func changeable(j *state.Job, m *wire.UpdateJob) string {
	text := fmt.Sprintf("pool %q, priority %s", j.Submission.Pool(), j.Submission.Priority())
	if m.GetLimits() != nil {
		text += ", " + limitsOf(j)
	}
	return text
}

// limitsOf describes a job's limits.
func limitsOf(j *state.Job) string {
	limit, deadline := "no time limit", "no deadline"
	if d := j.TimeLimit(); d > 0 {
		limit = fmt.Sprintf("a time limit of %v", d)
	}
	if at := j.Deadline(); at != 0 {
		deadline = "a deadline " + instant(at)
		if j.Limits().GetFailAtDeadline() {
			deadline += " at which it fails"
		}
	}
	return limit + ", " + deadline
}

// newLimits returns a job's limits with a change; nil: nothing changes. It refuses limits that are
// over already: ending a job is what a kill is for.
func (ad *Admission) newLimits(j *state.Job, change *wire.JobLimitsChange) (*wire.JobLimits, error) {
	if change == nil {
		return nil, nil
	}
	if !mayEndForLimit(j) {
		return nil, fmt.Errorf("it ends or publishes, so no limit counts any more")
	}
	l := &wire.JobLimits{}
	if old := j.Limits(); old != nil {
		l = proto.CloneOf(old)
	}
	if change.TimeLimitNs != nil {
		l.TimeLimitNs = *change.TimeLimitNs
	}
	if change.Deadline != nil {
		l.Deadline, l.FailAtDeadline = *change.Deadline, l.FailAtDeadline && *change.Deadline != 0
	}
	if change.FailAtDeadline != nil {
		l.FailAtDeadline = *change.FailAtDeadline
	}
	if err := checkLimits(l); err != nil {
		return nil, err
	}
	if change.Deadline != nil || l.GetFailAtDeadline() {
		if err := ad.deadlinePast(l); err != nil {
			return nil, err
		}
	}
	if ran := ad.step.Now.Sub(j.Submission.Started()); change.TimeLimitNs != nil && j.Submission.Started() != 0 && l.TimeLimitNs > 0 && int64(ran) >= l.TimeLimitNs {
		return nil, fmt.Errorf("it has run for %v already: set a longer time limit, or kill it", ran.Truncate(time.Second))
	}
	return l, nil
}

// limit gives a job limits that newLimits has checked, and sets their timers.
func (ad *Admission) limit(j *state.Job, l *wire.JobLimits) {
	j.Submission.Limit(l)
	ad.watchDeadline(j)
	if j.Submission.Started() != 0 {
		ad.jobs.watchTimeLimit(j)
	}
}
