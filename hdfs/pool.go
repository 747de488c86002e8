package hdfs

import (
	"sync"
	"time"
)

// idleFor is how long a connection is kept for the next call. The library's clients renew
// their leases every second, so those of a burst of calls go soon.
const idleFor = 5 * time.Second

// pool keeps connections for the next call. Safe for concurrent use.
type pool[C interface{ close() }] struct {
	mu     sync.Mutex
	idle   []idleConn[C] // the one used last is the last
	reaper *time.Timer   // closes what waited for idleFor
}

type idleConn[C any] struct {
	conn  C
	since time.Time
}

// take returns the connection used last, if one waits.
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

// reap closes the connections that waited for long, which stand at the head.
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

// drop closes all connections that wait.
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
