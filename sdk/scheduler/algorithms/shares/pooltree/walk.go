package pooltree

import "slices"

// Next returns the job that is to be served next with slots of a kind, or nil when none waits. It
// is the first of each pool's queue, from the root.
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

// Waits says whether a job waits in a pool that is not at its maximum. A pool above may be: then
// the pools in that one take slots from each other.
func (t *Tree) Waits(k Kind) bool { return t.root.Of(k).waits(k) }

func (s *Schedulable) waits(k Kind) bool {
	if len(s.queue) > 0 {
		return true // as most that have work: every child in a queue has some
	}
	return slices.ContainsFunc(s.pools, func(n *Node) bool {
		x := n.Of(k)
		return x.place == noPlace && x.waits(k)
	})
}

// Pass leaves a job out until Rewind: it has no use for what there is.
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

// Rewind takes back every Pass of a kind.
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
