package index

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The lists that a job is in: that of all, and those of its user, its pool and its state. A list's key
// is its kind, the length of a name, and the name; its entries follow it, in order of (end, id).
const (
	all     = 'a'
	byUser  = 'u'
	byPool  = 'p'
	byState = 's'
)

// nameMax is how long a name in a key may be. Of a longer one its hash stands there.
const nameMax = 255

func list(kind byte, name string) []byte {
	if len(name) > nameMax {
		sum := sha256.Sum256([]byte(name))
		name = string(sum[:])
	}
	return append([]byte{kind, byte(len(name))}, name...)
}

func listsOf(s *wire.JobSummary) [][]byte {
	return [][]byte{list(all, ""), list(byUser, s.GetUser()), list(byPool, s.GetPool()), list(byState, s.GetState().String())}
}

// placeBytes are an end and an id.
const placeBytes = 16

func placeOf(e *Entry) []byte {
	return binary.BigEndian.AppendUint64(number(uint64(e.Summary.GetEnded())), uint64(e.ID()))
}

// Query says which jobs are asked for. The zero one asks for all, the newest first.
type Query struct {
	User, Pool string        // "": any
	State      wire.JobState // 0: any
	Oldest     bool          // the oldest first
	After      Cursor        // "": from the beginning
	Limit      int           // at most so many; 0: limitDefault
}

// Cursor is a place in a list. It stays good whatever comes and goes.
type Cursor string

const (
	limitDefault = 100
	// looksMax bounds how many jobs are looked at for one page. Where a page asks for jobs that few
	// are, it may be short, or empty, and its cursor goes on.
	looksMax = 20_000
)

// Page is some of a list.
type Page struct {
	Entries []*Entry
	Next    Cursor // of the page that follows; "": there is none
	// Total is how many the list has; -1: it was asked for by more than one property, and they
	// would have to be counted.
	Total int64
}

// List reads a page. A cursor that no page gave is an error that says so.
func (x *Index) List(q Query) (p Page, err error) {
	place, err := q.After.place()
	if err != nil {
		return p, err
	}
	if q.Limit <= 0 {
		q.Limit = limitDefault
	}
	err = x.view(func(tx *bbolt.Tx) error {
		p = Page{Total: -1}
		prefix, lone := q.list()
		if lone {
			p.Total = countAt(tx.Bucket(countsBucket), prefix)
		}
		w := walk{cursor: tx.Bucket(listsBucket).Cursor(), prefix: prefix, oldest: q.Oldest}
		looks := 0
		for key := w.begin(place); key != nil; key = w.next() {
			if len(p.Entries) == q.Limit || looks == looksMax {
				p.Next = cursorOf(place)
				return nil
			}
			looks++
			place = bytes.Clone(key)
			e, err := get(tx, scheduler.JobID(binary.BigEndian.Uint64(key[8:])))
			if err != nil {
				return err
			}
			if e != nil && q.matches(e.Summary) {
				p.Entries = append(p.Entries, e)
			}
		}
		return nil
	})
	return p, err
}

// list is that which has the fewest others beside what is asked for, and whether it has none.
func (q *Query) list() (prefix []byte, lone bool) {
	asked := 0
	for _, set := range []bool{q.User != "", q.Pool != "", q.State != 0} {
		if set {
			asked++
		}
	}
	switch {
	case q.User != "":
		prefix = list(byUser, q.User)
	case q.Pool != "":
		prefix = list(byPool, q.Pool)
	case q.State != 0:
		prefix = list(byState, q.State.String())
	default:
		prefix = list(all, "")
	}
	return prefix, asked <= 1
}

func (q *Query) matches(s *wire.JobSummary) bool {
	return (q.User == "" || s.GetUser() == q.User) && (q.Pool == "" || s.GetPool() == q.Pool) && (q.State == 0 || s.GetState() == q.State)
}

// walk goes through the places of a list.
type walk struct {
	cursor *bbolt.Cursor
	prefix []byte
	oldest bool
}

// begin finds the first place behind one, or the first of all where that is nil.
func (w *walk) begin(after []byte) []byte {
	if after == nil {
		after = bytes.Repeat([]byte{0xff}, placeBytes) // no job has it
		if w.oldest {
			after = nil
		}
	}
	from := append(bytes.Clone(w.prefix), after...)
	key, _ := w.cursor.Seek(from)
	switch {
	case w.oldest && bytes.Equal(key, from):
		key, _ = w.cursor.Next()
	case w.oldest:
	case key == nil:
		key, _ = w.cursor.Last()
	default:
		key, _ = w.cursor.Prev()
	}
	return w.place(key)
}

func (w *walk) next() []byte {
	step := w.cursor.Prev
	if w.oldest {
		step = w.cursor.Next
	}
	key, _ := step()
	return w.place(key)
}

// place is what follows the list's own key; nil when the list is at its end.
func (w *walk) place(key []byte) []byte {
	if !bytes.HasPrefix(key, w.prefix) || len(key) != len(w.prefix)+placeBytes {
		return nil
	}
	return key[len(w.prefix):]
}

func cursorOf(place []byte) Cursor { return Cursor(base64.RawURLEncoding.EncodeToString(place)) }

func (c Cursor) place() ([]byte, error) {
	if c == "" {
		return nil, nil
	}
	place, err := base64.RawURLEncoding.DecodeString(string(c))
	if err != nil || len(place) != placeBytes {
		return nil, fmt.Errorf("%q is no cursor of a list of jobs: begin the list anew, without one", string(c))
	}
	return place, nil
}
