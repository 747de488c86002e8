package lifecycle

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// triedAtOnce is the number of bundles waiting for room that are tried when the store has accepted
// files again. Each of them that writes lets as many others follow.
const triedAtOnce = 16

// waitForRoom makes a bundle wait that met a full output store. It fails the job, and reports that,
// when the job has waited for the limit.
func (js *Jobs) waitForRoom(b *state.Bundle, f *wire.Failure) (failed bool) {
	j, s := b.Job, &js.step.Set
	wait, more := j.StoreRoom.Full(js.step.Now, b.Index, f.Message, state.StoreRoomLimits{After: s.StoreFullRetryAfter, AfterMax: s.StoreFullRetryMax, Max: s.StoreFullMax})
	if !more {
		f = proto.CloneOf(f)
		f.Message = fmt.Sprintf("the store of the outputs had no room, and was waited for %v (core.storeFullMax): %s", s.StoreFullMax, f.Message)
		js.EndJob(j, scheduler.JobFailed, f)
		return true
	}
	b.WaitForStoreRoom()
	if wait > 0 {
		js.step.SetTimer(wait, step.TimerStoreRoom, uint64(j.ID))
		js.step.Log(step.Warn, "the store of a job's outputs is full: groups that write there wait", "job", j.ID.String(), "for", wait.String())
	}
	js.state.Changes.MarkJob(j)
	return false
}

// RetryStoreRoom tries one of the bundles that wait for room in the output store.
func (js *Jobs) RetryStoreRoom(id scheduler.JobID) {
	if j := js.state.Jobs.Get(id); j != nil && j.Phase() == state.JobRunning && j.StoreRoom.Due(js.step.Now) {
		js.tryNext(j, 1)
	}
}

// tryWaiting tries other waiting bundles when a bundle has committed. A bundle that wrote files
// shows that there is room.
func (js *Jobs) tryWaiting(j *state.Job, wrote bool) {
	most := 1
	if wrote {
		j.StoreRoom.Took()
		most = triedAtOnce
	}
	if j.StoreRoom.Waiting() > 0 && j.Phase() == state.JobRunning && j.StoreRoom.Due(js.step.Now) {
		js.tryNext(j, most)
	}
}

// tryNext makes waiting bundles ready, at most most of those that can run.
func (js *Jobs) tryNext(j *state.Job, most int) {
	for most > 0 && j.StoreRoom.Waiting() > 0 {
		b := &j.Bundles[j.StoreRoom.Next()]
		b.TryStoreRoom()
		js.bundles.Recheck(b)
		if b.Phase() == state.BundleReady {
			most--
		}
	}
	js.state.Changes.MarkJob(j)
}
