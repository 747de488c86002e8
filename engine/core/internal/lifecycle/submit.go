package lifecycle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/auth/access"
	"github.com/hamadryad/hamadryad/engine/core/internal/ids"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// ReserveID reserves a job id. No other state of the job exists yet.
func (ad *Admission) ReserveID(m *wire.Prepare) {
	ad.ExpireReservedIDs()
	if ad.state.ReservedIDs.Len() >= ad.step.Set.PreparedMax {
		ad.step.Reply(m.GetClient(), 0, &wire.Failure{
			Kind:    wire.ErrorKind_ERROR_KIND_RESOURCE,
			Message: fmt.Sprintf("%d jobs were announced and not submitted, which is the limit: try again later", ad.state.ReservedIDs.Len()),
		})
		return
	}
	owner := m.GetPrincipal().GetName()
	if n := ad.state.ReservedIDs.OwnedBy(owner); n >= ad.step.Set.PreparedUserMax { // one user must not take all
		ad.step.Reply(m.GetClient(), 0, &wire.Failure{
			Kind:    wire.ErrorKind_ERROR_KIND_RESOURCE,
			Message: fmt.Sprintf("%d jobs were announced by user %q and not submitted, which is the limit: submit them, or try again later", n, owner),
		})
		return
	}
	if ad.ids.TooManyJobs(ad.step.Now) {
		ad.step.Reply(m.GetClient(), 0, &wire.Failure{
			Kind:    wire.ErrorKind_ERROR_KIND_RESOURCE,
			Message: fmt.Sprintf("more than %d jobs a second were announced: try again later", ids.JobsPerSecond),
		})
		return
	}
	id := ad.ids.NextJob()
	ad.state.ReservedIDs.Reserve(id, owner, ad.step.Now)
	ad.step.SetTimer(ad.step.Set.PreparedFor, step.TimerReservedIDs, 0)
	ad.step.Reply(m.GetClient(), id, nil)
}

// ExpireReservedIDs forgets reserved ids that were not submitted in time.
func (ad *Admission) ExpireReservedIDs() {
	ad.state.ReservedIDs.Expire(ad.step.Now, ad.step.Set.PreparedFor)
}

// Submit accepts a job, or refuses it with the reason.
func (ad *Admission) Submit(m *wire.Submit) {
	id := scheduler.JobID(m.GetJob())
	if err := ad.mayTake(id, m.GetSpec().GetPrincipal()); err != nil {
		ad.step.Reply(m.GetClient(), id, step.Denied(err))
		return
	}
	if ad.submittedBefore(id, m.GetClient()) {
		return
	}
	if !ad.state.ReservedIDs.Remove(id) {
		f := ad.Lost(id)
		if f == nil {
			f = step.Invalid(fmt.Sprintf("%s was not announced, or too long ago: prepare it again", id))
		}
		ad.step.Reply(m.GetClient(), id, f)
		return
	}
	if err := ad.maySubmit(m.GetSpec()); err != nil {
		ad.step.Reply(m.GetClient(), id, step.Denied(err))
		return
	}
	j, err := ad.newJob(id, m.GetSpec())
	if err == nil {
		err = ad.proved(m.GetSpec().GetPrincipal())
	}
	if err == nil {
		err = ad.deadlinePast(m.GetSpec().GetLimits())
	}
	if err == nil && ad.state.Jobs.Len() >= ad.step.Set.JobsMax {
		err = fmt.Errorf("%d jobs run or wait, which is the limit: try again later", ad.state.Jobs.Len())
	}
	if err == nil {
		err = ad.userJobs(m.GetSpec().GetPrincipal().GetName())
	}
	if err == nil {
		err = ad.withinUserLimit(j)
	}
	if err == nil {
		err = ad.schedules.MaySubmit(ad.step, m.GetSpec().GetRun(), m.GetSpec().GetPrincipal().GetName())
	}
	var others []scheduler.JobID
	if err == nil {
		others, err = ad.unmet(m)
	}
	if err != nil {
		ad.step.Reply(m.GetClient(), id, unsound(id, m.GetSpec(), err))
		return
	}
	j.Submission.Await(m.GetClient())
	ad.state.AddJob(j)
	j.Spec.Run = ad.schedules.Submitted(ad.step, m.GetSpec().GetRun(), id)
	ad.state.Changes.MarkJob(j)
	ad.watchDeadline(j)
	if len(others) > 0 {
		ad.wait(j, others)
		return
	}
	ad.askAdmission(j)
}

// CheckSubmission returns why a submission under a reserved id is refused, as far as the caller,
// the submission and the settings decide it; nil: they allow it. Submit checks the same, and all
// other conditions. A component that prepares a submission calls this first, to fail early.
func (ad *Admission) CheckSubmission(id scheduler.JobID, spec *wire.JobSpec) *wire.Failure {
	if err := cmp.Or(ad.mayTake(id, spec.GetPrincipal()), ad.maySubmit(spec)); err != nil {
		return step.Denied(err)
	}
	if err := cmp.Or(checkSpec(&ad.step.Set, spec), ad.proved(spec.GetPrincipal()), ad.deadlinePast(spec.GetLimits())); err != nil {
		return unsound(id, spec, err)
	}
	return nil
}

