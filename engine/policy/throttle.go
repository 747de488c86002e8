package policy

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// Bounds of what is asked of a policy beside its rounds: pages, explanations, its status, and
// proofs of its gate.
const (
	// laneShare is the part of the time that all of it together has: one in so many.
	laneShare = 10
	// laneRestMax bounds the rest after one of it. A question takes milliseconds.
	laneRestMax = 10 * time.Second
	// laneWaitingMax is how many may wait for their turn.
	laneWaitingMax = 1000
)

// lane lets questions to a policy through one by one, and after each rests for a multiple of
// what it took, whoever asks and however many do. So a round waits for one question at most,
// and rounds keep most of the time. Safe for concurrent use.
type lane struct {
	token   chan struct{} // holds one while a question is asked, or the lane rests
	waiting *atomic.Int64
	rests   int // the pause after a question, as a multiple of what it took
}

func newLane(rests int) lane { return lane{make(chan struct{}, 1), &atomic.Int64{}, rests} }

// enter waits for the lane: until ctx ends, or stop is closed, with an error of kind Ended. It
// returns what gives the lane back, to be called with what the question took. That does not
// block.
func (l lane) enter(ctx context.Context, op string, stop <-chan struct{}) (leave func(took time.Duration), err error) {
	select {
	case l.token <- struct{}{}:
		return l.leave, nil
	default:
	}
	defer l.waiting.Add(-1)
	if l.waiting.Add(1) > laneWaitingMax {
		return nil, errorf(Busy, op, "%d questions to the policy wait already: try again", laneWaitingMax)
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

func (l lane) leave(took time.Duration) {
	if l.rests == 0 {
		<-l.token
		return
	}
	time.AfterFunc(min(time.Duration(l.rests)*took, laneRestMax), func() { <-l.token })
}
