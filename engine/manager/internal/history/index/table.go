package index

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// table has the fields of each job that lists filter by: 48 bytes, and texts, which jobs share. So a list reads only the
// entries that it returns.
type table struct {
	rows  []row // in order of id
	bytes int64 // size of all jobs' files
	texts texts
}

type row struct {
	id               scheduler.JobID
	submitted, ended int64 // nanoseconds since 1970
	bytes            int64
	name, user, pool uint32 // numbers in texts
	state            wire.JobState
}

func (t *table) find(id scheduler.JobID) (at int, there bool) {
	return slices.BinarySearchFunc(t.rows, id, func(r row, id scheduler.JobID) int { return cmp.Compare(r.id, id) })
}

// putEntry adds an entry, or replaces that of the same job.
func (t *table) putEntry(e *Entry) {
	s := e.Summary
	r := row{e.ID(), s.GetSubmitted(), s.GetEnded(), e.Bytes, t.texts.add(s.GetName()), t.texts.add(s.GetUser()), t.texts.add(s.GetPool()), s.GetState()}
	t.bytes += r.bytes
	at, there := t.find(r.id)
	if !there {
		t.rows = slices.Insert(t.rows, at, r)
		return
	}
	t.forget(&t.rows[at])
	t.rows[at] = r
}

// remove removes jobs.
func (t *table) remove(ids []scheduler.JobID) {
	ids = slices.Sorted(slices.Values(ids))
	t.rows = slices.DeleteFunc(t.rows, func(r row) bool {
		_, gone := slices.BinarySearch(ids, r.id)
		if gone {
			t.forget(&r)
		}
		return gone
	})
}

func (t *table) forget(r *row) {
	t.bytes -= r.bytes
	for _, n := range []uint32{r.name, r.user, r.pool} {
		t.texts.drop(n)
	}
}

// oldest returns the n jobs that ended first, the oldest first.
func (t *table) oldest(n int) []Ended {
	var list []Ended
	later := func(x, y Ended) int { return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.ID, y.ID)) }
	for i := range t.rows {
		e := Ended{t.rows[i].id, t.rows[i].ended, t.rows[i].bytes}
		if len(list) == n && (n == 0 || later(e, list[n-1]) > 0) {
			continue
		}
		at, _ := slices.BinarySearchFunc(list, e, later)
		list = slices.Insert(list, at, e)
		list = list[:min(len(list), n)]
	}
	return list
}

// Ended is a job with the time of its end, in nanoseconds since 1970, and the size of its file.
type Ended struct {
	ID    scheduler.JobID
	At    int64
	Bytes int64
}

// Query selects jobs: those for which all conditions hold that are set. The zero Query counts all jobs and lists none.
type Query struct {
	States     []wire.JobState // in one of these states; empty: in any
	User, Pool *string         // nil: any
	Name       string          // the job's name contains it
	Since      int64           // submitted at this time or later, in nanoseconds since 1970; 0: at any
	// Fits reports whether jobs of a user in a pool are selected; nil: all are. It is called once for each pair.
	Fits func(user, pool string) bool
	// Without are jobs that are not selected, in order of id.
	Without []scheduler.JobID
	Before  scheduler.JobID // lists only those of smaller ids; 0: all
	Limit   int             // lists at most so many
}

// Found is the result of a Query.
type Found struct {
	IDs     []scheduler.JobID     // of the listed jobs, the largest first
	ByState map[wire.JobState]int // counts all selected jobs, listed or not
}

// list finds jobs in one pass over all rows.
func (t *table) list(q *Query) Found {
	f := Found{ByState: map[wire.JobState]int{}}
	m := matcher{q: q, texts: &t.texts, pairs: map[uint64]bool{}}
	if !m.prepare() {
		return f
	}
	without := q.Without
	for i := range slices.Backward(t.rows) {
		r := &t.rows[i]
		for len(without) > 0 && without[len(without)-1] > r.id {
			without = without[:len(without)-1]
		}
		if len(without) > 0 && without[len(without)-1] == r.id || !m.fits(r) {
			continue
		}
		f.ByState[r.state]++
		if len(f.IDs) < q.Limit && (q.Before == 0 || r.id < q.Before) {
			f.IDs = append(f.IDs, r.id)
		}
	}
	return f
}

// matcher compares rows with a query.
type matcher struct {
	q          *Query
	texts      *texts
	user, pool uint32
	pairs      map[uint64]bool // results of Query.Fits, by the numbers of user and pool
}

// prepare looks up the query's texts. It returns false if no job can fit.
func (m *matcher) prepare() bool {
	there := true
	for _, x := range []struct {
		text   *string
		number *uint32
	}{{m.q.User, &m.user}, {m.q.Pool, &m.pool}} {
		if x.text != nil {
			number, known := m.texts.numbers[*x.text]
			*x.number, there = number, there && known
		}
	}
	return there
}

func (m *matcher) fits(r *row) bool {
	q := m.q
	if q.User != nil && r.user != m.user || q.Pool != nil && r.pool != m.pool || len(q.States) > 0 && !slices.Contains(q.States, r.state) {
		return false
	}
	if r.submitted < q.Since || q.Name != "" && !strings.Contains(m.texts.list[r.name], q.Name) {
		return false
	}
	if q.Fits == nil {
		return true
	}
	pair := uint64(r.user)<<32 | uint64(r.pool)
	fits, asked := m.pairs[pair]
	if !asked {
		fits = q.Fits(m.texts.list[r.user], m.texts.list[r.pool])
		m.pairs[pair] = fits
	}
	return fits
}

// texts gives numbers to texts, so that each is stored once. A text without uses is dropped.
type texts struct {
	numbers map[string]uint32
	list    []string
	uses    []int
	free    []uint32 // numbers without a text
}

func (t *texts) add(text string) uint32 {
	n, known := t.numbers[text]
	switch {
	case known:
		t.uses[n]++
		return n
	case len(t.free) > 0:
		n = t.free[len(t.free)-1]
		t.free = t.free[:len(t.free)-1]
		t.list[n], t.uses[n] = text, 1
	default:
		n = uint32(len(t.list))
		t.list, t.uses = append(t.list, text), append(t.uses, 1)
	}
	if t.numbers == nil {
		t.numbers = map[string]uint32{}
	}
	t.numbers[text] = n
	return n
}

// drop removes one use of a text.
func (t *texts) drop(n uint32) {
	if t.uses[n]--; t.uses[n] == 0 {
		delete(t.numbers, t.list[n])
		t.list[n] = ""
		t.free = append(t.free, n)
	}
}
