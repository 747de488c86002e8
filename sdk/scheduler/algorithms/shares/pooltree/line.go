package pooltree

// Line is a copy of what waits in a tree for slots of a kind. What is served of it changes
// nothing of the tree, so that the next jobs can be listed. It holds while the tree stays as it is.
type Line struct{ root *Schedulable }

// Line returns the jobs that wait for slots of a kind. It costs a copy of what waits.
func (t *Tree) Line(k Kind) Line {
	root := t.root.Of(k).copied()
	root.own()
	return Line{&root}
}

// copied is a copy with copies of all that waits in it.
func (s *Schedulable) copied() Schedulable {
	c := *s
	c.queue = make([]*Schedulable, len(s.queue))
	children := make([]Schedulable, len(s.queue))
	for i, x := range s.queue {
		children[i] = x.copied()
		c.queue[i] = &children[i]
	}
	// Time stands still in a line: what runs, and which jobs are in a pool, is not asked for.
	c.accounts.busy, c.accounts.members, c.account.busy = nil, nil, 0
	return c
}

// own has what waits point to the copies above it.
func (s *Schedulable) own() {
	for _, x := range s.queue {
		x.above = s
		x.own()
	}
}

// Next returns the job that comes first, or nil when none waits: its numbers are the line's, its Node is
// the tree's.
func (l Line) Next() *Schedulable {
	s := l.root
	for !s.IsJob() {
		if len(s.queue) == 0 {
			return nil
		}
		s = s.queue[0]
	}
	return s
}

// Leave takes a job out of a line: it has no use for slots.
func (s *Schedulable) Leave() {
	s.passed = true
	s.changed(0, 0)
}
