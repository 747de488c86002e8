package mapreduce

import (
	"errors"
	"sync/atomic"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// errTwice is the error of an emit that overlaps another one of its task.
var errTwice = job.Permanent(errors.New("mapreduce: emit was called from several goroutines of a task at once, which loses records: call it from one, such as the one that Map or Reduce was called in"))

// single detects overlapping calls of functions that are for one goroutine. It counts each call
// with one atomic addition: of two calls that overlap, the earlier one detects the other when it
// leaves.
type single struct {
	calls   atomic.Int64
	overlap atomic.Bool
}

// enter begins a call. Its result is the argument of leave.
func (s *single) enter() int64 { return s.calls.Add(1) }

// leave ends a call. It panics if another call began since.
func (s *single) leave(call int64) {
	if s.calls.Load() != call {
		s.clash()
	}
}

// clash records an overlap and panics.
func (s *single) clash() {
	s.overlap.Store(true)
	panic(errTwice)
}

// err returns an error if calls overlapped, even if the panic was recovered.
func (s *single) err() error {
	if s.overlap.Load() {
		return errTwice
	}
	return nil
}
