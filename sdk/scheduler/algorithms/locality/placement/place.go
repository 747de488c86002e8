package placement

// place decides one undecided group: it finds the cheapest path from the group to the sink and
// sends a unit of flow along it, which may move other groups.
func (f *flow) place(g int32) {
	s := f.search
	s.begin(0) // the cost over the unscheduled vertex
	s.end = g
	f.leave(g, -f.groups[g].out)
	f.walk(nil)
	f.raise()
	f.send(g)
}

// choose seats the cheapest of the waiting groups, up to limit. It sends units from the source one
// by one, each along the cheapest path there is from any group.
func (f *flow) choose(limit int) {
	var sources queue
	f.search.pulled = f.search.pulled[:0]
	for _, g := range f.waiting {
		f.groups[g].at = stayedOut
		sources.push(f.cheapest(g), g)
	}
	for range limit {
		s := f.search
		s.begin(0)
		f.walk(&sources)
		if s.end < 0 || s.over() {
			return // no group is better off with a seat
		}
		f.raise()
		first := f.send(-1)
		for _, g := range s.pulled {
			if g != first {
				sources.push(f.cheapest(g), g)
			}
		}
		for _, g := range f.vacated {
			if f.mayChoose(g) {
				sources.push(f.cheapest(g), g)
			}
		}
		s.pulled, f.vacated = s.pulled[:0], f.vacated[:0]
	}
}

// mayChoose says whether a group is without a seat and its class lets it have one.
func (f *flow) mayChoose(g int32) bool {
	m := &f.groups[g]
	return m.at < 0 && (m.class == noClass || f.classes[m.class].left > 0)
}

// cheapest is the cost of a group's cheapest seat, less that of staying out.
func (f *flow) cheapest(g int32) int64 {
	m := &f.groups[g]
	best := int64(never)
	if len(m.avoid) > 0 {
		for l, n := range f.size {
			if n > 0 && !m.avoids(int32(l)) {
				best = min(best, f.costAt(m, int32(l))+f.price[l])
			}
		}
		return best - m.out
	}
	for _, a := range m.hosts {
		for _, l := range f.t.hosts[a.to] {
			if f.size[l] > 0 {
				best = min(best, a.cost+f.price[l])
			}
		}
	}
	for _, a := range m.racks {
		best = min(best, a.cost+f.rackPrice[a.to])
	}
	return min(best, m.far+f.clusterPrice()) - m.out
}

// walk runs the search until no shorter path can be found. sources are groups where paths may also
// start, by a lower bound of their cost.
func (f *flow) walk(sources *queue) {
	s := f.search
	for !s.over() {
		if sources != nil && sources.least() < min(s.heap.least(), s.best) {
			f.pull(sources)
			continue
		}
		if s.heap.least() >= s.best {
			return
		}
		e := s.heap.pop()
		if e.key == s.dist[e.v] {
			f.expand(e.v)
		}
	}
}

// pull starts paths at the next source, if it is still the next: prices have risen since its key
// was computed.
func (f *flow) pull(sources *queue) {
	e := sources.pop()
	if !f.mayChoose(e.v) {
		return
	}
	if now := f.cheapest(e.v); now > e.key {
		sources.push(now, e.v)
		return
	}
	f.search.pulled = append(f.search.pulled, e.v)
	f.leave(e.v, -f.groups[e.v].out)
}

// expand follows the edges from a vertex.
func (f *flow) expand(v int32) {
	s, launchers := f.search, int32(len(f.size))
	d := s.dist[v]
	switch rack := v - launchers; {
	case rack < 0:
		for _, g := range f.seated[v] {
			m := &f.groups[g]
			base := d - f.pays(m)
			s.finish(-1, base+m.out, g)
			f.leave(g, base)
			if m.class != noClass && s.closerClass(m.class, base+m.out, g) {
				f.replace(m.class, base+m.out)
			}
		}
	case int(rack) < len(f.rackPrice):
		for _, l := range f.t.racks[rack] {
			f.reach(l, d-f.rackPrice[rack]+f.price[l], s.group[v])
		}
	default:
		price := f.clusterPrice()
		for r := range f.rackPrice {
			f.reachRack(int32(r), d-price+f.rackPrice[r], s.group[v])
		}
	}
}

// replace follows the edges of all groups of a class without a seat: one of them can get the unit
// of the group that the search recorded for the class. d is the length of the path to the class.
func (f *flow) replace(of int32, d int64) {
	for _, g := range f.classes[of].groups {
		f.search.steps++
		if m := &f.groups[g]; m.at < 0 {
			f.leaveAs(g, g|replacing, d-m.out)
		}
	}
}

