// Package index keeps summaries of jobs that ended. So neither a list of jobs nor a manager's start reads their files.
//
//	x, err := index.Open("data/history/index.db")
//	err = x.PutEntries(entries)
//	found := x.List(index.Query{Limit: 100})
//	page, err := x.Entries(found.IDs)
//
// # Invariants
//
// Everything in the index is in the jobs' files too. So an index that is lost or damaged is rebuilt from them. Lists are
// made from a table in memory, so a filter that few jobs match costs one scan (a millisecond for 100,000 jobs). A list
// is in order of id, and a page begins after an id, so no page skips or repeats a job.
package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Entry is a job in the index.
type Entry struct {
	Summary  *wire.JobSummary
	Record   uint64 // record of the event log in which the job ended
	Bytes    int64  // size of its file
	Attempts uint64 // of the job
	Kept     uint64 // attempts in the file
}

// ID returns the entry's job.
func (e *Entry) ID() scheduler.JobID { return scheduler.JobID(e.Summary.GetJob()) }

// ErrDamaged says that the index can't be read, and must be rebuilt.
var ErrDamaged = errors.New("the index of jobs that ended is damaged")

// openTimeout bounds the wait for another process that has the file open.
const openTimeout = 5 * time.Second

// jobsBucket has an entry for each job, by its id.
var jobsBucket = []byte("jobs")

// Index is an open index. Safe for concurrent use.
type Index struct {
	db      *bbolt.DB
	damaged atomic.Bool
	writing sync.Mutex // held while the file and the table change
	mu      sync.RWMutex
	table   table // of the file's entries
}

// Open opens the index, or makes an empty one if there is no file. The error is ErrDamaged, or that of the file system,
// or says that another process has the file open.
func Open(path string) (*Index, error) {
	x := &Index{}
	err := x.guarded(func() (err error) {
		x.db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: openTimeout, FreelistType: bbolt.FreelistMapType})
		return err
	})
	var system syscall.Errno
	switch {
	case errors.Is(err, bbolterrors.ErrTimeout):
		return nil, fmt.Errorf("index %s is in use by another process", path)
	case errors.As(err, &system):
		return nil, err
	case err != nil: // all other errors are about the file's content
		return nil, fmt.Errorf("%s: %w: %w", path, ErrDamaged, err)
	}
	made := false
	err = x.view(func(tx *bbolt.Tx) error {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return err
		case info.Size() < tx.Size():
			return fmt.Errorf("%s: %w: it is cut off: it has %d bytes of %d", path, ErrDamaged, info.Size(), tx.Size())
		}
		made = tx.Bucket(jobsBucket) != nil
		return nil
	})
	if err == nil && !made { // an index that exists is not written to: its disk may be full
		err = x.update(func(tx *bbolt.Tx) error {
			_, err := tx.CreateBucketIfNotExists(jobsBucket)
			return err
		})
	}
	if err == nil {
		err = x.load()
	}
	if err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// load makes the table from the file.
func (x *Index) load() error {
	return x.view(func(tx *bbolt.Tx) error {
		return tx.Bucket(jobsBucket).ForEach(func(key, value []byte) error {
			e, err := decode(value)
			if err == nil && (len(key) != 8 || binary.BigEndian.Uint64(key) != uint64(e.ID())) {
				err = fmt.Errorf("%w: an entry stands at another job's place", ErrDamaged)
			}
			if err == nil {
				x.table.putEntry(e)
			}
			return err
		})
	})
}

// Close closes the file. For a damaged file it does not wait, since bbolt may hold a lock for ever.
func (x *Index) Close() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = x.guarded(x.db.Close) // nothing is lost: each change was durable
	}()
	if !x.damaged.Load() {
		<-done
	}
}

// guarded turns what bbolt does with a damaged file into ErrDamaged: panics, and memory faults beyond the file's end.
func (x *Index) guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, p)
			x.damaged.Store(true)
		}
	}()
	return do()
}

func (x *Index) update(do func(tx *bbolt.Tx) error) error {
	return x.guarded(func() error { return x.db.Update(do) })
}

func (x *Index) view(do func(tx *bbolt.Tx) error) error {
	return x.guarded(func() error { return x.db.View(do) })
}

