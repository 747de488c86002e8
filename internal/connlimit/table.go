package connlimit

import (
	"container/list"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Limits of a Table. The zero value of a number means its default.
type Limits struct {
	Waiting   int // waiting connections of all addresses; WaitingDefault
	Open      int // connections with a principal, or active requests; OpenDefault
	Address   int // of one address: so many may wait, and so many be open without a principal; AddressDefault
	Network   int // likewise, of loopback as a whole and of each address in Networks; NetworkDefault
	Principal int // open connections, or requests, of one principal; PrincipalDefault
	// Handshakes bounds the connections of one address that begin to send in a second, after a
	// burst of handshakeBurst; HandshakesDefault. Loopback, and each address in Networks, may do
	// four times as many. Connections beyond the bound wait for their turn: a TLS handshake costs
	// processor time.
	Handshakes int
	// Networks are networks in which one address stands for many machines, such as behind NAT.
	Networks []netip.Prefix
}

// Defaults of Limits.
const (
	WaitingDefault   = 4096
	OpenDefault      = 2000
	AddressDefault   = 256
	NetworkDefault   = 1024
	PrincipalDefault = 512
	// HandshakesDefault is less than half of the TLS handshakes that one processor can do.
	HandshakesDefault = 500
)

const (
	// handshakeBurst is an address's burst, as the time in which its rate allows so many
	// handshakes.
	handshakeBurst = 2 * time.Second
	// turnMax is how long a connection waits for its turn before it is closed.
	turnMax = 30 * time.Second
	// networkRate is how many times as many handshakes as others loopback and Networks may make.
	networkRate = 4
)

// healthMax bounds the concurrent health requests. They count toward no other bound.
const healthMax = 64

func orDefault(n, or int) int {
	if n == 0 {
		return or
	}
	return n
}

// filled returns l with defaults for its zero values.
func (l Limits) filled() Limits {
	l.Waiting, l.Open = orDefault(l.Waiting, WaitingDefault), orDefault(l.Open, OpenDefault)
	l.Address, l.Network = orDefault(l.Address, AddressDefault), orDefault(l.Network, NetworkDefault)
	l.Principal, l.Handshakes = orDefault(l.Principal, PrincipalDefault), orDefault(l.Handshakes, HandshakesDefault)
	return l
}

// Table counts the connections of one server. Safe for concurrent use.
type Table struct {
	limits Limits
	log    *slog.Logger

	mu      sync.Mutex
	sources map[netip.Addr]*source
	turns   map[netip.Addr]time.Time // when all admitted handshakes of an address are due
	holders map[string]int           // open connections and requests, by principal or address
	waiting int
	open    int
	health  int
	counts  Counts
}

// source is an address with waiting connections, the oldest first.
type source struct{ waiting list.List }

// Counts is how full a table is, and its counters since it began.
type Counts struct {
	Waiting, WaitingMax int // connections
	Open, OpenMax       int // connections or requests
	Closed              uint64
	Refused             uint64
}

// New makes a table. The log should sample repeated lines, as a log of package logsample does.
func New(l Limits, log *slog.Logger) *Table {
	return &Table{limits: l.filled(), log: log, sources: map[netip.Addr]*source{}, turns: map[netip.Addr]time.Time{}, holders: map[string]int{}}
}

// Counts returns the table's counts.
func (t *Table) Counts() Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.counts
	c.Waiting, c.WaitingMax, c.Open, c.OpenMax = t.waiting, t.limits.Waiting, t.open, t.limits.Open
	return c
}

// Figures returns Counts as separate values, for packages that show them and do not import this
// one.
func (t *Table) Figures() (waiting, waitingMax, open, openMax int, closed, refused uint64) {
	c := t.Counts()
	return c.Waiting, c.WaitingMax, c.Open, c.OpenMax, c.Closed, c.Refused
}

// Listen makes the table bound the connections of a listener.
func (t *Table) Listen(l net.Listener) net.Listener { return listener{l, t} }

type listener struct {
	net.Listener
	table *Table
}

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &Conn{Conn: raw, table: l.table, from: addressOf(raw.RemoteAddr()), began: time.Now(), over: make(chan struct{})}
	l.table.mu.Lock()
	evicted := l.table.wait(c)
	l.table.mu.Unlock()
	l.table.cut(evicted)
	return c, nil
}

// loopback stands for all loopback addresses: a client with one has all of them.
var loopback = netip.MustParseAddr("127.0.0.1")