// userJobs refuses a job of a user that has as many jobs as it may.
func (ad *Admission) userJobs(user string) error {
	has, most := ad.state.UserJobs(user), ad.step.Set.UserLimits.Of(user).Jobs
	if most > 0 && has >= most {
		return fmt.Errorf("user %q has %d jobs that run or wait, and may have %d (core.userLimits): wait until one has ended", user, has, most)
	}
	return nil
}

// withinUserLimit refuses a job with a bundle that needs more than its user may hold at all.
func (ad *Admission) withinUserLimit(j *state.Job) error {
	user := j.Spec.GetPrincipal().GetName()
	limit := ad.step.Set.UserLimits.LimitOf(user)
	if limit.IsZero() {
		return nil
	}
	for _, s := range j.Shapes {
		b := &j.Bundles[s.Bundle]
		if need := b.Usage(); !limit.Covers(need) {
			return fmt.Errorf("stage %q: what starts together of it needs %v, and user %q may hold %v at one time (core.userLimits): ask for less, or for a higher limit",
				j.Stages[b.StageOf(0)].Name(), limit.Bounds(need), user, limit)
		}
	}
	return nil
}

// unsound returns the failure of a submission that can't be carried out, or that asks for more than
// its submitter may.
func unsound(id scheduler.JobID, spec *wire.JobSpec, err error) *wire.Failure {
	if errors.As(err, new(*access.Refusal)) {
		return step.Denied(err)
	}
	return step.Invalid(fmt.Sprintf("%s %q: %v", id, spec.GetName(), err))
}

// proved returns why a principal's submission is not examined, nil when it is. The manager's shell
// asks the policy's authenticator before the core knows of a job; this is for jobs from before
// there was an authenticator.
func (ad *Admission) proved(p *wire.Principal) error {
	if ad.policy.Last.Authenticates() && (p.GetProof() == "" || p.GetProof() == scheduler.Unproven) {
		return errors.New("the site's policy lets nobody submit without a proof of who it is: try again")
	}
	return nil
}

// submittedBefore answers a client that lost the answer and submits again.
func (ad *Admission) submittedBefore(id scheduler.JobID, client uint64) bool {
	if j := ad.state.Jobs.Get(id); j != nil {
		if j.Phase() != state.JobPendingAdmission || j.Submission.Accepted() {
			ad.step.Reply(client, id, nil)
			return true
		}
		ad.step.Reply(j.Submission.Await(client), id, &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: "the submission was made again"})
		return true
	}
	e := ad.state.Ended.Get(id)
	if e != nil {
		ad.step.Reply(client, id, e.Refused)
	}
	return e != nil
}

// newJob checks a submission and makes its job, in no phase yet.
func (ad *Admission) newJob(id scheduler.JobID, spec *wire.JobSpec) (*state.Job, error) {
	d := ad.drafts[spec]
	if d == nil {
		d = NewDraft(ad.step.Set, spec, ad.state.Graphs())
	}
	if d.err != nil {
		return nil, d.err
	}
	j := d.job
	j.Submit(id, ad.ids.NextBundles(len(j.Bundles)), ad.step.Now)
	return j, nil
}

func checkSpec(s *step.Settings, spec *wire.JobSpec) error {
	l := s.Graph
	for _, n := range []struct{ what, value string }{
		{"name", spec.GetName()}, {"pool", spec.GetPool()}, {"user's name", spec.GetPrincipal().GetName()},
	} {
		if len(n.value) > l.NameBytes {
			return fmt.Errorf("the %s has %d bytes, at most %d are allowed: shorten it", n.what, len(n.value), l.NameBytes)
		}
	}
	if spec.GetName() == "" {
		return fmt.Errorf("the job has no name: give it one")
	}
	if n := len(spec.GetOutputs()); n > outputsMax {
		return fmt.Errorf("the job publishes %d folders, at most %d are allowed: put some into one", n, outputsMax)
	}
	for i, o := range spec.GetOutputs() {
		if o == "" || slices.Index(spec.Outputs, o) != i {
			return fmt.Errorf("the output folder %q is empty or named twice: name each once", o)
		}
	}
	if err := cmp.Or(checkLimits(spec.GetLimits()), checkAfter(spec.GetAfter())); err != nil {
		return err
	}
	if err := plan.CheckSecret(spec.GetFolders().GetSecret()); err != nil {
		return err
	}
	if n := len(spec.GetFolders().GetOwners()); n > ownersMax {
		return fmt.Errorf("the job's folders belong to %d users, at most %d are allowed", n, ownersMax)
	}
	for i, p := range spec.GetProperties() {
		if p == nil || i > 0 && spec.Properties[i-1].GetName() >= p.Name {
			return fmt.Errorf("property %d is out of order or named twice: list each once, in order of name", i)
		}
	}
	return nil
}