// leave follows the edges of a group. base is the length of the path to the group, less what it
// pays where it is.
func (f *flow) leave(g int32, base int64) { f.leaveAs(g, g, base) }

// leaveAs is leave, with the number that is recorded for the group on the edges.
func (f *flow) leaveAs(g, noted int32, base int64) {
	m := &f.groups[g]
	if len(m.avoid) > 0 {
		for l := range f.size {
			if !m.avoids(int32(l)) {
				f.reach(int32(l), base+f.costAt(m, int32(l))+f.price[l], noted)
			}
		}
		return
	}
	for _, a := range m.hosts {
		for _, l := range f.t.hosts[a.to] {
			f.reach(l, base+a.cost+f.price[l], noted)
		}
	}
	for _, a := range m.racks {
		f.reachRack(a.to, base+a.cost+f.rackPrice[a.to], noted)
	}
	cluster := int32(len(f.size) + len(f.rackPrice))
	d := base + m.far
	if f.idleAll > 0 {
		f.search.finish(cluster, d, noted)
		return
	}
	if d += f.clusterPrice(); f.search.closer(cluster, d, noted) {
		f.search.heap.push(d, cluster)
	}
}

func (f *flow) reach(l int32, d int64, g int32) {
	if f.size[l] == 0 {
		return
	}
	s := f.search
	if f.idle[l] > 0 {
		s.finish(l, d, g)
		return
	}
	if s.closer(l, d, g) {
		s.touched = append(s.touched, l)
		s.heap.push(d, l)
	}
}

func (f *flow) reachRack(r int32, d int64, g int32) {
	s, v := f.search, int32(len(f.size))+r
	if f.rackIdle[r] > 0 {
		s.finish(v, d, g)
		return
	}
	if f.rackPrice[r] < never && s.closer(v, d, g) {
		s.heap.push(d, v)
	}
}

// raise raises the prices of the vertices that are nearer than the end of the path, so that they
// prove the new flow.
func (f *flow) raise() {
	s := f.search
	for _, l := range s.touched {
		if by := s.best - s.dist[l]; by > 0 {
			f.price[l] += by
			s.dist[l] = s.best // touched may list it twice
			f.touch(l)
		}
	}
	f.refresh()
}

// send moves the groups on the path, from its end to its start, and returns the start. start is the
// group where the path starts, or -1 for the one without a seat.
func (f *flow) send(start int32) int32 {
	s := f.search
	noted, l := s.end, s.target
	switch {
	case l >= 0:
		l = f.idleIn(l)
	case noted == start:
		f.groups[noted].at = stayedOut
		return noted
	default: // the group leaves its seat to the one before it
		l = f.groups[noted].at
		f.unseat(noted)
		f.reopen(noted)
		noted = s.group[l]
	}
	for {
		g := noted &^ replacing
		m := &f.groups[g]
		old := m.at
		if old >= 0 {
			f.unseat(g)
		}
		f.seat(g, l)
		switch {
		case old >= 0:
			l = old
		case noted != g:
			loser := s.classes[m.class].group
			l = f.groups[loser].at
			f.unseat(loser)
			f.vacated = append(f.vacated, loser)
		default:
			if m.class != noClass {
				f.classes[m.class].left--
			}
			return g
		}
		noted = s.group[l]
	}
}

// reopen records that a class has a free seat again, so that any of its groups may get it.
func (f *flow) reopen(g int32) {
	if c := f.groups[g].class; c != noClass {
		f.classes[c].left++
		f.vacated = append(f.vacated, f.classes[c].groups...)
	}
}

// idleIn returns an idle launcher: the vertex itself, or one of the rack or of the cluster. Equal
// launchers are taken in turn, which spreads work.
func (f *flow) idleIn(v int32) int32 {
	rack := v - int32(len(f.size))
	if rack < 0 {
		return v
	}
	if n := int32(len(f.rackIdle)); rack == n {
		for f.rackIdle[f.turn] == 0 {
			f.turn = (f.turn + 1) % n
		}
		rack = f.turn
		f.turn = (f.turn + 1) % n
	}
	in := f.t.racks[rack]
	at := &f.rackTurn[rack]
	for f.idle[in[*at]] == 0 {
		*at = (*at + 1) % int32(len(in))
	}
	l := in[*at]
	*at = (*at + 1) % int32(len(in))
	return l
}
