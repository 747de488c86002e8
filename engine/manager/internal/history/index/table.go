package index

import (
	"cmp"
	"slices"
	"strings"
	"unique"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// table has the fields of each job that lists filter by: 72 bytes, and its name. So a list reads only the entries that it
// returns.
type table struct {
	rows  []row // in order of id
	bytes int64 // size of all jobs' files
}

type row struct {
	id               scheduler.JobID
	submitted, ended int64 // nanoseconds since 1970
	bytes            int64
	name             string
	user, pool       unique.Handle[string]
	state            wire.JobState
}

func (t *table) find(id scheduler.JobID) (at int, there bool) {
	return slices.BinarySearchFunc(t.rows, id, func(r row, id scheduler.JobID) int { return cmp.Compare(r.id, id) })
}

// putEntry adds an entry, or replaces that of the same job.
func (t *table) putEntry(e *Entry) {
	s := e.Summary
	r := row{e.ID(), s.GetSubmitted(), s.GetEnded(), e.Bytes, s.GetName(), unique.Make(s.GetUser()), unique.Make(s.GetPool()), s.GetState()}
	t.bytes += r.bytes
	at, there := t.find(r.id)
	if !there {
		t.rows = slices.Insert(t.rows, at, r)
		return
	}
	t.bytes -= t.rows[at].bytes
	t.rows[at] = r
}

// remove removes jobs.
func (t *table) remove(ids []scheduler.JobID) {
	ids = slices.Sorted(slices.Values(ids))
	t.rows = slices.DeleteFunc(t.rows, func(r row) bool {
		_, gone := slices.BinarySearch(ids, r.id)
		if gone {
			t.bytes -= r.bytes
		}
		return gone
	})
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
	m := newMatcher(q)
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
	user, pool unique.Handle[string]             // of the query, where it has them
	pairs      map[[2]unique.Handle[string]]bool // results of Query.Fits, by user and pool
}

func newMatcher(q *Query) *matcher {
	m := &matcher{q: q, pairs: map[[2]unique.Handle[string]]bool{}}
	if q.User != nil {
		m.user = unique.Make(*q.User)
	}
	if q.Pool != nil {
		m.pool = unique.Make(*q.Pool)
	}
	return m
}

func (m *matcher) fits(r *row) bool {
	q := m.q
	if q.User != nil && r.user != m.user || q.Pool != nil && r.pool != m.pool || len(q.States) > 0 && !slices.Contains(q.States, r.state) {
		return false
	}
	if r.submitted < q.Since || q.Name != "" && !strings.Contains(r.name, q.Name) {
		return false
	}
	if q.Fits == nil {
		return true
	}
	pair := [2]unique.Handle[string]{r.user, r.pool}
	fits, asked := m.pairs[pair]
	if !asked {
		fits = q.Fits(r.user.Value(), r.pool.Value())
		m.pairs[pair] = fits
	}
	return fits
}
