package pooltree

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Memory is the state of a tree's orders that no snapshot has. It is small: nothing for fair and
// FIFO pools.
type Memory struct {
	Cursors []Cursor `json:",omitempty"`
	Clocks  []Clock  `json:",omitempty"`
}

// Cursor is the job or pool that was served last in a pool that cycles.
type Cursor struct {
	Pool  string
	Kind  Kind
	Job   scheduler.JobID `json:",omitempty"`
	Child string          `json:",omitempty"` // the pool served last, if it was a pool
}

// Clock is the accounts of a pool that counts deficits.
type Clock struct {
	Pool  string
	Kind  Kind
	Clock int64
	Owed  []Owed `json:",omitempty"`
}

// Owed is a child's deficit by weight, in slot microseconds.
type Owed struct {
	Job   scheduler.JobID `json:",omitempty"`
	Child string          `json:",omitempty"`
	Owed  int64
}

// Memory returns the state of the orders, sorted by pool and kind. It takes time in proportion to
// the pools, and to the members of pools that count deficits.
func (t *Tree) Memory() Memory {
	var m Memory
	for _, p := range append(t.Pools(), t.root) {
		for k, s := range p.kinds {
			if s == nil {
				continue
			}
			if c := s.laps.cursor; c != (key{}) {
				m.Cursors = append(m.Cursors, Cursor{p.Path, Kind(k), c.id, c.path})
			}
			if s.accounts.clock != 0 {
				m.Clocks = append(m.Clocks, Clock{p.Path, Kind(k), s.accounts.clock, s.debts()})
			}
		}
	}
	return m
}

func (s *Schedulable) debts() []Owed {
	var all []Owed
	for _, c := range s.accounts.members {
		if o := c.owed(); o != 0 {
			all = append(all, Owed{c.key().id, c.key().path, o})
		}
	}
	slices.SortFunc(all, func(a, b Owed) int { return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Child, b.Child)) })
	return all
}

// Restore gives the orders of a tree with the same contents their state. State of pools and
// children that are gone is ignored.
func (t *Tree) Restore(m Memory) {
	for _, c := range m.Cursors {
		if p := t.Pool(c.Pool); p != nil {
			s := p.Of(c.Kind)
			s.laps = lapping{cursor: key{c.Job, c.Child}}
			s.again()
		}
	}
	for _, c := range m.Clocks {
		p := t.Pool(c.Pool)
		if p == nil || !p.isTimed() {
			continue
		}
		s := p.Of(c.Kind)
		owed := map[key]int64{}
		for _, o := range c.Owed {
			owed[key{o.Job, o.Child}] = o.Owed
			if child := t.child(p, o); child != nil {
				child.Of(c.Kind) // makes it a member even if it wants nothing now
			}
		}
		s.accounts.clock = c.Clock
		for _, child := range s.accounts.members {
			child.account.deficit = owed[child.key()]
		}
		s.again()
	}
}

// child finds the child that an Owed is about; nil when it is gone.
func (t *Tree) child(pool *Node, o Owed) *Node {
	n := t.jobs[o.Job]
	if o.Job == 0 {
		n = t.pools[o.Child]
	}
	if n == nil || n.Parent != pool {
		return nil
	}
	return n
}

// again makes all children in a queue leave it and enter it anew.
func (s *Schedulable) again() {
	waiting := slices.Clone(s.queue)
	for _, c := range waiting {
		s.remove(c.place)
	}
	for _, c := range waiting {
		s.order.Enter(s, c)
		s.push(c)
	}
}
