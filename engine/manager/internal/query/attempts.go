package query

import (
	"cmp"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// chunkRows is how many rows lie together, and how many are copied before the lock is let go.
const chunkRows = 4096

// attempts are those of a live job: all up to a bound, in order of id. There may be a million, so
// rows hold no pointers; rare fields lie beside them.
type attempts struct {
	chunks   []chunk // none is empty
	len      int
	came     int                    // ever
	span     [2]scheduler.AttemptID // the smallest and the largest id so far; 0: none
	live     []scheduler.AttemptID  // in any order; each row knows its place
	newest   []scheduler.AttemptID  // the last ended ones, in order of their ends: at least as many as are shown
	on       []onName               // launchers, by their numbers in rows
	onNumber map[onName]uint32      // into on
	reasons  reasons
}

// onName is a launcher, by its name alone if only an earlier life of the manager knew it.
type onName struct {
	id   scheduler.LauncherID
	name string
}

// chunk is a run of consecutive rows.
type chunk struct {
	rows     []row
	finished int // of them
}

// row is a facts.Attempt.
type row struct {
	id         scheduler.AttemptID
	bundle     scheduler.BundleID
	run        uint64
	times      [5]scheduler.Time // ready, launched, started, executing, since
	suspended  time.Duration
	work       scheduler.Work
	on         uint32 // into attempts.on
	stage      int32
	index      int32
	place      uint32 // in attempts.live, while it is live
	launchers  uint32 // in the launcher's list, while it is live
	state      changes.State
	outcome    scheduler.AttemptOutcome
	speculates bool
}

func (r *row) lives() bool { return r.state != changes.Ended }

// set fills a row from an attempt.
func (t *attempts) set(r *row, a *changes.Attempt) {
	r.bundle, r.run, r.stage, r.index = a.Bundle, a.Run, a.Stage, a.Index
	r.times = [...]scheduler.Time{a.Ready, a.Launched, a.Started, a.Executing, a.Since}
	r.suspended, r.work, r.state, r.outcome, r.speculates = a.Suspended, a.Work, a.State, a.Outcome, a.Speculative
	r.on = t.numberOf(onName{a.Launcher, a.On})
	t.reasons.set(a.ID, reason{a.Reason, a.For})
}

func (t *attempts) numberOf(on onName) uint32 {
	n, known := t.onNumber[on]
	if !known {
		if t.onNumber == nil {
			t.onNumber = map[onName]uint32{}
		}
		n = uint32(len(t.on))
		t.on, t.onNumber[on] = append(t.on, on), n
	}
	return n
}

// fact is the attempt of a row.
func (t *attempts) fact(job scheduler.JobID, r *row) changes.Attempt {
	why, on := t.reasons.of[r.id], t.on[r.on]
	return changes.Attempt{
		ID: r.id, Job: job, Bundle: r.bundle, Run: r.run, Launcher: on.id, On: on.name, Stage: r.stage, Index: r.index, State: r.state,
		Speculative: r.speculates, Outcome: r.outcome, Ready: r.times[0], Launched: r.times[1], Started: r.times[2], Executing: r.times[3], Since: r.times[4],
		Suspended: r.suspended, Reason: why.text, For: why.beneficiary, Work: r.work,
	}
}

// find returns the chunk and the place of an id, or where it would be.
func (t *attempts) find(id scheduler.AttemptID) (c, i int, found bool) {
	c, exactly := slices.BinarySearchFunc(t.chunks, id, func(c chunk, id scheduler.AttemptID) int { return cmp.Compare(c.rows[0].id, id) })
	if exactly {
		return c, 0, true
	}
	if c = max(c-1, 0); c >= len(t.chunks) {
		return c, 0, false
	}
	i, found = slices.BinarySearchFunc(t.chunks[c].rows, id, func(r row, id scheduler.AttemptID) int { return cmp.Compare(r.id, id) })
	return c, i, found
}

// get returns the row of an id, or nil. The pointer is valid until rows are added or dropped.
func (t *attempts) get(id scheduler.AttemptID) *row {
	if c, i, found := t.find(id); found {
		return &t.chunks[c].rows[i]
	}
	return nil
}

// add makes the row of a new id. Mostly it is the last.
func (t *attempts) add(id scheduler.AttemptID) *row {
	t.len++
	if t.came++; t.came == 1 {
		t.span[0] = id
	}
	t.span = [2]scheduler.AttemptID{min(t.span[0], id), max(t.span[1], id)}
	c, i, _ := t.find(id)
	switch {
	case len(t.chunks) == 0:
		t.chunks = append(t.chunks, chunk{})
	case len(t.chunks[c].rows) == chunkRows && i == chunkRows:
		c, i = c+1, 0
		t.chunks = slices.Insert(t.chunks, c, chunk{rows: make([]row, 0, chunkRows)}) // mostly more follow
	case len(t.chunks[c].rows) == chunkRows:
		t.split(c)
		c, i, _ = t.find(id)
	}
	t.chunks[c].rows = slices.Insert(t.chunks[c].rows, i, row{id: id})
	return &t.chunks[c].rows[i]
}

// split makes two chunks of one.
func (t *attempts) split(c int) {
	all := t.chunks[c].rows
	half := slices.Clone(all[len(all)/2:])
	t.chunks[c].rows = all[:len(all)/2]
	t.chunks = slices.Insert(t.chunks, c+1, chunk{rows: half})
	t.chunks[c].count()
	t.chunks[c+1].count()
}

func (c *chunk) count() {
	c.finished = 0
	for i := range c.rows {
		if c.rows[i].isFinished() {
			c.finished++
		}
	}
}

func (r *row) isFinished() bool { return !r.lives() && r.outcome == scheduler.Finished }

// addLive adds a live row to the list.
func (t *attempts) addLive(r *row) {
	r.place = uint32(len(t.live))
	t.live = append(t.live, r.id)
}

// end removes it from that list.
func (t *attempts) end(r *row) {
	last := len(t.live) - 1
	moved := t.live[last]
	t.live[r.place] = moved
	t.get(moved).place = r.place
	t.live = t.live[:last]
}

// over notes the end of an attempt; shown is how many ended attempts are shown.
func (t *attempts) over(r *row, shown int) {
	if r.outcome == scheduler.Finished {
		c, _, _ := t.find(r.id)
		t.chunks[c].finished++
	}
	if len(t.newest) >= max(2*shown, 16) {
		t.newest = append(t.newest[:0], t.newest[len(t.newest)-shown:]...)
	}
	t.newest = append(t.newest, r.id)
}

// shrink drops ended attempts when more than most are kept: the finished ones of the oldest chunk;
// if no chunk has any, all ended ones of the oldest chunk with some. Shown attempts stay.
func (t *attempts) shrink(most int) {
	if t.len-len(t.live) <= most {
		return
	}
	shown := make(map[scheduler.AttemptID]bool, len(t.newest))
	for _, id := range t.newest {
		shown[id] = true
	}
	for c := range t.chunks {
		if t.chunks[c].finished > 0 && t.drop(c, func(r *row) bool { return r.isFinished() && !shown[r.id] }) {
			return
		}
	}
	for c := range t.chunks {
		if t.drop(c, func(r *row) bool { return !r.lives() && !shown[r.id] }) {
			return
		}
	}
}

// drop drops rows of a chunk, and reports whether there were any.
func (t *attempts) drop(c int, which func(*row) bool) bool {
	rows := t.chunks[c].rows
	left := make([]row, 0, len(rows))
	for i := range rows {
		if which(&rows[i]) {
			t.reasons.forget(rows[i].id)
		} else {
			left = append(left, rows[i])
		}
	}
	if len(left) == len(rows) {
		return false
	}
	t.len -= len(rows) - len(left)
	t.chunks[c].rows = slices.Clone(left)
	t.chunks[c].count()
	if len(left) == 0 {
		t.chunks = slices.Delete(t.chunks, c, c+1)
	}
	return true
}
