package process

import (
	"errors"
	"sync"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/ipc"
)

// queueMax is how many messages may wait for a worker that does not read. A worker that exceeds it
// hangs, and is killed.
const queueMax = 4096

// sendQueue has the messages that a worker's socket did not take at once. As a rule it takes them: then
// no other goroutine has to wake up for a message.
type sendQueue struct {
	mu       sync.Mutex
	flushing bool             // a goroutine of flush runs, and alone writes
	waiting  []*wire.ToWorker // for it, at most queueMax
}

// Send sends a message, and does not wait for the worker. A worker that reads nothing while its
// queue fills up is killed; then Send returns false.
func (p *Process) Send(m *wire.ToWorker) bool {
	select {
	case <-p.gone:
		return true // the end of the process is reported anyway
	default:
	}
	o := &p.unsent
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !o.flushing:
		all, err := p.conn.TrySend(m)
		if err != nil {
			return !p.unfit(err)
		}
		if !all {
			o.flushing = true
			go p.flush()
		}
		return true
	case len(o.waiting) < queueMax:
		o.waiting = append(o.waiting, m)
		return true
	}
	p.log.Warn("a worker does not read what it is sent and is killed", "pid", p.PID(), "waiting", queueMax)
	go p.Kill()
	return false
}

// flush writes what waits, until nothing does. After an error of the socket nothing more is written:
// the reader gets the same error and ends the worker.
func (p *Process) flush() {
	err := p.conn.Flush()
	for err == nil {
		m := p.unsent.next()
		if m == nil {
			return
		}
		err = p.conn.Send(m)
	}
	p.unfit(err)
}

// next returns the next message that waits. Without one, it is nil, and Send writes again.
func (o *sendQueue) next() *wire.ToWorker {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) == 0 {
		o.flushing, o.waiting = false, nil
		return nil
	}
	m := o.waiting[0]
	o.waiting = o.waiting[1:]
	return m
}

// unfit reports whether a message can't be sent at all. The worker would wait for it forever, and is
// killed.
func (p *Process) unfit(err error) bool {
	if !errors.Is(err, ipc.ErrUnfit) {
		return false
	}
	p.log.Error("a message to a worker can't be sent, and the worker is killed", "pid", p.PID(), "error", err)
	go p.Kill()
	return true
}
