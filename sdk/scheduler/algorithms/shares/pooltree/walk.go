package pooltree

import "slices"

// Next returns the job to serve next with slots of a kind, or nil when none waits. It follows the
// first child of each pool's queue from the root.
func (t *Tree) Next(k Kind) *Node { return t.root.NextIn(k) }

// NextIn is Next among the jobs of one pool.
func (n *Node) NextIn(k Kind) *Node {
	for s := n.Of(k); ; s = s.queue[0] {
		if s.IsJob() {
			return s.Node
		}
		if len(s.queue) == 0 {
			return nil
		}
	}
}

// Waits says whether a job waits in a pool that is not at its maximum. A pool above it may be at
// its maximum: then the pools in that one take slots from each other.
func (t *Tree) Waits(k Kind) bool { return t.root.Of(k).waits(k) }

func (s *Schedulable) waits(k Kind) bool {
	if len(s.queue) > 0 {
		return true // the usual case: every child in a queue has work
	}
	return slices.ContainsFunc(s.pools, func(n *Node) bool {
		x := n.Of(k)
		return x.place == noPlace && x.waits(k)
	})
}

// Pass skips a job until Rewind: it has no use for the free slots.
func (t *Tree) Pass(job *Node, k Kind) {
	s := job.Of(k)
	if s.passed {
		return
	}
	s.passed = true
	for len(t.passed) <= int(k) {
		t.passed = append(t.passed, nil)
	}
	t.passed[k] = append(t.passed[k], s)
	s.changed(0, 0)
}

// Rewind undoes every Pass of a kind.
func (t *Tree) Rewind(k Kind) {
	if int(k) >= len(t.passed) {
		return
	}
	for _, s := range t.passed[k] {
		s.passed = false
		s.changed(0, 0)
	}
	clear(t.passed[k])
	t.passed[k] = t.passed[k][:0]
}