// addressOf is the address for which a connection counts. Of IPv6 it is the network of 64 bits,
// which a client with one address mostly owns. Connections of Unix sockets count as loopback.
func addressOf(a net.Addr) netip.Addr {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return loopback
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	if ip.IsLoopback() || !ip.IsValid() {
		return loopback
	}
	if ip.Is6() {
		if net, err := ip.Prefix(64); err == nil {
			return net.Addr()
		}
	}
	return ip
}

// bound is how many connections an address may have.
func (t *Table) bound(from netip.Addr) int {
	if t.trusted(from) {
		return t.limits.Network
	}
	return t.limits.Address
}

// trusted reports whether one address may stand for many machines or programs: loopback, or an
// address in Networks.
func (t *Table) trusted(from netip.Addr) bool {
	return from == loopback || slices.ContainsFunc(t.limits.Networks, func(n netip.Prefix) bool {
		return n.Contains(from) || n.Bits() > 64 && from.Is6() && n.Masked().Addr() == from
	})
}

// turnsMax bounds the addresses whose handshakes are remembered before the due ones are dropped.
const turnsMax = 4096

// turn counts a handshake of an address, and returns how long it has to wait.
func (t *Table) turn(from netip.Addr, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	rate := t.limits.Handshakes
	if t.trusted(from) {
		rate *= networkRate
	}
	due, known := t.turns[from]
	if due.Before(now) {
		due = now
	}
	if !known && len(t.turns) >= turnsMax {
		maps.DeleteFunc(t.turns, func(_ netip.Addr, due time.Time) bool { return !due.After(now) })
	}
	wait := due.Sub(now) - handshakeBurst
	if wait <= turnMax { // else the connection is closed, and uses no turn
		t.turns[from] = due.Add(time.Second / time.Duration(rate))
	}
	return wait
}

// wait makes a connection wait, and returns the connection to close in its favour. The caller holds
// mu.
func (t *Table) wait(c *Conn) (evicted *Conn) {
	s := t.sources[c.from]
	if s == nil {
		s = &source{}
		t.sources[c.from] = s
	}
	c.place = s.waiting.PushBack(c)
	t.waiting++
	switch {
	case s.waiting.Len() > t.bound(c.from):
		evicted = s.oldest()
	case t.waiting > t.limits.Waiting:
		evicted = t.fullest().oldest()
	}
	if evicted != nil {
		t.leave(evicted)
		t.counts.Closed++
	}
	return evicted
}

// oldest is the connection of a source to close: the first that never sent anything, else the
// first. The newest is spared, as it had no time yet to send.
func (s *source) oldest() *Conn {
	for e := s.waiting.Front(); e != s.waiting.Back(); e = e.Next() {
		if c := e.Value.(*Conn); !c.heard.Load() {
			return c
		}
	}
	return s.waiting.Front().Value.(*Conn)
}

// fullest is the source with most waiting connections. It is needed only when the table is full.
func (t *Table) fullest() (most *source) {
	for _, s := range t.sources {
		if most == nil || s.waiting.Len() > most.waiting.Len() {
			most = s
		}
	}
	return most
}

// leave takes a connection from the waiting ones. The caller holds mu.
func (t *Table) leave(c *Conn) {
	if c.place == nil {
		return
	}
	s := t.sources[c.from]
	s.waiting.Remove(c.place)
	c.place = nil
	t.waiting--
	if s.waiting.Len() == 0 {
		delete(t.sources, c.from)
	}
}

// cut closes an evicted connection, and leaves nothing of it in the kernel.
func (t *Table) cut(c *Conn) {
	if c == nil {
		return
	}
	t.log.Warn("a connection that waited longest was closed, since its address has as many as may wait", "address", c.from, "after", time.Since(c.began).Round(time.Millisecond))
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// acquireSlot counts one more open connection or request, and returns its holder: the principal, or
// the address without one. The caller holds mu.
func (t *Table) acquireSlot(principal string, from netip.Addr) (holder string, err error) {
	holder, most := principal, t.limits.Principal
	if principal == "" {
		holder, most = "address "+from.String(), t.bound(from)
	}
	most = min(most, max(1, t.limits.Open-t.limits.Open/4)) // no principal gets all
	switch {
	case t.holders[holder] >= most:
		err = fmt.Errorf("%s has %d connections and requests under way already, which is its limit: close some, or try again later", holder, most)
	case t.open >= t.limits.Open:
		err = fmt.Errorf("%d connections and requests are under way, which is the limit: try again later", t.limits.Open)
	default:
		t.holders[holder]++
		t.open++
		return holder, nil
	}
	t.counts.Refused++
	return "", err
}

// give releases a slot of acquireSlot. The caller holds mu.
func (t *Table) give(holder string) {
	t.open--
	if t.holders[holder]--; t.holders[holder] <= 0 {
		delete(t.holders, holder)
	}
}
