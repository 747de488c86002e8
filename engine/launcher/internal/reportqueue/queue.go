// Package reportqueue holds the reports for the manager, and the identity and term of that manager.
//
//	o := reportqueue.New(incarnation)
//	o.JoinManager(manager, term)
//	o.Send(report)
//	o.SendSoon(report) // no slot is idle until the manager has it
//	for range o.Wake() { stream.Send(o.TakeReports(max)) }
//
// Everything is fenced. A report carries the launcher's incarnation and the largest term that was
// seen. A command of an older term, or for another incarnation, is rejected (Admits). Without a
// connection reports are dropped: the inventory of the next join has all that still matters, from
// each attempt's Record.
//
// # Invariants
//
// A report carries this incarnation and the largest term that was seen. Without a connection
// nothing is queued.
package reportqueue

import (
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// Queue is safe for concurrent use. Its lock is held for a moment only, and no other lock is taken
// under it.
type Queue struct {
	wake chan struct{} // holds one: there are reports

	mu          sync.Mutex
	incarnation uint64 // the current one; it only grows
	manager     string // identity of the manager's data; "" before the incarnation's first welcome
	term        uint64 // the largest seen in this incarnation
	connected   bool   // there is a stream for reports
	reports     []*wire.Report
	late        *time.Timer // wakes for reports of SendSoon; nil: none was sent yet
	waiting     bool        // it is set
}

// soonHold is how long a report may wait for others that share its message. Whatever the manager
// decides on it has to arrive before what runs now ends.
const soonHold = time.Millisecond

// New returns the queue of an incarnation that has not joined its manager.
func New(incarnation uint64) *Queue {
	return &Queue{incarnation: incarnation, wake: make(chan struct{}, 1)}
}

// NewIncarnation begins another incarnation, which has not joined any manager.
func (o *Queue) NewIncarnation(incarnation uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.incarnation, o.manager, o.term = incarnation, "", 0
}

// JoinManager sets the manager's identity and term. The queue is empty and connected from now on.
func (o *Queue) JoinManager(manager string, term uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.manager, o.term = manager, term
	o.connected, o.reports = true, nil
}

// Disconnect drops reports until the launcher has joined again.
func (o *Queue) Disconnect() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.connected, o.reports = false, nil
}

// Connected reports whether the launcher is connected to a manager.
func (o *Queue) Connected() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.connected
}

// Manager returns the identity of the manager's data, "" before it is known, and the largest term
// seen.
func (o *Queue) Manager() (identity string, term uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.manager, o.term
}

// Incarnation is the launcher's current incarnation.
func (o *Queue) Incarnation() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.incarnation
}

// Admits reports whether a command is for this incarnation, and its term is not older than that of
// an earlier command.
func (o *Queue) Admits(c *wire.Command) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c.Term < o.term || c.Incarnation != o.incarnation {
		return false
	}
	o.term = c.Term
	return true
}

// Send sets a report's incarnation and term, and queues it. Without a connection the report is
// dropped.
func (o *Queue) Send(r *wire.Report) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.add(r) {
		o.rouse()
	}
}

// SendSoon is Send for a report behind which no slot is idle: it leaves with the next one of Send, after a
// millisecond at most.
func (o *Queue) SendSoon(r *wire.Report) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !o.add(r) || o.waiting:
	case o.late == nil:
		o.late, o.waiting = time.AfterFunc(soonHold, o.due), true
	default:
		o.waiting = true
		o.late.Reset(soonHold)
	}
}

// due sends what SendSoon has queued.
func (o *Queue) due() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting = false
	if len(o.reports) > 0 {
		o.rouse()
	}
}

func (o *Queue) add(r *wire.Report) bool {
	if o.connected {
		r.Incarnation, r.Term = o.incarnation, o.term
		o.reports = append(o.reports, r)
	}
	return o.connected
}

func (o *Queue) rouse() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Wake receives a value when there are reports to take.
func (o *Queue) Wake() <-chan struct{} { return o.wake }

// TakeReports returns the next queued reports, at most max, and only as many as fit into one
// message.
func (o *Queue) TakeReports(max int) []*wire.Report {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, bytes := 0, 0
	for n < min(len(o.reports), max) {
		bytes += proto.Size(o.reports[n]) + reportRoom
		if n > 0 && bytes > wire.LauncherMessageBytesMax/2 {
			break
		}
		n++
	}
	out := o.reports[:n:n]
	if o.reports = o.reports[n:]; len(o.reports) == 0 {
		o.reports = nil
	}
	return out
}

// reportRoom is the most bytes that a report takes in a message beyond its own size.
const reportRoom = 8
