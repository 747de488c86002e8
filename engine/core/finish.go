package core

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// checkDone ends a job whose groups have all finished: at once, or by its last
// group that publishes. An attempt that lost against another of its bundle is waited for, so
// that nothing of a job runs when it has ended.
func (c *Core) checkDone(j *job) {
	if j.phase != jobRunning || j.unfinished > 0 || len(j.attempts) > 0 || j.opened < len(j.plan.Bundles) {
		return
	}
	if j.lastBundle() == nil {
		c.jobOver(j, scheduler.JobSucceeded)
		return
	}
	j.phase = jobPublishing
	c.noteWork(j) // readers of it may not have been told what they need no more
	c.makeReady(j.lastBundle())
}

// endJob begins the end of a job that failed or was killed: its attempts are
// stopped, then its traces are cleaned away.
func (c *Core) endJob(j *job, outcome scheduler.JobOutcome, f *wire.Failure) {
	if j.ends() {
		return
	}
	j.phase, j.outcome, j.failure, j.closed = jobEnding, outcome, f, 0
	c.capacity.ReleaseForJob(j.id)
	c.touch(j)
	c.stopAll(j)
}

// checkQuiet goes on with the end of a job of which nothing runs any more.
func (c *Core) checkQuiet(j *job) {
	if j.phase != jobEnding || len(j.attempts) > 0 || j.closed < len(j.bundles) {
		return
	}
	if j.lastBundle() == nil {
		c.jobOver(j, j.outcome)
		return
	}
	j.phase, j.tries = jobCleaning, 0
	c.step.After(c.step.Set.CleanMax, step.TimerClean, uint64(j.id))
	c.makeReady(j.lastBundle())
}

// lastFinished ends a job whose last group has published, kept or cleaned. What a
// publisher was granted may have been done before it was stopped: then the job has
// its output, whatever ended it.
func (c *Core) lastFinished(j *job, m *wire.AttemptEnded) {
	published := uniq(m.GetPublished(), len(j.spec.Outputs))
	if j.phase == jobPublishing || len(published) > 0 && len(published) == len(j.spec.Outputs) {
		switch {
		case j.unfinished > 0:
			c.noteJob(j, fmt.Sprintf("its outputs had been published before the manager's log lost records: %d of its groups are counted as unfinished, and the counters lack them",
				j.unfinished))
		case j.phase == jobCleaning:
			c.noteJob(j, "its outputs had been published before it ended")
		}
		j.stages[len(j.stages)-1].FinishGroups(1)
		j.tally.Finished(1)
		j.failure = nil
		c.jobOver(j, scheduler.JobSucceeded)
		return
	}
	for _, i := range published {
		j.failure = proto.CloneOf(j.failure)
		j.failure.Message += fmt.Sprintf("; %s had been published before and stays", j.spec.Outputs[i])
	}
	c.keepParts(j, published)
	c.jobOver(j, j.outcome)
}

// uniq returns numbers below a bound in order, each once.
func uniq(list []uint32, bound int) []uint32 {
	list = slices.DeleteFunc(slices.Clone(list), func(i uint32) bool { return int(i) >= bound })
	slices.Sort(list)
	return slices.Compact(list)
}

// keepParts says where the parts of a job are that could not be published, and how
// a person publishes them.
func (c *Core) keepParts(j *job, published []uint32) {
	if !j.keep {
		return
	}
	owner := plan.Owner{Cluster: plan.Cluster(c.step.Set.TokenSeed), Job: uint64(j.id)}
	for i, output := range j.spec.Outputs {
		if !slices.Contains(published, uint32(i)) {
			j.kept = append(j.kept, owner.Temporary(output))
		}
	}
	if len(j.kept) == 0 {
		return
	}
	j.failure = proto.CloneOf(j.failure)
	j.failure.Message += fmt.Sprintf("; all parts are ready and stay in %s: when that is mended, publish them with \"hamadryad publish %s\", or remove them",
		strings.Join(j.kept, " and "), strings.Join(j.kept, " "))
}

// cantPublish ends a job whose publishing failed for good. Its parts are ready, so
// they stay; what else it left is cleaned away.
func (c *Core) cantPublish(j *job, f *wire.Failure, message string) {
	j.keep = true
	c.endJob(j, scheduler.JobFailed, &wire.Failure{Kind: f.GetKind(), Message: message})
}

