package lifecycle

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core/internal/dataflow"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// CommitBundleAttempt finishes a bundle with one of its attempts.
func (js *Jobs) CommitBundleAttempt(r *state.BundleAttempt) {
	b := r.Bundle
	j := b.Job
	b.DropAttempt(r)
	for _, other := range b.Attempts() {
		js.dispatch.StopBundleAttempt(other, scheduler.Killed, "another attempt finished first", 0)
	}
	wrote := writes(r.Commits())
	js.bundles.StoreTook(b, r.Attempts[0].Launcher.ID, wrote)
	old := b.Commit(r.Commits(), js.step.Now)
	js.resources.Reservations.ReleaseFor(b, b.Job.Ready.Len(), scheduler.ReservationNotReady)
	if b.Last() {
		js.lastFinished(j, b.LastCommits()[0].Report)
		return
	}
	j.KeepElement(b)
	j.FinishBundle(b)
	for i, k := range r.Commits() {
		var before *state.Commit
		if old != nil {
			before = old[i]
			// The file stays until the job ends, for readers that have begun.
			if l := js.state.Launchers.Get(before.Launcher); l != nil {
				l.Outputs.Drop(before.Attempt)
			}
		}
		js.keepOutputs(b, i, k, before)
		b.TrimReport(i)
		j.Stats.Accept(k.Report, +1)
		if before != nil {
			j.Stats.Accept(before.Report, -1)
		}
	}
	js.tryWaiting(j, wrote)
	js.bundles.offerNext(j)
	js.state.Changes.MarkJob(j)
	js.checkDone(j)
}

// writes reports whether a bundle wrote files of the job's outputs.
func writes(commits []*state.Commit) bool {
	return slices.ContainsFunc(commits, func(k *state.Commit) bool { return len(k.Report.GetFiles()) > 0 })
}

// keepOutputs makes a group's outputs to file channels known to their readers.
func (js *Jobs) keepOutputs(b *state.Bundle, i int, k, before *state.Commit) {
	j := b.Job
	var sizes map[dataflow.Key]*wire.StoredOutput
	if n := len(k.Report.GetStored()); n > 0 {
		sizes = make(map[dataflow.Key]*wire.StoredOutput, n)
	}
	for _, s := range k.Report.GetStored() {
		sizes[dataflow.Key{Conn: int32(s.GetConnection()), From: int32(s.GetFrom())}] = s
	}
	for _, x := range b.NodesWithFiles(i) {
		n := j.Plan.Node(x)
		for _, conn := range j.Inputs.Files.OutOf(n.Stage) {
			key := dataflow.Key{Conn: conn, From: int32(n.Index)}
			s := sizes[key]
			js.bundles.StoredOutput(j, key, max(s.GetBytes(), 0), s.GetPartitionBytes(), k.Launcher, before)
			js.dispatch.Supply(j, key)
		}
	}
	js.countReads(b, i, k.Work)
}

// countReads sums the bytes read by locality. An attempt that reads stored files, not only
// channels, counts for the level that gave it most.
func (js *Jobs) countReads(b *state.Bundle, i int, w scheduler.Work) {
	j := b.Job
	most := 0
	j.Stats.Read(w)
	for level, n := range w.Read {
		js.step.Stats.Read[level] += uint64(n)
		if n > w.Read[most] {
			most = level
		}
	}
	if w.Read[most] == 0 {
		return
	}
	for _, x := range b.Nodes(i) {
		if len(j.Plan.Graph.Stages[j.Plan.Node(x).Stage].Inputs) > 0 {
			j.Stats.Local(most)
			js.step.Stats.Local[most]++
			return
		}
	}
}

// BundleAttemptEnded ends a bundle attempt that did not commit, when none of its attempts is live.
func (js *Jobs) BundleAttemptEnded(r *state.BundleAttempt) {
	b := r.Bundle
	j := b.Job
	if r.Live() > 0 || !b.HasAttempt(r) {
		return
	}
	b.DropAttempt(r)
	for _, k := range r.Commits() {
		if k != nil {
			js.dispatch.DropOutput(k, j)
		}
	}
	wasRunning := b.Phase() == state.BundleRunning // else another attempt at the bundle finished
	if wasRunning && len(b.Attempts()) == 0 {
		b.Enter(state.BundleWaiting)
	}
	switch {
	case b.Last() && wasRunning:
		js.lastAttemptEnded(b, r)
	case j.Ends():
		js.checkQuiet(j)
	case !wasRunning:
		js.bundles.Recheck(b)
		js.checkDone(j)
	case b.Element.Ends():
		if len(b.Attempts()) == 0 {
			js.giveUp(b)
		}
		js.checkDone(j)
	case js.countFailure(b, r):
		js.checkDone(j) // of a job array, whose element was given up
	case len(b.Attempts()) == 0:
		js.bundles.Recheck(b)
		js.bundles.offerNext(j) // if it waits for something
	}
}

// hopeless are failures that a retry can't help.
var hopeless = []wire.ErrorKind{wire.ErrorKind_ERROR_KIND_INVALID, wire.ErrorKind_ERROR_KIND_OUTPUT, wire.ErrorKind_ERROR_KIND_DENIED}

// countFailure counts the reason for a bundle attempt's end. At the limit it fails the job, or the
// element of a job array. It reports whether it did.
func (js *Jobs) countFailure(b *state.Bundle, r *state.BundleAttempt) bool {
	f := r.Failure()
	switch {
	case f != nil && r.Elsewhere():
		if b.Tries.CountLoss() > js.step.Set.LostMax {
			js.failLost(b, f.Message)
			return true
		}
	case f != nil && f.Kind == wire.ErrorKind_ERROR_KIND_INVALID && js.failElement(b, withPrefix("failed: ", f)):
		return true
	case f != nil && slices.Contains(hopeless, f.Kind):
		js.EndJob(b.Job, scheduler.JobFailed, f)
		return true
	case f != nil && f.Kind == wire.ErrorKind_ERROR_KIND_FULL:
		return len(b.Attempts()) == 0 && js.waitForRoom(b, f)
	case f != nil && f.Kind != wire.ErrorKind_ERROR_KIND_RESOURCE:
		if b.Tries.CountFailure() >= b.AttemptsMax(&js.step.Set) {
			if js.failElement(b, timesFailed(b, f)) {
				return true
			}
			f = proto.CloneOf(f)
			who := ""
			if f.Stage == "" { // such as the end of a worker's process, which names no node
				who = b.Job.Describe(b, 0) + " "
			}
			f.Message = who + timesFailed(b, f).Message
			js.EndJob(b.Job, scheduler.JobFailed, f)
			return true
		}
	case f != nil || r.Lost() != "":
		b.Tries.CountLoss()
		why := r.Lost()
		if f != nil {
			why = f.Message
		}
		if b.Tries.Losses() > js.step.Set.LostMax {
			js.failLost(b, why)
			return true
		}
	}
	return false
}

// withPrefix returns a copy of a failure, with a text before its message.
func withPrefix(text string, f *wire.Failure) *wire.Failure {
	f = proto.CloneOf(f)
	f.Message = text + f.Message
	return f
}

// timesFailed is a bundle's last failure, and says how often it failed.
func timesFailed(b *state.Bundle, f *wire.Failure) *wire.Failure {
	return withPrefix(failedTimes(b.Tries.Failures())+": ", f)
}

// failedTimes says how often something failed that is not tried again.
func failedTimes(n int) string {
	if n == 1 {
		return "failed, and may be tried once"
	}
	return fmt.Sprintf("failed %d times, the last time", n)
}
