// Package logshipper sends the end of each log to the manager once its attempt is over. So it can
// be read when the launcher is gone.
//
//	q := logshipper.New(send, log)
//	q.Joined(manager, 64<<10, 1<<20) // as it wants them
//	go q.Run(ctx)
//	q.Add(job, attempt, log, true) // never waits
//
// # Invariants
//
// An attempt that printed nothing costs nothing. Logs of failed attempts are sent first. The number
// of waiting logs is bounded; their texts are on disk, except for short ones, which are in memory
// for a moment. Bytes and attempts sent in a second are bounded, and the manager may ask for a
// pause.
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
	// waitingMax is how many attempts' tails wait to be sent. Of more the oldest goes that did not fail.
	waitingMax = 10_000
	// heldBytesMax bounds the texts of short logs that are in memory.
	heldBytesMax = 4 << 20
	// gather is how long a tail waits for others to share its message, and togetherMax how many do.
	gather      = 200 * time.Millisecond
	togetherMax = 1000
	// bytesMax bounds the texts of one message, one of which may be larger.
	bytesMax = 512 << 10
	// bytesASecond and attemptsASecond bound what is sent.
	bytesASecond    = 4 << 20
	attemptsASecond = 5000
	// again is the time to the next try when the manager takes nothing.
	again = 2 * time.Second
	// readMax is how long a log may take to be read.
	readMax = 10 * time.Second
)

// Queue is what waits to be sent. Safe for concurrent use.
type Queue struct {
	send func(context.Context, *wire.LogTails) error
	log  *slog.Logger
	wake chan struct{}

	mu           sync.Mutex
	manager      string // identity
	tail, failed int64  // bytes, of one each; 0: nothing is sent
	first, then  []over // of attempts that failed, and of others
	held         int    // bytes of short ones
	lost         uint64
}

// over is an attempt that is over.
type over struct {
	job, attempt uint64
	log          *logs.Log
	short        []byte // all of it; nil: it is to be read
	failed       bool
}

// New returns a queue. The function sends; its error is a status of gRPC.
func New(send func(context.Context, *wire.LogTails) error, log *slog.Logger) *Queue {
	return &Queue{send: send, log: log, wake: make(chan struct{}, 1)}
}

// JoinManager says to which manager the launcher belongs, and how many bytes of a log it wants, and of one
// whose attempt failed; 0: none. Attempts of another manager are not sent any more.
func (q *Queue) JoinManager(manager string, tail, failed int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.manager = manager
	q.tail, q.failed = min(tail, wire.TailBytesMax), min(failed, wire.TailBytesMax)
}

// Lost is how many tails were given up, for want of room in the queue.
func (q *Queue) Lost() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lost
}

// Add takes the log of an attempt that is over.
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

// giveUp drops the oldest that did not fail, or the oldest. The caller holds mu.
func (q *Queue) giveUp() {
	from := &q.then
	if len(q.then) == 0 {
		from = &q.first
	}
	q.held -= len((*from)[0].short)
	*from = (*from)[1:]
	q.lost++
}

// takeBatch takes what goes into one message, without what is to be read, and for whom it is.
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

// most is how much of a log is sent. The caller holds mu.
func (q *Queue) most(failed bool) int64 {
	if failed {
		return q.failed
	}
	return q.tail
}

// Run sends what there is until ctx ends.
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

// message reads what is to be sent.
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

// deliver sends until the manager has it. One that refuses it for good is not asked again.
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
