package hdfs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

const (
	// backoffFirst and backoffMax are the pauses between the tries of a call.
	backoffFirst = 100 * time.Millisecond
	backoffMax   = 3 * time.Second
)

// call makes a client's calls to the NameNode, and repeats them while the NameNode is away, within
// Options.Wait. Errors name the call by what and p.
func (c *cluster) call(ctx context.Context, what string, p place, do func(*session) error) error {
	return c.retry(ctx, what, p, func(ctx context.Context) error {
		select {
		case c.calls <- struct{}{}:
			defer func() { <-c.calls }()
		case <-ctx.Done():
			return ctx.Err()
		}
		s, err := c.take(ctx)
		if err != nil {
			return err
		}
		if err = s.run(ctx, do); inStep(err) {
			c.put(s)
		} else {
			s.close()
		}
		return err
	})
}

// run makes calls of one session. If ctx ends, they are aborted.
func (s *session) run(ctx context.Context, do func(*session) error) error {
	s.enter(ctx)
	stop := context.AfterFunc(ctx, s.conns.closeAll)
	err := do(s)
	if !stop() && err == nil {
		err = ctx.Err() // the session's connections are closed
	}
	if err != nil && !inStep(err) {
		s.cluster.leave(s.at())
		err = s.worst(err)
	}
	return err
}

// retry tries until success, until an error that a retry can't mend, or until Options.Wait is over.
func (c *cluster) retry(ctx context.Context, what string, p place, try func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, c.set.Wait)
	defer cancel()
	var last error
	for tries := 1; ; tries++ {
		err := try(limited)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s %s: %w", what, p.url, context.Cause(ctx))
		}
		switch {
		case limited.Err() == nil && errors.Is(err, os.ErrDeadlineExceeded):
			last = fmt.Errorf("%w: %w", errNoAnswer, err)
		case limited.Err() == nil:
			last = err
		case last == nil:
			last = errNoAnswer // err only reflects our own abort
		}
		if !passing(err) {
			return c.explain(what, p, err)
		}
		if !pause(limited, tries) {
			return c.explain(what, p, &awayError{fmt.Errorf("%s did not serve within %v, in %d tries: %w", c.nameNodes(), c.set.Wait, tries, last)})
		}
	}
}

var errNoAnswer = errors.New("no answer")

// pause waits before the next try; false if there is no time for one.
func pause(ctx context.Context, tries int) bool {
	d := min(backoffFirst<<min(tries-1, 10), backoffMax)
	d = d/2 + rand.N(d/2+1) //nolint:gosec // many clients shall not come back in one instant
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// finalError is an error that a retry can't mend.
type finalError struct{ error }

func (e *finalError) Unwrap() error { return e.error }

// awayError: the NameNode did not serve for all of Options.Wait.
type awayError struct{ error }

func (e *awayError) Unwrap() error { return e.error }

func isFinal(err error) bool { return errors.As(err, new(*finalError)) }
