package placement

import "slices"

// fill finds a use for an idle unit that has a price. It finds the cheapest path, backward from the
// launcher, over which a unit of flow can come, and sends it. That seats a group that stayed out,
// or moves groups and leaves a unit of price 0 idle, or lowers the price to 0. It returns false if
// the price fell to 0 with the unit idle.
func (f *flow) fill(l int32) bool {
	s := f.search
	s.begin(f.price[l])
	s.closer(l, 0, -1)
	s.touched = append(s.touched, l)
	s.heap.push(0, l)
	for s.heap.least() < s.best && !s.over() {
		e := s.heap.pop()
		if e.key == s.dist[e.v] {
			f.expandBack(e.v, l)
		}
	}
	f.lower()
	if s.end < 0 && s.target < 0 {
		return false
	}
	f.pullBack(l)
	return true
}

// expandBack follows the edges backward from a vertex to those from which flow can come to it.
func (f *flow) expandBack(v, start int32) {
	s := f.search
	launchers, racks := int32(len(f.size)), int32(len(f.rackPrice))
	d := s.dist[v]
	switch {
	case v < launchers:
		if v != start {
			s.finish(v, d+f.price[v], -1)
		}
		f.backFromLauncher(v, d)
	case v < launchers+racks:
		f.backOver(f.rackIn[v-launchers], d+f.rackPrice[v-launchers], s.next[v])
	case v == launchers+racks:
		base, to := d+slices.Min(f.rackPrice), s.next[v]
		for g := range f.groups {
			if s.best <= d {
				return
			}
			if m := &f.groups[g]; m.live && len(m.avoid) == 0 {
				f.reachBack(int32(g), base+m.far, to)
			}
		}
	default:
		h := v - launchers - racks - 1
		f.backOver(f.hostIn[h], d+f.least(f.t.hosts[h]), s.next[v])
	}
}

func (f *flow) backFromLauncher(l int32, d int64) {
	s, spot := f.search, f.t.launchers[l]
	launchers, racks := int32(len(f.size)), int32(len(f.rackPrice))
	base := d + f.price[l]
	back := func(v int32, d int64) {
		if s.closer(v, d, -1) {
			s.next[v] = l
			s.heap.push(d, v)
		}
	}
	if len(f.hostIn[spot.host]) > 0 {
		back(launchers+racks+1+spot.host, base-f.least(f.t.hosts[spot.host]))
	}
	if len(f.rackIn[spot.rack]) > 0 {
		back(launchers+spot.rack, base-f.rackPrice[spot.rack])
	}
	back(launchers+racks, base-slices.Min(f.rackPrice))
	for _, g := range f.picky {
		if m := &f.groups[g]; !m.avoids(l) {
			f.reachBack(g, base+f.costAt(m, l), l)
		}
	}
}

func (f *flow) backOver(in []arc, base int64, to int32) {
	for _, a := range in {
		f.reachBack(a.to, base+a.cost, to)
	}
}

// reachBack records that a group could move to a launcher; over is what it would pay there and
// beyond.
func (f *flow) reachBack(g int32, over int64, to int32) {
	s, m := f.search, &f.groups[g]
	if m.at == undecided || m.at == to {
		return
	}
	d := over - f.pays(m)
	if m.at < 0 {
		if d < s.best {
			s.finish(-1, d, g)
			s.last = to
		}
		return
	}
	if s.closer(m.at, d, g) {
		s.next[m.at] = to
		s.touched = append(s.touched, m.at)
		s.heap.push(d, m.at)
	}
}

// lower lowers the prices of the vertices reached, as raise raises them.
func (f *flow) lower() {
	s := f.search
	for _, l := range s.touched {
		if by := s.best - s.dist[l]; by > 0 {
			f.price[l] -= by
			s.dist[l] = s.best
			f.touch(l)
		}
	}
	f.refresh()
}

// pullBack moves the groups on the found path, which ends at an idle launcher.
func (f *flow) pullBack(start int32) {
	s := f.search
	at := s.target
	if at < 0 { // a group that stayed out takes the first seat
		at = s.last
		f.seat(s.end, at)
	}
	for at != start {
		g, to := s.group[at], s.next[at]
		f.unseat(g)
		f.seat(g, to)
		at = to
	}
}