// PutEntries adds entries, and replaces those of the same jobs. When it returns, all are durable, or none was added.
func (x *Index) PutEntries(entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	return x.change(func(jobs *bbolt.Bucket) error {
		for i := range entries {
			value, err := encode(&entries[i])
			if err == nil {
				err = jobs.Put(number(uint64(entries[i].ID())), value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, func(t *table) {
		for i := range entries {
			t.putEntry(&entries[i])
		}
	})
}

// Remove removes jobs. Jobs that are not in the index are ignored.
func (x *Index) Remove(ids []scheduler.JobID) error {
	if len(ids) == 0 {
		return nil
	}
	return x.change(func(jobs *bbolt.Bucket) error {
		for _, id := range ids {
			if err := jobs.Delete(number(uint64(id))); err != nil {
				return err
			}
		}
		return nil
	}, func(t *table) { t.remove(ids) })
}

// change changes the file, and then the table, once the file is durable.
func (x *Index) change(file func(jobs *bbolt.Bucket) error, then func(*table)) error {
	x.writing.Lock()
	defer x.writing.Unlock()
	if err := x.update(func(tx *bbolt.Tx) error { return file(tx.Bucket(jobsBucket)) }); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	then(&x.table)
	return nil
}

// Get returns a job's entry; nil if the index does not have it.
func (x *Index) Get(id scheduler.JobID) (e *Entry, err error) {
	err = x.view(func(tx *bbolt.Tx) error {
		e, err = get(tx, id)
		return err
	})
	return e, err
}

func get(tx *bbolt.Tx, id scheduler.JobID) (*Entry, error) {
	value := tx.Bucket(jobsBucket).Get(number(uint64(id)))
	if value == nil {
		return nil, nil
	}
	return decode(value)
}

// List finds jobs, the largest id first.
func (x *Index) List(q Query) Found {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.table.list(&q)
}

// Oldest returns the n jobs that ended first, the oldest first.
func (x *Index) Oldest(n int) []Ended {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.table.oldest(n)
}

// Entries reads the entries of jobs, in the order of the ids. Ids that are not in the index are left out.
func (x *Index) Entries(ids []scheduler.JobID) (list []*Entry, err error) {
	err = x.view(func(tx *bbolt.Tx) error {
		list = make([]*Entry, 0, len(ids))
		for _, id := range ids {
			e, err := get(tx, id)
			if err != nil {
				return err
			}
			if e != nil {
				list = append(list, e)
			}
		}
		return nil
	})
	return list, err
}

// Totals returns the number of jobs, and the size of their files in bytes.
func (x *Index) Totals() (jobs int, bytes int64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.table.rows), x.table.bytes
}

// IDs lists all jobs in order of id.
func (x *Index) IDs() []scheduler.JobID {
	x.mu.RLock()
	defer x.mu.RUnlock()
	ids := make([]scheduler.JobID, len(x.table.rows))
	for i := range ids {
		ids[i] = x.table.rows[i].id
	}
	return ids
}

// An entry is a checksum, four numbers, and the summary's message.
const entryStart = 4 + 4*8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func encode(e *Entry) ([]byte, error) {
	b := make([]byte, 4, entryStart)
	for _, n := range []uint64{e.Record, uint64(e.Bytes), e.Attempts, e.Kept} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	b, err := proto.MarshalOptions{}.MarshalAppend(b, e.Summary)
	if err == nil {
		binary.BigEndian.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
	}
	return b, err
}

func decode(b []byte) (*Entry, error) {
	if len(b) < entryStart || binary.BigEndian.Uint32(b) != crc32.Checksum(b[4:], castagnoli) {
		return nil, fmt.Errorf("%w: the checksum of a job's entry does not match", ErrDamaged)
	}
	at := func(i int) uint64 { return binary.BigEndian.Uint64(b[4+8*i:]) }
	e := &Entry{Record: at(0), Bytes: int64(at(1)), Attempts: at(2), Kept: at(3), Summary: &wire.JobSummary{}}
	if err := proto.Unmarshal(b[entryStart:], e.Summary); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return e, nil
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