// outputsMax bounds the folders that one job publishes. ownersMax bounds their owners: a user
// has one name in each store.
const (
	outputsMax = 1000
	ownersMax  = 16
)

// checkKinds refuses slot kinds that the site does not declare. For a stage that prefers a declared
// kind, that kind suffices.
func checkKinds(s *step.Settings, g *wire.Graph) error {
	for _, m := range g.Stages {
		if kind := graph.KindOf(m); !s.TakesKind(kind) && (m.PreferKind == "" || !s.TakesKind(m.PreferKind)) {
			return fmt.Errorf("stage %q needs slots of kind %q, which nobody has: this site has %v", m.Name, kind, s.Kinds)
		}
	}
	return nil
}

// admit admits a job, and makes it known to the policy.
func (ad *Admission) admit(j *state.Job) {
	j.Enter(state.JobRunning)
	if b := j.LastBundle(); b != nil {
		ad.state.AssignID(b)
	}
	ad.step.Reply(j.Submission.Admit(ad.step.Now), j.ID, nil)
	ad.state.Changes.MarkJob(j)
	ad.jobs.ChooseKinds(j)
	ad.policy.NotifyJob(j.ID, scheduler.JobSubmitted{At: ad.step.Now, Job: j.ForPolicy()})
	if j.User().Limited() {
		ad.events.NotifyUserLimit(j)
	}
	ad.checkPlaceableOf(j, map[string]bool{})
	ad.jobs.Open(j)
}

func (ad *Admission) noJob(id scheduler.JobID) *wire.Failure {
	if ad.endedJob(id) != nil {
		return step.Invalid(fmt.Sprintf("%s has ended", id))
	}
	if f := ad.Lost(id); f != nil {
		return f
	}
	return step.Invalid(fmt.Sprintf("there is no %s", id))
}

// endedJob is the summary of an ended job that is not forgotten yet; nil: there is none.
func (ad *Admission) endedJob(id scheduler.JobID) *wire.JobSummary {
	if e := ad.state.Ended.Get(id); e != nil {
		return e.Status.Summary
	}
	return nil
}

// KillJob ends a job, or elements of a job array, at a person's request.
func (ad *Admission) KillJob(m *wire.KillJob) {
	id := scheduler.JobID(m.GetJob())
	if err := ad.mayKill(id, m.GetPrincipal()); err != nil {
		ad.step.Reply(m.GetClient(), id, step.Denied(err))
		return
	}
	if len(m.GetElements()) == 0 && ad.state.ReservedIDs.Remove(id) {
		ad.step.Reply(m.GetClient(), id, nil)
		return
	}
	j := ad.state.Jobs.Get(id)
	if j == nil {
		ad.step.Reply(m.GetClient(), id, ad.noJob(id))
		return
	}
	if len(m.GetElements()) > 0 {
		ad.killElements(j, m)
		return
	}
	before := wire.StateName(j.Summary().State)
	switch {
	case j.Phase() == state.JobPendingAdmission && !j.Submission.Accepted():
		ad.turnAway(j, ad.step.Shorten(fmt.Sprintf("killed by %s: %s", m.GetPrincipal().GetName(), m.GetReason())))
	case !j.Ends():
		reason := "killed by " + m.GetPrincipal().GetName()
		if m.GetReason() != "" {
			reason += ": " + m.GetReason()
		}
		ad.state.NoteJob(j, reason)
		if why := (&wire.Failure{Message: reason}); j.BeforeAdmission() {
			ad.endUnadmitted(j, scheduler.JobKilled, why)
		} else {
			ad.jobs.EndJob(j, scheduler.JobKilled, why)
		}
	}
	ad.step.ReplyChanged(m.GetClient(), id, before, "killed")
}

// Lost returns why an earlier life of the manager may have known an unknown job; nil when none can
// have given its id. An id that was reserved in an earlier life, and that a client considers
// submitted, counts as lost.
func (ad *Admission) Lost(id scheduler.JobID) *wire.Failure {
	announced := ad.state.ReservedIDs.ReservedBefore(id, ad.ids.Began())
	if ad.state.Jobs.Get(id) != nil || !announced && !ad.ids.LostJob(uint64(id)) {
		return nil
	}
	return lostJob(id)
}

func lostJob(id scheduler.JobID) *wire.Failure {
	return &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: fmt.Sprintf(
		"the manager knows nothing of %v. Its number lies where the manager went on after it was killed: most numbers there were never given. "+
			"If it was submitted, the event log lost the records of it, which were on disk, or an old copy of it was put back: "+
			"what ran of it was ended, so submit it again", id)}
}

// Losses are the job numbers that earlier lives may have given and whose records the log lost. They
// do not change during a life. Safe for concurrent use.
type Losses struct{ of ids.IDs }

// Losses returns them, once this life has begun.
func (ad *Admission) Losses() *Losses { return &Losses{ad.ids.Clone()} }

// Of is Lost for a job without a reserved id.
func (l *Losses) Of(id scheduler.JobID) *wire.Failure {
	if !l.of.LostJob(uint64(id)) {
		return nil
	}
	return lostJob(id)
}
