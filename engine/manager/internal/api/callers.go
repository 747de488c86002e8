package api

import (
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// callers are the clients that wait for the core's reply.
type callers struct {
	mu      sync.Mutex
	last    uint64 // number of the last caller; its upper bits are the term
	waiting map[uint64]chan core.Reply
}

// callersMax bounds clients that wait at the same time.
const callersMax = 10_000

var errTooManyCallers = status.Errorf(codes.ResourceExhausted, "%d requests wait for the manager: try again later", callersMax)

// newCallers numbers callers unlike any other life.
func newCallers(term uint64) *callers {
	return &callers{last: wire.NewEpochID(term, 0), waiting: map[uint64]chan core.Reply{}}
}

// add numbers a caller. Replies for numbers of an earlier life are dropped.
func (c *callers) add() (uint64, <-chan core.Reply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) >= callersMax {
		return 0, nil, errTooManyCallers
	}
	c.last++
	reply := make(chan core.Reply, 1)
	c.waiting[c.last] = reply
	return c.last, reply, nil
}

func (c *callers) remove(client uint64) {
	c.mu.Lock()
	delete(c.waiting, client)
	c.mu.Unlock()
}

func (c *callers) reply(r core.Reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if reply := c.waiting[r.Client]; reply != nil {
		delete(c.waiting, r.Client)
		reply <- r
	}
}
