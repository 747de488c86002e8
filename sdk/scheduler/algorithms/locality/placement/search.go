package placement

// searching is the state of one search for a cheapest path: Dijkstra's algorithm on costs reduced
// by the prices, which are never negative. Vertices are numbered launchers first, then racks, the
// cluster vertex, hosts. Groups are passed through at once and need no number.
type searching struct {
	epoch   uint32
	seen    []uint32 // the epoch in which dist was set
	dist    []int64
	group   []int32 // the group on the edge by which the vertex was reached; see replacing
	next    []int32 // searching backward: the launcher that the group would go to
	touched []int32 // launchers reached
	heap    queue
	pulled  []int32        // sources from which the search started
	classes []reachedClass // of groups, by number

	steps, stepsMax int // edges examined, and their bound; 0: none

	best   int64 // length of the shortest whole path so far
	target int32 // its last vertex: a launcher, a rack, the cluster; -1: group end stays out
	end    int32 // the group at its end
	last   int32 // searching backward: the launcher that the group goes to
}

// reachedClass is a search's state of a class of groups.
type reachedClass struct {
	epoch uint32 // in which dist was set
	dist  int64  // to the class, from which each of its groups without a seat can go on
	group int32  // the group of the class that would lose its seat
}

// replacing marks a group without a seat on an edge. It would get the seat of the group that the
// search recorded for its class.
const replacing = int32(1) << 30

func newSearch(t *topology, stepsMax int) *searching {
	n := len(t.launchers) + len(t.racks) + 1 + len(t.hosts)
	return &searching{
		seen: make([]uint32, n), dist: make([]int64, n), group: make([]int32, n), next: make([]int32, n), stepsMax: stepsMax,
	}
}

// over says whether the search has examined more edges than allowed. Its result is then useless.
func (s *searching) over() bool { return s.stepsMax > 0 && s.steps > s.stepsMax }

func (s *searching) begin(best int64) {
	s.epoch++
	if s.epoch == 0 { // it went round: what was seen long ago must not look new
		clear(s.seen)
		clear(s.classes)
		s.epoch = 1
	}
	s.touched, s.heap = s.touched[:0], s.heap[:0]
	s.best, s.target, s.end = best, -1, -1
}

// closer says whether a vertex is reached more cheaply than before, and records it.
func (s *searching) closer(v int32, d int64, group int32) bool {
	s.steps++
	if d >= s.best || s.seen[v] == s.epoch && d >= s.dist[v] {
		return false
	}
	s.seen[v], s.dist[v], s.group[v] = s.epoch, d, group
	return true
}

// closerClass says whether a class is reached more cheaply than before, and records it.
func (s *searching) closerClass(class int32, d int64, group int32) bool {
	for len(s.classes) <= int(class) {
		s.classes = append(s.classes, reachedClass{})
	}
	c := &s.classes[class]
	if c.epoch == s.epoch && d >= c.dist {
		return false
	}
	*c = reachedClass{s.epoch, d, group}
	return true
}

// finish records a whole path.
func (s *searching) finish(target int32, d int64, group int32) {
	s.steps++
	if d < s.best {
		s.best, s.target, s.end = d, target, group
	}
}

// entry is a vertex, or a group, to examine.
type entry struct {
	key int64
	v   int32
}

// queue is a binary heap, least key first.
type queue []entry

func (q *queue) push(key int64, v int32) {
	h := append(*q, entry{key, v})
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if h[up].key <= key {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = entry{key, v}
	*q = h
}

func (q *queue) pop() entry {
	h := *q
	top, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	*q = h
	if len(h) == 0 {
		return top
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && h[c+1].key < h[c].key {
			c++
		}
		if h[c].key >= last.key {
			break
		}
		h[i] = h[c]
		i = c
	}
	h[i] = last
	return top
}

// least returns the least key, or never.
func (q queue) least() int64 {
	if len(q) == 0 {
		return never
	}
	return q[0].key
}
