package preemptivefair

import (
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/queueorder"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// order lists the waiting jobs of a round in the order in which they would start work if
// slots of each kind came free one by one; nil before the first round. If the policy is not
// work-conserving, jobs that may have no slot now come after all others. Held and collected
// slots are ignored.
func (d *assignment) order() []scheduler.Queued {
	if d == nil {
		return nil
	}
	var l queueorder.List
	for _, kind := range d.kinds {
		l.BeginKind()
		d.turns(kind, &l)
	}
	l.BeginUnserved()
	for _, j := range d.waiting {
		if l.Full() {
			break
		}
		for _, kind := range j.kinds {
			if c := d.requestOf(j, kind); c != nil && c.more > 0 && !l.Knows(j.ID()) {
				l.Add(j.ID(), d.compared(c, kind)+"; slots above its share stay free")
			}
		}
	}
	return l.Queue()
}

// turns simulates what follows the round, with copies of the requests.
func (d *assignment) turns(kind scheduler.SlotKind, l *queueorder.List) {
	q, of := d.line(kind)
	for starts := 0; l.Count() < scheduler.QueueMax; starts++ {
		c := q.next()
		if c == nil || !d.entitled(c, kind) {
			return
		}
		if id := c.job.ID(); !l.Has(id) {
			l.Add(id, d.compared(of[c.nth].now, kind))
		}
		b := of[c.nth].work.Next()
		if b == nil || starts >= queueorder.StartsMax {
			c.done = true
			q.leave(c)
			continue
		}
		n := gangs.Slots(b, kind)
		c.held += n
		c.left = max(0, c.left-n)
		if c.more--; c.more == 0 {
			c.done = true
			q.leave(c)
		} else {
			q.moved(c)
		}
	}
}

// waits is a request after the round, with the work it could start.
type waits struct {
	now  *request
	work view.Walk
}

// line is a queue of copies of the waiting requests, and their originals.
func (d *assignment) line(kind scheduler.SlotKind) (*queue, []waits) {
	copies, of := make([]request, len(d.waiting)), make([]waits, len(d.waiting))
	q := newQueue()
	for i, j := range d.waiting {
		c := d.requestOf(j, kind)
		if c == nil || c.more == 0 {
			continue
		}
		copies[i] = *c
		copies[i].done, copies[i].at = false, -1 // nothing fitted, but other slots may become free
		copies[i].nth = i
		of[i] = waits{c, c.job.Launchable(kind, 0)}
		q.put(&copies[i])
		if c.left > 0 {
			q.due = append(q.due, &copies[i])
		}
	}
	q.begin()
	return q, of
}

// compared explains a request's place in the queue.
func (d *assignment) compared(c *request, kind scheduler.SlotKind) string {
	if c.left > 0 {
		return fmt.Sprintf("new, it has %d %s slots and lacks %d of its first share", c.held, kind, c.left)
	}
	return fmt.Sprintf("it has %d %s slots, its share is %.1f", c.held, kind, d.share(kind))
}
