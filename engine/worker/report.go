package worker

import (
	"errors"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/ipc"
)

// startedHold is how long the report that a group runs waits for another report to share its
// message. A group that ends sooner is reported in one message.
const startedHold = time.Millisecond

// reports sends a worker's reports, in order. Safe for concurrent use.
type reports struct {
	send  func(...proto.Message) error
	unfit func(error) // called for a message that can't be sent

	mu   sync.Mutex
	held *wire.FromWorker
	late *time.Timer
}

// reportsTo returns reports that are sent by send. unfit ends the worker after a message that can't
// be sent (ipc.ErrUnfit): the launcher would wait for it forever.
func reportsTo(send func(...proto.Message) error, unfit func(error)) reports {
	return reports{send: send, unfit: unfit}
}

// report sends a report. If that fails, the launcher is gone, and serve ends the process.
func (r *reports) report(report *wire.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush(&wire.FromWorker{What: &wire.FromWorker_Report{Report: report}})
}

// limit reports to the launcher how long the nodes of an attempt may run.
func (r *reports) limit(l *wire.AttemptLimit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush(&wire.FromWorker{What: &wire.FromWorker_Limit{Limit: l}})
}

// reportSoon sends a report with the next one, or after startedHold.
func (r *reports) reportSoon(report *wire.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush()
	r.held = &wire.FromWorker{What: &wire.FromWorker_Report{Report: report}}
	if r.late != nil {
		r.late.Reset(startedHold)
		return
	}
	r.late = time.AfterFunc(startedHold, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.flush()
	})
}

// flush sends the held report, and then more. The caller holds mu.
func (r *reports) flush(more ...proto.Message) {
	if r.held != nil {
		r.late.Stop()
		more = append([]proto.Message{r.held}, more...)
		r.held = nil
	}
	if len(more) > 0 {
		if err := r.send(more...); errors.Is(err, ipc.ErrUnfit) {
			r.unfit(err)
		}
	}
}
