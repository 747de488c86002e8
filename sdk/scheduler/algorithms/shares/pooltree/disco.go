package pooltree

import (
	"cmp"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// key orders children: jobs by id, pools by path.
type key struct {
	id   scheduler.JobID
	path string
}

func (s *Schedulable) key() key {
	if s.IsJob() {
		return key{id: s.id}
	}
	return key{path: s.Path}
}

func compareKeys(a, b key) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.path, b.path)) }

// discoFair serves the children in turn: each is asked once a lap (Disco's fair policy; Souza and
// Garcia, section 2). A slot never idles while there is work, because a child that can't use it
// loses its turn.
//
// Laps may start from any number. The child served last determines which children had their turn in
// the current lap, so it is the only state.
type discoFair struct{ forgetful }

// lapping is discoFair's state of a pool.
type lapping struct {
	cursor key    // the key of the child served last
	lap    uint64 // the lap in which it was served
}

func (discoFair) Less(a, b *Schedulable) bool {
	return cmp.Or(cmp.Compare(a.turn.lap, b.turn.lap), compareKeys(a.key(), b.key())) < 0
}

func (discoFair) Enter(pool, child *Schedulable) {
	child.turn.lap = pool.laps.lap
	if compareKeys(child.key(), pool.laps.cursor) <= 0 {
		child.turn.lap++
	}
}

func (discoFair) Served(pool, child *Schedulable) {
	pool.laps = lapping{child.key(), child.turn.lap}
	child.turn.lap++
}
