// Package logshipper sends the end of each log to the manager once its attempt is over. So it can
// be read when the launcher is gone.
//
//	q := logshipper.New(send, log)
//	q.JoinManager(manager, 64<<10, 1<<20) // bytes of each log, as the manager wants
//	go q.Run(ctx)
//	q.Add(job, attempt, log, true) // never waits
//
// # Invariants
//
// An attempt without output costs nothing. Logs of failed attempts are sent first. The number of
// waiting logs is bounded; their texts are on disk, except for short ones, which are in memory for
// a moment. Bytes and attempts sent per second are bounded, and the manager may ask for a pause.
package logshipper

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/launcher/internal/logs"
	"github.com/hamadryad/hamadryad/engine/wire"
)

const (
	// waitingMax is how many attempts' tails wait to be sent. Beyond it the oldest of an attempt
	// that did not fail is dropped.
	waitingMax = 10_000
	// heldBytesMax bounds the texts of short logs in memory.
	heldBytesMax = 4 << 20
	// gather is how long a tail waits for others to share its message. togetherMax is how many do.
	gather      = 200 * time.Millisecond
	togetherMax = 1000
	// bytesMax bounds the texts of one message; a single text may be larger.
	bytesMax = 512 << 10
	// bytesASecond and attemptsASecond bound the rate of sending.
	bytesASecond    = 4 << 20
	attemptsASecond = 5000
	// again is the time to the next try when the manager refuses for now.
	again = 2 * time.Second
	// readMax is how long the reading of a log may take.
	readMax = 10 * time.Second
)

// Queue holds the logs that wait to be sent. Safe for concurrent use.
type Queue struct {
	send func(context.Context, *wire.LogTails) error
	log  *slog.Logger
	wake chan struct{}

	mu           sync.Mutex
	manager      string // identity
	tail, failed int64  // bytes of one log of each kind; 0: none is sent
	first, then  []over // failed attempts, and others
	held         int    // bytes of short logs
	lost         uint64
}

// over is an ended attempt.
type over struct {
	job, attempt uint64
	log          *logs.Log
	short        []byte // the whole log; nil: it has to be read
	failed       bool
}

// New returns a queue. send delivers a message; its error is a gRPC status.
func New(send func(context.Context, *wire.LogTails) error, log *slog.Logger) *Queue {
	return &Queue{send: send, log: log, wake: make(chan struct{}, 1)}
}

// JoinManager sets the manager to which the launcher belongs, and how many bytes the manager wants
// of a log, and of a failed attempt's log; 0: none. Attempts of another manager are not sent any
// more.
func (q *Queue) JoinManager(manager string, tail, failed int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.manager = manager
	q.tail, q.failed = min(tail, wire.TailBytesMax), min(failed, wire.TailBytesMax)
}

// Lost is how many tails were dropped because the queue was full.
func (q *Queue) Lost() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lost
}

// Add queues the log of an ended attempt.
func (q *Queue) Add(job, attempt uint64, log *logs.Log, failed bool) {
	text, short := log.Short()
	if short && len(text) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if failed && q.failed == 0 || !failed && q.tail == 0 {
		return
	}
	o := over{job: job, attempt: attempt, log: log, failed: failed}
	if short && q.held+len(text) <= heldBytesMax {
		o.short = text
		q.held += len(text)
	}
	if failed {
		q.first = append(q.first, o)
	} else {
		q.then = append(q.then, o)
	}
	if len(q.first)+len(q.then) > waitingMax {
		q.giveUp()
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// giveUp drops the oldest log of an attempt that did not fail, or else the oldest. The caller holds
// mu.
func (q *Queue) giveUp() {
	from := &q.then
	if len(q.then) == 0 {
		from = &q.first
	}
	q.held -= len((*from)[0].short)
	*from = (*from)[1:]
	q.lost++
}

// takeBatch takes the logs for one message, whose long texts are not read yet, and returns their
// manager.
func (q *Queue) takeBatch() (list []over, manager string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	bytes := int64(0)
	for _, from := range []*[]over{&q.first, &q.then} {
		for len(*from) > 0 && len(list) < togetherMax && bytes < bytesMax {
			o := (*from)[0]
			n := int64(len(o.short))
			if o.short == nil {
				n = o.log.Most(q.most(o.failed))
			}
			if bytes += n; bytes > bytesMax && len(list) > 0 {
				return list, q.manager
			}
			q.held -= len(o.short)
			*from = (*from)[1:]
			if o.log.Manager() == q.manager {
				list = append(list, o)
			}
		}
	}
	return list, q.manager
}

// most is how many bytes of a log are sent. The caller holds mu.
func (q *Queue) most(failed bool) int64 {
	if failed {
		return q.failed
	}
	return q.tail
}

// Run sends queued logs until ctx ends.
func (q *Queue) Run(ctx context.Context) {
	for {
		select {
		case <-q.wake:
		case <-ctx.Done():
			return
		}
		pause(ctx, gather)
		for ctx.Err() == nil {
			list, manager := q.takeBatch()
			if len(list) == 0 {
				break
			}
			m, bytes := q.message(ctx, list)
			m.Manager = manager
			q.deliver(ctx, m)
			pause(ctx, max(time.Duration(bytes)*time.Second/bytesASecond, time.Duration(len(list))*time.Second/attemptsASecond))
		}
	}
}

// message reads the logs' texts and makes the message.
func (q *Queue) message(ctx context.Context, list []over) (m *wire.LogTails, bytes int) {
	m = &wire.LogTails{}
	for _, o := range list {
		t := &wire.LogTail{Job: o.job, Attempt: o.attempt, Failed: o.failed, Text: o.short, Of: int64(len(o.short))}
		if o.short == nil {
			q.mu.Lock()
			most := q.most(o.failed)
			q.mu.Unlock()
			late, cancel := context.WithTimeout(ctx, readMax)
			text, of, lacks, err := o.log.Tail(late, most)
			cancel()
			if err != nil {
				lacks = "its launcher could not read it: " + err.Error()
			}
			t.Text, t.Of, t.Lacks = text, of, lacks
		}
		bytes += len(t.Text)
		m.Tails = append(m.Tails, t)
	}
	return m, bytes
}

// deliver sends until the manager has the message. A permanent refusal is not retried.
func (q *Queue) deliver(ctx context.Context, m *wire.LogTails) {
	for ctx.Err() == nil {
		err := q.send(ctx, m)
		switch status.Code(err) {
		case codes.OK:
			return
		case codes.Unavailable, codes.ResourceExhausted, codes.DeadlineExceeded:
			pause(ctx, again)
		default:
			if !errors.Is(err, context.Canceled) {
				q.log.Warn("the manager does not take the ends of attempts' logs", "attempts", len(m.Tails), "error", err)
			}
			return
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
