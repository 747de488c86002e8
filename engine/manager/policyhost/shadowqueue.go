package policyhost

import (
	"context"
	"sync"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Bounds of the rounds that wait for a shadow. A shadow that has more loses them all, and starts
// again from a snapshot.
const (
	shadowRoundsMax = 4096
	shadowEventsMax = 200_000 // and offers, of these rounds
)

// shadowQueue holds rounds for a shadow. Adding never waits, and wakes a goroutine only while it
// waits for a round. Safe for concurrent use; one goroutine takes rounds out.
type shadowQueue struct {
	roundsMax int // see shadowRoundsMax

	mu      sync.Mutex
	list    []queuedRound
	size    int    // events and offers
	lost    bool   // rounds were dropped since the last restart
	dropped uint64 // rounds
	more    chan struct{}
}

// queuedRound is a round of the deciding policy. It is shared, and nobody changes it.
type queuedRound struct {
	generation uint64
	round      *scheduler.Round
}

func newShadowQueue() *shadowQueue {
	return &shadowQueue{roundsMax: shadowRoundsMax, more: make(chan struct{}, 1)}
}

// add adds a round, or drops all when there is no room.
func (q *shadowQueue) add(generation uint64, r *scheduler.Round) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch size := len(r.Events) + len(r.Offers); {
	case q.lost:
		q.dropped++
	case len(q.list) >= q.roundsMax || len(q.list) > 0 && q.size+size > shadowEventsMax:
		q.dropped += uint64(len(q.list)) + 1
		q.list, q.size, q.lost = nil, 0, true
	default:
		q.list, q.size = append(q.list, queuedRound{generation, r}), q.size+size
	}
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// take waits for a round, and takes out at most so many. It fails when rounds were dropped, or ctx
// ends.
func (q *shadowQueue) take(ctx context.Context, most int) ([]queuedRound, error) {
	for {
		q.mu.Lock()
		n, lost := min(most, len(q.list)), q.lost
		list := q.list[:n:n]
		q.list = q.list[n:]
		for _, r := range list {
			q.size -= len(r.round.Events) + len(r.round.Offers)
		}
		q.mu.Unlock()
		switch {
		case lost:
			return nil, errBehind
		case n > 0:
			return list, nil
		}
		select {
		case <-q.more:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// restart empties the queue for a shadow that starts: its snapshot includes the rounds so far.
func (q *shadowQueue) restart() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.list, q.size, q.lost = nil, 0, false
}

// pause empties the queue, and drops rounds until restart.
func (q *shadowQueue) pause() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dropped += uint64(len(q.list))
	q.list, q.size, q.lost = nil, 0, true
}

func (q *shadowQueue) droppedRounds() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}
