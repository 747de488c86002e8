package policy

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// life is the common part of both kinds of Host: one call at a time, one end.
type life struct {
	turn chan struct{} // holds a token while a call is with the policy
	side throttle      // for the calls beside the rounds
	jobs throttle      // for the authenticator's proofs of jobs, which do not wait for callers of pages
	done chan struct{} // closed when the policy is cleaned up
	stop chan struct{} // closed when the policy is to end

	bounds atomic.Pointer[limits] // nil before Start

	mu      sync.Mutex
	err     error // why it ended; nil after Close
	stopped bool
}

// newLife makes it. Without pacing, calls beside the rounds follow one another at once.
func newLife(unpaced bool) *life {
	rests := throttleShare - 1
	if unpaced {
		rests = 0
	}
	return &life{turn: make(chan struct{}, 1), side: newThrottle(rests), jobs: newThrottle(rests), done: make(chan struct{}), stop: make(chan struct{})}
}

// Done is closed when the policy has ended.
func (l *life) Done() <-chan struct{} { return l.done }

// Err returns why the policy ended, nil while it lives or after Close.
func (l *life) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// end marks the policy as ended for a reason. Only the first reason counts.
func (l *life) end(reason error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return
	}
	l.stopped, l.err = true, reason
	close(l.stop)
}

// limits returns what Start set.
func (l *life) limits() limits {
	if b := l.bounds.Load(); b != nil {
		return *b
	}
	return limitsOf(scheduler.Environment{})
}

func (l *life) setLimits(env scheduler.Environment) {
	b := limitsOf(env)
	l.bounds.Store(&b)
}

// entrance is how a call gets its turn: enter or enterBeside.
type entrance = func(ctx context.Context, op string, bound time.Duration) (leave func(), err error)

// enter waits for this call's turn: until the bound, ctx's end or the policy's. The returned
// function gives the turn back.
func (l *life) enter(ctx context.Context, op string, bound time.Duration) (leave func(), err error) {
	if err := l.ended(op); err != nil {
		return nil, err
	}
	select {
	case l.turn <- struct{}{}: // the usual case: no wait
	default:
		if err := l.wait(ctx, op, bound); err != nil {
			return nil, err
		}
	}
	if err := l.ended(op); err != nil {
		<-l.turn
		return nil, err
	}
	return l.leave, nil
}

// wait waits for the turn, and takes it.
func (l *life) wait(ctx context.Context, op string, bound time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-l.stop:
		return l.ended(op)
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return newError(Canceled, op, ctx.Err())
		}
		return errorf(Busy, op, "the policy was busy with another call for too long: try again")
	}
}

// leave gives the turn back.
func (l *life) leave() { <-l.turn }

// enterBeside is enter for calls beside the rounds, which wait for the throttle of such calls, too.
func (l *life) enterBeside(ctx context.Context, op string, bound time.Duration) (leave func(), err error) {
	until, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	free, err := l.side.enter(until, op, l.stop)
	if KindOf(err) == Ended {
		return nil, l.ended(op)
	}
	if err != nil {
		return nil, err
	}
	done, err := l.enter(ctx, op, bound)
	if err != nil {
		free(0)
		return nil, err
	}
	began := time.Now()
	return func() {
		done()
		free(time.Since(began))
	}, nil
}

// ended returns why calls are useless now, or nil.
func (l *life) ended(op string) error {
	select {
	case <-l.stop:
	default:
		return nil
	}
	if err := l.Err(); err != nil {
		return again(op, err)
	}
	return errorf(Ended, op, "the policy was closed")
}

// again is the reason of an end as the error of another call. It keeps the name of the call at
// fault.
func again(op string, reason error) error {
	var e *Error
	if errors.As(reason, &e) {
		return e
	}
	return newError(Ended, op, reason)
}

// waited waits for a channel within a bound and reports whether it closed.
func waited(c <-chan struct{}, bound time.Duration) bool {
	t := time.NewTimer(bound)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}

// detached runs f, which has a bound of its own, and waits for it or for the caller's context. A
// caller that stops waiting for a read must not cost the manager its policy, so f continues without
// it.
func detached[T any](ctx context.Context, op string, f func(context.Context) (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	go func() {
		v, err := f(context.WithoutCancel(ctx))
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.v, r.err
	case <-ctx.Done():
		var none T
		if errors.Is(ctx.Err(), context.Canceled) {
			return none, newError(Canceled, op, ctx.Err())
		}
		return none, errorf(Busy, op, "the policy did not answer in the time the caller gave it")
	}
}
