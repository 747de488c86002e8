package hdfs

import (
	"sync"
	"time"
)

// idleFor is how long an idle connection is kept. The library's clients renew their leases every
// second, so those of a burst of calls must go soon.
const idleFor = 5 * time.Second

// pool keeps idle connections for reuse. Safe for concurrent use.
type pool[C interface{ close() }] struct {
	mu     sync.Mutex
	idle   []idleConn[C] // the most recently used is last
	reaper *time.Timer   // closes connections idle for idleFor
}

type idleConn[C any] struct {
	conn  C
	since time.Time
}

// take returns the most recently used idle connection, if there is one.
func (p *pool[C]) take() (conn C, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return conn, false
	}
	conn = p.idle[n-1].conn
	p.idle = p.idle[:n-1]
	return conn, true
}

// put keeps a connection.
func (p *pool[C]) put(conn C) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, idleConn[C]{conn, time.Now()})
	if p.reaper == nil {
		p.reaper = time.AfterFunc(idleFor, p.reap)
	}
}

// reap closes the connections idle for idleFor, which are first in the list.
func (p *pool[C]) reap() {
	p.mu.Lock()
	old := 0
	for old < len(p.idle) && time.Since(p.idle[old].since) >= idleFor {
		old++
	}
	gone := p.idle[:old:old]
	p.idle = append([]idleConn[C](nil), p.idle[old:]...)
	p.reaper = nil
	if len(p.idle) > 0 {
		p.reaper = time.AfterFunc(idleFor, p.reap)
	}
	p.mu.Unlock()
	closeIdle(gone)
}

// drop closes all idle connections.
func (p *pool[C]) drop() {
	p.mu.Lock()
	gone := p.idle
	p.idle = nil
	p.mu.Unlock()
	closeIdle(gone)
}

func closeIdle[C interface{ close() }](gone []idleConn[C]) {
	for _, i := range gone {
		i.conn.close()
	}
}
