package lifecycle

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// An element of a job array that has used its attempts, or was killed, is given up, and its job
// goes on. The job ends when every element has ended, and fails if one was given up. Its outputs
// have the files of the others.

// failElement makes an element fail: its other attempts are stopped, and it is given up. It says
// whether the bundle is an element. The failure's message names it.
func (js *Jobs) failElement(b *state.Bundle, f *wire.Failure) bool {
	j := b.Job
	if !j.IsElement(b) {
		return false
	}
	f = proto.CloneOf(f)
	f.Message = js.step.Shorten(fmt.Sprintf("%s %s", j.ElementName(b), f.Message))
	if j.FailElement(b, f) {
		js.state.NoteJob(j, f.Message)
	}
	js.endElement(b, "its element is given up")
	return true
}

// endElement stops the attempts of an element that is to end, and gives it up if it has none. An
// attempt with the commit grant goes on, as its files may be written already.
func (js *Jobs) endElement(b *state.Bundle, why string) {
	if len(b.Attempts()) == 0 {
		js.giveUp(b)
		return
	}
	for _, r := range b.Attempts() {
		if !r.Granted() {
			js.dispatch.StopBundleAttempt(r, scheduler.Killed, why, 0)
		}
	}
}

// giveUp ends an element without live attempts, without success. The caller checks whether its job
// is over.
func (js *Jobs) giveUp(b *state.Bundle) {
	j := b.Job
	if b.Phase() == state.BundleReady {
		js.bundles.Withdraw(b)
	}
	j.StoreRoom.Forget(b.Index)
	b.TryStoreRoom()
	j.GiveUp(b, js.step.Now)
	js.step.Stats.GivenUp++
	js.events.Notify(b, scheduler.BundleGivenUp{At: js.step.Now, Job: j.ID, Bundle: b.ID(), Stage: scheduler.StageID(j.Elements.Stage()), GivenUp: true})
	js.state.Changes.MarkJob(j)
	js.bundles.offerNext(j)
}

// SweepElements stops, gives up or tries again the elements that people asked for, as far as the
// step's budget goes.
func (js *Jobs) SweepElements(j *state.Job) {
	for j.Elements.Pending() && !js.policy.Backlogged(js.step.Set.RoundEvents) && js.step.ConsumeBudget(step.WorkClose) {
		switch b := j.NextToSweep(); {
		case !j.Slices.IsOpen(b): // opening it gives it up
		case b.Phase().Over() && !b.Element.Ends():
			if b.Phase() == state.BundleGivenUp {
				js.tryAgain(b)
			}
		case b.Element.Ends() && !b.Phase().Over():
			js.endElement(b, "its element was killed")
		}
	}
	js.state.RequeueJob(j)
	js.checkDone(j)
}

// tryAgain makes a given-up element run again.
func (js *Jobs) tryAgain(b *state.Bundle) {
	j := b.Job
	j.TryAgain(b, js.step.Now)
	js.events.Notify(b, scheduler.BundleGivenUp{At: js.step.Now, Job: j.ID, Bundle: b.ID(), Stage: scheduler.StageID(j.Elements.Stage())})
	js.state.Changes.MarkJob(j)
	js.bundles.Recheck(b)
}

// killElements makes elements of a job array end at a person's request.
func (ad *Admission) killElements(j *state.Job, m *wire.KillJob) {
	positions, err := j.ElementsOfRanges(m.GetElements())
	switch {
	case err != nil:
	case j.Ends() || j.Phase() == state.JobPublishing:
		err = fmt.Errorf("%s ends, and all of its elements have ended or are being stopped", j.ID)
	case j.KillElements(positions) == 0:
		err = fmt.Errorf("%s%s: they have ended, or are being stopped", j.ID, elementsText(m.GetElements()))
	}
	if err != nil {
		ad.step.Reply(m.GetClient(), j.ID, step.Invalid(err.Error()))
		return
	}
	reason := fmt.Sprintf("elements %s killed by %s", elementsText(m.GetElements()), m.GetPrincipal().GetName())
	if m.GetReason() != "" {
		reason += ": " + m.GetReason()
	}
	ad.state.NoteJob(j, reason)
	ad.state.RequeueJob(j)
	ad.step.ReplyChanged(m.GetClient(), j.ID, "", "killed "+elementsText(m.GetElements()))
}

// RetryElements makes given-up elements of a job array run again at a person's request. A request
// that is refused changes nothing.
func (ad *Admission) RetryElements(m *wire.RetryElements) {
	id := scheduler.JobID(m.GetJob())
	if err := ad.mayRetry(id, m.GetPrincipal()); err != nil {
		ad.step.Reply(m.GetClient(), id, step.Denied(err))
		return
	}
	j := ad.state.Jobs.Get(id)
	if j == nil {
		ad.step.Reply(m.GetClient(), id, ad.noJob(id))
		return
	}
	what, err := retryElements(j, m.GetElements())
	if err != nil {
		ad.step.Reply(m.GetClient(), id, step.Invalid(err.Error()))
		return
	}
	ad.state.NoteJob(j, fmt.Sprintf("elements %s are tried again for %s", what, m.GetPrincipal().GetName()))
	ad.state.RequeueJob(j)
	ad.step.ReplyChanged(m.GetClient(), id, "", "tried again "+what)
}

// retryElements makes elements of a job run again, those that are given up if none is named, and
// describes them.
func retryElements(j *state.Job, ranges []*wire.ElementRange) (what string, err error) {
	positions, err := j.ElementsOfRanges(ranges)
	if err != nil {
		return "", err
	}
	if j.Phase() != state.JobRunning {
		return "", fmt.Errorf("%s does not run, or has come to its end: only elements of a running job are tried again", j.ID)
	}
	what = elementsText(ranges)
	if len(ranges) == 0 {
		what = "that were given up"
		if positions = j.GivenUpElements(); len(positions) == 0 {
			return "", fmt.Errorf("no element of %s failed or was killed", j.ID)
		}
	}
	return what, j.RetryElements(positions)
}

// elementsText writes ranges of indices, which have been checked.
func elementsText(ranges []*wire.ElementRange) string {
	set, _ := wire.ElementsOf(ranges)
	return "[" + set.Short() + "]"
}

// offerNext makes elements ready that waited for their turn.
func (bs *Bundles) offerNext(j *state.Job) {
	if j.Phase() != state.JobRunning {
		return
	}
	for b := j.NextForTurn(); b != nil; b = j.NextForTurn() {
		bs.MakeReady(b)
	}
}

// workOver ends a job whose groups have all ended. It fails if elements of it were given up.
func (js *Jobs) workOver(j *state.Job) {
	f := j.ElementsFailure()
	if n := j.Unfinished(); f == nil && n > 0 && j.Elements.Len() > 0 {
		f = &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: fmt.Sprintf("the ends of %d elements are unknown, since the manager's log lost records", n)}
	}
	if f != nil {
		j.Fail(f)
		js.jobOver(j, scheduler.JobFailed)
		return
	}
	js.jobOver(j, scheduler.JobSucceeded)
}
