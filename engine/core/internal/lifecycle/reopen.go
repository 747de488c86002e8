package lifecycle

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core/internal/dataflow"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// failLost fails a job, or an element of a job array, whose work is lost repeatedly.
func (js *Jobs) failLost(b *state.Bundle, why string) {
	times := fmt.Sprintf("was lost %d times, the last time because %s: look after the launchers", b.Tries.Losses(), why)
	if js.failElement(b, &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: times}) {
		return
	}
	js.EndJob(b.Job, scheduler.JobFailed, &wire.Failure{
		Kind:    wire.ErrorKind_ERROR_KIND_LOST,
		Message: fmt.Sprintf("%s was lost %d times, the last time because %s: look after the launchers, then submit again", b.Job.Describe(b, 0), b.Tries.Losses(), why),
	})
}

// OutputsLost records the loss of a group's stored outputs; with all also of those on the job's own
// storage.
func (js *Jobs) OutputsLost(b *state.Bundle, i int, all bool) {
	j := b.Job
	k := b.LoseOutput(i)
	for _, x := range b.Nodes(i) {
		n := j.Plan.Node(x)
		for _, conn := range j.Inputs.Files.OutOf(n.Stage) {
			out := dataflow.Key{Conn: conn, From: int32(n.Index)}
			if j.Inputs.There(out) && (all || j.Plan.Connection(int(conn)).Store == "") {
				js.bundles.ApplyGateChanges(j, conn, j.Inputs.Lose(out, k.Launcher))
			}
		}
	}
}

// Reopen makes a finished bundle with a needed output unfinished, and with it the bundles whose
// lost output it needs in turn.
func (js *Jobs) Reopen(b *state.Bundle) {
	for work := []*state.Bundle{b}; len(work) > 0; {
		b, work = work[len(work)-1], work[:len(work)-1]
		if b.Phase() != state.BundleFinished || b.Job.Phase() != state.JobRunning {
			continue
		}
		js.reopenBundle(b)
		j := b.Job
		for i := range b.Groups() {
			j.Inputs.Each(b.Nodes(i), func(k dataflow.Key) {
				if !j.Inputs.There(k) {
					p, _ := j.GroupOf(j.Inputs.Files.Writer(k))
					work = append(work, p)
				}
			})
		}
	}
}

// reopenBundle counts a finished bundle as unfinished.
func (js *Jobs) reopenBundle(b *state.Bundle) {
	j := b.Job
	b.Reopen(js.step.Now)
	js.state.Changes.MarkJob(j) // it may wait for others before it is ready
	js.step.Stats.Rerun++
	js.events.Notify(b, scheduler.BundleReopened{At: js.step.Now, Job: j.ID, Bundle: b.ID()})
	if b.Tries.Losses() > js.step.Set.LostMax {
		js.failLost(b, "its output was lost")
		return
	}
	js.bundles.Recheck(b)
}
