package policy

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// Bounds of the calls to a policy beside its rounds: pages, explanations, its status, and proofs of
// its authenticator.
const (
	// throttleShare is the share of time for all of these calls together: one part in so many.
	throttleShare = 10
	// throttleRestMax bounds the pause after a call. A call takes milliseconds.
	throttleRestMax = 10 * time.Second
	// throttleWaitingMax is how many may wait for their turn.
	throttleWaitingMax = 1000
)

// throttle lets calls to a policy through one by one. After each it pauses for a multiple of the
// call's duration, however many callers there are. So a round waits for one call at most, and
// rounds keep most of the time. Safe for concurrent use.
type throttle struct {
	token   chan struct{} // holds one during a call and the pause after it
	waiting *atomic.Int64
	rests   int // the pause after a call, as a multiple of its duration
}

func newThrottle(rests int) throttle { return throttle{make(chan struct{}, 1), &atomic.Int64{}, rests} }

// enter waits for the throttle: until ctx ends, or stop is closed, with an error of kind Ended. The
// returned function frees the throttle; its argument is the call's duration. It does not block.
func (l throttle) enter(ctx context.Context, op string, stop <-chan struct{}) (leave func(took time.Duration), err error) {
	select {
	case l.token <- struct{}{}:
		return l.leave, nil
	default:
	}
	defer l.waiting.Add(-1)
	if l.waiting.Add(1) > throttleWaitingMax {
		return nil, errorf(Busy, op, "%d questions to the policy wait already: try again", throttleWaitingMax)
	}
	select {
	case l.token <- struct{}{}:
		return l.leave, nil
	case <-stop:
		return nil, errorf(Ended, op, "the policy ended")
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, newError(Canceled, op, ctx.Err())
		}
		return nil, errorf(Busy, op, "the policy was asked too much by others: try again")
	}
}

func (l throttle) leave(took time.Duration) {
	if l.rests == 0 {
		<-l.token
		return
	}
	time.AfterFunc(min(time.Duration(l.rests)*took, throttleRestMax), func() { <-l.token })
}