// lastRunOver decides what follows on a last group that did not come to its end.
func (c *Core) lastRunOver(b *bundle, r *run) {
	j := b.job
	inVain := r.failure != nil || r.lost != ""
	if inVain {
		j.tries++
	}
	kind := r.failure.GetKind()
	switch {
	case r.failure != nil && kind != wire.ErrorKind_ERROR_KIND_RESOURCE:
		b.failures++
	case inVain: // a launcher without room for it says nothing of the job
		b.losses++
	}
	switch {
	case j.phase == jobEnding:
		c.checkQuiet(j)
	case j.phase == jobCleaning && j.tries >= c.step.Set.CleanTries:
		c.leaveTraces(j, fmt.Sprintf("cleaning failed %d times: %s", j.tries, r.why()))
	case j.phase == jobCleaning:
		c.makeReady(b)
	case kind == wire.ErrorKind_ERROR_KIND_INVALID && !j.intent:
		c.endJob(j, scheduler.JobFailed, r.failure) // the parts do not fit together: nothing is worth keeping
	case kind == wire.ErrorKind_ERROR_KIND_OUTPUT, kind == wire.ErrorKind_ERROR_KIND_INVALID:
		c.cantPublish(j, r.failure, r.why())
	case inVain && (j.tries >= c.step.Set.PublishTries || !j.intent && (b.failures >= j.attemptsMax(&c.step.Set) || b.losses > c.step.Set.LostMax)):
		c.cantPublish(j, r.failure, fmt.Sprintf("publishing failed %d times, the last time: %s", j.tries, r.why()))
	case r.failure != nil, j.tries > 1 && inVain:
		c.publishLater(j, r.why())
	default:
		c.makeReady(b)
	}
}

// publishLater tries to publish again after a while.
func (c *Core) publishLater(j *job, why string) {
	wait := c.step.Set.PublishRetryAfter << min(j.tries-1, 30)
	if wait <= 0 || wait > c.step.Set.PublishRetryMax {
		wait = c.step.Set.PublishRetryMax
	}
	j.waitTill = c.step.Now.Add(wait)
	j.whyLater = fmt.Sprintf("publishing failed %d times, the last time: %s; it is tried again within %v, up to %d times", j.tries, why, wait, c.step.Set.PublishTries)
	c.step.After(wait, step.TimerPublish, uint64(j.id))
	c.touch(j)
}

func (r *run) why() string {
	if r.failure != nil {
		return r.failure.Message
	}
	return r.lost
}

func (c *Core) publishAgain(id scheduler.JobID) {
	if j := c.jobs.Get(id); j != nil && j.phase == jobPublishing && j.lastBundle().phase == bundleWaiting && c.step.Now >= j.waitTill {
		c.makeReady(j.lastBundle())
	}
}

func (c *Core) cleanTooLong(id scheduler.JobID) {
	j := c.jobs.Get(id)
	switch {
	case j == nil || j.phase != jobCleaning:
	case j.lastBundle().phase == bundleReady:
		c.withdraw(j.lastBundle())
		c.leaveTraces(j, fmt.Sprintf("its cleaning found no slot for %v", c.step.Set.CleanMax))
	default:
		c.step.After(c.step.Set.CleanMax, step.TimerClean, uint64(j.id))
	}
}

// leaveTraces ends a job whose temporary folders could not be deleted.
func (c *Core) leaveTraces(j *job, why string) {
	c.noteJob(j, why+": its temporary folders are left behind")
	c.step.Log(Warn, "a job's temporary folders are left behind", "job", j.id.String(), "reason", why)
	c.keepParts(j, nil)
	c.jobOver(j, j.outcome)
}

// jobOver takes a job out of the state; what is kept is its summary.
func (c *Core) jobOver(j *job, outcome scheduler.JobOutcome) {
	j.phase, j.outcome, j.closed = jobLeaving, outcome, 0
	c.capacity.ReleaseForJob(j.id)
	c.touch(j)
	c.leave(j)
}

// gone ends the last of a job.
func (c *Core) gone(j *job) {
	c.policy.TellJob(j.id, scheduler.JobFinished{At: c.step.Now, Job: j.id, Outcome: j.outcome})
	c.step.Stats.Jobs[j.outcome]++
	c.remember(j)
	if i, found := slices.BinarySearch(c.busy, j.id); found {
		c.busy = slices.Delete(c.busy, i, i+1)
	}
	c.jobs.Remove(j.id)
	c.touch(j)
}
