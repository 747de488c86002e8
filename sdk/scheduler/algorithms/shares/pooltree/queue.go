package pooltree

// The queue of a pool is a binary heap by its order; each member knows its place,
// so that a change moves only that member. (container/heap costs twice as much,
// for its interface.)

// less orders pools that are below the guaranteed part of their minimum shares first, whatever the
// order. Otherwise preemption would take back the slots that other pools got.
func (s *Schedulable) less(i, j int) bool {
	a, b := s.queue[i], s.queue[j]
	if a.scarce != b.scarce {
		return a.scarce
	}
	return s.order.Less(a, b)
}

func (s *Schedulable) swap(i, j int) {
	s.queue[i], s.queue[j] = s.queue[j], s.queue[i]
	s.queue[i].place, s.queue[j].place = i, j
}

func (s *Schedulable) push(x *Schedulable) {
	x.place = len(s.queue)
	s.queue = append(s.queue, x)
	s.up(x.place)
}

func (s *Schedulable) remove(i int) {
	last := len(s.queue) - 1
	x := s.queue[i]
	if i != last {
		s.swap(i, last)
	}
	s.queue[last] = nil
	s.queue = s.queue[:last]
	x.place = noPlace
	if i != last {
		s.fix(i)
	}
}

func (s *Schedulable) fix(i int) {
	if !s.down(i) {
		s.up(i)
	}
}

func (s *Schedulable) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !s.less(i, parent) {
			return
		}
		s.swap(i, parent)
		i = parent
	}
}

func (s *Schedulable) down(i int) bool {
	start := i
	for {
		child := 2*i + 1
		if child >= len(s.queue) {
			break
		}
		if right := child + 1; right < len(s.queue) && s.less(right, child) {
			child = right
		}
		if !s.less(child, i) {
			break
		}
		s.swap(i, child)
		i = child
	}
	return i > start
}
