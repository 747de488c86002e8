package placement

// place decides one undecided group: it finds the cheapest path from the group
// to the sink and sends a unit of flow along it, which may move others.
func (f *flow) place(g int32) {
	s := f.search
	s.begin(0) // the way over the unscheduled vertex
	s.end = g
	f.leave(g, -f.groups[g].out)
	f.walk(nil)
	f.raise()
	f.send(g)
}

// choose seats the cheapest so many of the waiting groups: it sends units from
// the source one by one, each along the cheapest path there is from any group.
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
		if s.end < 0 {
			return // nobody is better off with a seat
		}
		f.raise()
		first := f.send(-1)
		for _, g := range s.pulled {
			if g != first {
				sources.push(f.cheapest(g), g)
			}
		}
		s.pulled = s.pulled[:0]
	}
}

// cheapest is what the cheapest seat would cost a group, over staying out.
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

// walk runs the search until no shorter path can be found. sources are groups
// from which paths may start too, by the least they can cost.
func (f *flow) walk(sources *queue) {
	s := f.search
	for {
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

// pull starts paths at the next source, if it is still the next: prices have
// risen since its key was computed.
func (f *flow) pull(sources *queue) {
	e := sources.pop()
	if now := f.cheapest(e.v); now > e.key {
		sources.push(now, e.v)
		return
	}
	f.search.pulled = append(f.search.pulled, e.v)
	f.leave(e.v, -f.groups[e.v].out)
}

// expand goes on from a vertex.
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

// leave follows the edges of a group; base is what the way to it costs, less
// what it pays where it is.
func (f *flow) leave(g int32, base int64) {
	m := &f.groups[g]
	if len(m.avoid) > 0 {
		for l := range f.size {
			if !m.avoids(int32(l)) {
				f.reach(int32(l), base+f.costAt(m, int32(l))+f.price[l], g)
			}
		}
		return
	}
	for _, a := range m.hosts {
		for _, l := range f.t.hosts[a.to] {
			f.reach(l, base+a.cost+f.price[l], g)
		}
	}
	for _, a := range m.racks {
		f.reachRack(a.to, base+a.cost+f.rackPrice[a.to], g)
	}
	cluster := int32(len(f.size) + len(f.rackPrice))
	d := base + m.far
	if f.idleAll > 0 {
		f.search.finish(cluster, d, g)
		return
	}
	if d += f.clusterPrice(); f.search.closer(cluster, d, g) {
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

// raise raises the prices of what was reached more cheaply than the end of the
// path, so that they prove the new flow.
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

// send moves the groups on the path, from its end to its start, which it returns.
// start is the group at which the path starts; -1: the one that has no seat.
func (f *flow) send(start int32) int32 {
	s := f.search
	g, l := s.end, s.target
	switch {
	case l >= 0:
		l = f.idleIn(l)
	case g == start:
		f.groups[g].at = stayedOut
		return g
	default: // g leaves its seat to the one before it
		l = f.groups[g].at
		f.unseat(g)
		g = s.group[l]
	}
	for {
		old := f.groups[g].at
		if old >= 0 {
			f.unseat(g)
		}
		f.seat(g, l)
		if old < 0 {
			return g
		}
		l = old
		g = s.group[l]
	}
}

// idleIn returns an idle launcher: the vertex itself, or one of the rack or
// of the cluster. Equals are taken in turn, which spreads work.
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
