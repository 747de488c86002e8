package pooltree

// Line is a copy of what waits in a tree for slots of a kind. Serving from it does not change the
// tree, so the next jobs can be listed. It is valid while the tree does not change.
type Line struct{ root *Schedulable }

// Line returns the jobs that wait for slots of a kind. It copies all that waits.
func (t *Tree) Line(k Kind) Line {
	root := t.root.Of(k).copied()
	root.own()
	return Line{&root}
}

// copied returns a copy, with copies of its waiting children.
func (s *Schedulable) copied() Schedulable {
	c := *s
	c.queue = make([]*Schedulable, len(s.queue))
	children := make([]Schedulable, len(s.queue))
	for i, x := range s.queue {
		children[i] = x.copied()
		c.queue[i] = &children[i]
	}
	// No time passes in a line, so it needs neither the running children nor the members.
	c.accounts.busy, c.accounts.members, c.account.busy = nil, nil, 0
	return c
}

// own makes the copied children point to their copied parents.
func (s *Schedulable) own() {
	for _, x := range s.queue {
		x.above = s
		x.own()
	}
}

// Next returns the job that comes first, or nil when none waits. Its numbers are those of the line,
// its Node is the tree's.
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

// Leave removes a job from a line, as it has no use for slots.
func (s *Schedulable) Leave() {
	s.passed = true
	s.changed(0, 0)
}
