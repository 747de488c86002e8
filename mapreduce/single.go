package mapreduce

import (
	"errors"
	"sync/atomic"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// errTwice is an emit that began before another one of its task had returned.
var errTwice = job.Permanent(errors.New("mapreduce: emit was called from several goroutines of a task at once, which loses records: call it from one, such as the one that Map or Reduce was called in"))

// single finds calls that overlap, of functions that are for one goroutine. It counts them
// with one atomic addition each: of two calls that overlap, the one that began first finds
// the other when it leaves.
type single struct {
	calls   atomic.Int64
	overlap atomic.Bool
}

// enter begins a call. What it returns is for leave.
func (s *single) enter() int64 { return s.calls.Add(1) }

// leave ends a call. It panics when another one began since.
func (s *single) leave(call int64) {
	if s.calls.Load() != call {
		s.clash()
	}
}

// clash is for calls that overlapped.
func (s *single) clash() {
	s.overlap.Store(true)
	panic(errTwice)
}

// err is an error when calls overlapped, also where the panic was recovered from.
func (s *single) err() error {
	if s.overlap.Load() {
		return errTwice
	}
	return nil
}
