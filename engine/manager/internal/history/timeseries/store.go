package timeseries

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
)

// Store keeps rows in a file. Rows of the finest tier are written together with those of the next, every ten seconds. A
// process that is killed loses those that it had not written. Safe for concurrent use.
type Store struct {
	path string
	log  *slog.Logger

	mu      sync.Mutex
	db      *bbolt.DB
	summing accumulator
	waiting []ClosedRow // to be written
}

const (
	openTimeout = 5 * time.Second
	// waitingMax bounds the rows in memory while none can be written; the oldest are dropped.
	waitingMax = 10_000
)

// Open opens the file, or makes one if there is none. A damaged file is put aside, and samples begin anew.
func Open(path string, log *slog.Logger) (*Store, error) {
	s := &Store{path: path, log: log}
	err := s.open()
	var system syscall.Errno
	if err != nil && !errors.Is(err, bbolterrors.ErrTimeout) && !errors.As(err, &system) {
		aside := path + ".damaged"
		log.Error("series of samples can't be read: they begin anew", "error", err, "file", path, "movedTo", aside)
		if err := os.Rename(path, aside); err != nil {
			return nil, err
		}
		err = s.open()
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func bucket(tier int) []byte { return []byte(Tiers[tier].Every.String()) }

// open opens the file, and rebuilds the open rows from it.
func (s *Store) open() error {
	s.summing = accumulator{}
	return guarded(func() (err error) {
		if s.db, err = bbolt.Open(s.path, 0o600, &bbolt.Options{Timeout: openTimeout}); err != nil {
			return err
		}
		made := true
		if err := s.db.View(func(tx *bbolt.Tx) error {
			if info, err := os.Stat(s.path); err != nil || info.Size() < tx.Size() {
				return fmt.Errorf("%s is cut off: %w", s.path, err)
			}
			for i := range Tiers {
				made = made && tx.Bucket(bucket(i)) != nil
			}
			return nil
		}); err != nil {
			return err
		}
		if !made { // a file that exists is not written to: its disk may be full
			if err := s.db.Update(makeBuckets); err != nil {
				return err
			}
		}
		return s.db.View(func(tx *bbolt.Tx) error {
			for i := 1; i < len(Tiers); i++ {
				if err := s.resume(tx, i); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func makeBuckets(tx *bbolt.Tx) error {
	for i := range Tiers {
		if _, err := tx.CreateBucketIfNotExists(bucket(i)); err != nil {
			return err
		}
	}
	return nil
}

// resume rebuilds a tier's open row from the rows of the finer tier since the tier's last row.
func (s *Store) resume(tx *bbolt.Tx, tier int) error {
	since := int64(0)
	if key, _ := tx.Bucket(bucket(tier)).Cursor().Last(); len(key) == 8 {
		since = int64(binary.BigEndian.Uint64(key)) + int64(Tiers[tier].Every/time.Second)
	}
	err := readRows(tx.Bucket(bucket(tier-1)), since, math.MaxInt64, func(r *Row) { s.summing.resume(tier, r) })
	if o := s.summing.open[tier-1]; err == nil && o.Samples > 0 {
		s.summing.resume(tier, &o)
	}
	return err
}

// guarded turns panics and memory faults of bbolt, which a damaged file causes, into an error.
func guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the file is damaged: %v", p)
		}
	}()
	return do()
}

// Add adds a sample, and writes the closed rows if it is time. After an error they are written with the next ones.
func (s *Store) Add(sample Row) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sample = sample.Bounded()
	sample.Samples = 1
	s.waiting = append(s.waiting, s.summing.add(sample)...)
	if over := len(s.waiting) - waitingMax; over > 0 {
		s.waiting = slices.Delete(s.waiting, 0, over)
	}
	if len(s.waiting) == 0 || s.waiting[len(s.waiting)-1].Tier == 0 {
		return nil
	}
	return s.write()
}

// Close writes all rows, and closes the file. Rows that are open go on when the file is opened again.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.summing.open[0]; o.Samples > 0 {
		s.waiting = append(s.waiting, ClosedRow{0, o})
	}
	return errors.Join(s.write(), guarded(s.db.Close))
}

// write writes rows, and removes those that are too old.
func (s *Store) write() error {
	err := guarded(func() error {
		return s.db.Update(func(tx *bbolt.Tx) error {
			for _, d := range s.waiting {
				b := tx.Bucket(bucket(d.Tier))
				if err := b.Put(binary.BigEndian.AppendUint64(nil, uint64(d.Row.At)), d.Row.encode()); err != nil {
					return err
				}
				if err := prune(b, d.Row.At-int64(Tiers[d.Tier].Keep/time.Second)); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err == nil {
		s.waiting = nil
	}
	return err
}

func prune(b *bbolt.Bucket, until int64) error {
	c := b.Cursor()
	for key, _ := c.First(); len(key) == 8 && int64(binary.BigEndian.Uint64(key)) <= until; key, _ = c.First() {
		if err := c.Delete(); err != nil {
			return err
		}
	}
	return nil
}

// Rows lists a tier's rows of a time, and the time from one to the next. From and until are seconds since 1970; until is
// not included. The last row may still get samples. If points is not 0, the rows are summed to so many points, as
// Coarse does. Add does not wait for it.
func (s *Store) Rows(tier int, from, until int64, points int) (rows []Row, every time.Duration, err error) {
	if points == 0 {
		err = s.each(tier, from, until, func(r *Row) {
			one := *r
			one.Pools = append([]Pool(nil), r.Pools...) // nil, if there are none
			rows = append(rows, one)
		})
		return rows, Tiers[tier].Every, err
	}
	c := NewCoarse(Tiers[tier], points)
	err = s.each(tier, from, until, c.Add)
	rows, every = c.Rows()
	return rows, every, err
}

// each calls take with each row. The row is overwritten after the call.
func (s *Store) each(tier int, from, until int64, take func(*Row)) error {
	held, tx, err := s.beginTier(tier)
	if err != nil {
		return err
	}
	err = guarded(func() error {
		defer func() { _ = tx.Rollback() }() // it was read only
		return readRows(tx.Bucket(bucket(tier)), from, until, take)
	})
	for i := range held {
		if held[i].At >= from && held[i].At < until {
			take(&held[i])
		}
	}
	return err
}

// beginTier begins to read a tier. It returns the rows that are not in the file, and a view of the file as of the same
// time.
func (s *Store) beginTier(tier int) (held []Row, tx *bbolt.Tx, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range append(slices.Clone(s.waiting), ClosedRow{tier, s.summing.open[tier]}) {
		if d.Tier == tier && d.Row.Samples > 0 {
			d.Row.Pools = slices.Clone(d.Row.Pools)
			held = append(held, d.Row)
		}
	}
	err = guarded(func() (err error) {
		tx, err = s.db.Begin(false)
		return err
	})
	return held, tx, err
}

// readRows calls take with each row. The row is overwritten after the call.
func readRows(b *bbolt.Bucket, from, until int64, take func(*Row)) error {
	c := b.Cursor()
	var r Row
	for key, value := c.Seek(binary.BigEndian.AppendUint64(nil, uint64(from))); len(key) == 8; key, value = c.Next() {
		at := int64(binary.BigEndian.Uint64(key))
		if at >= until {
			break
		}
		if err := r.decode(at, value); err != nil {
			return err
		}
		take(&r)
	}
	return nil
}

// rowForm is the prefix of a row. A changed form of rows needs a new prefix.
const rowForm = "\x00\x00"

func (r Row) encode() (b []byte) {
	put := func(numbers ...uint64) {
		for _, n := range numbers {
			b = binary.AppendUvarint(b, n)
		}
	}
	b = append(b, rowForm...)
	put(r.Samples, r.Slots, r.Free)
	for _, p := range r.Pools {
		put(uint64(len(p.Name)))
		b = append(b, p.Name...)
		put(p.Jobs, p.Asked, p.Running, p.Ready, p.Told, p.Held, p.Own, p.Demand, p.Share)
	}
	return b
}

var errDamaged = errors.New("a row of samples is damaged")

// decode sets a row by its encoding. Names of pools that the row had before are used again, to save memory.
func (r *Row) decode(at int64, b []byte) error {
	bad := false
	take := func() uint64 {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			bad, b = true, nil
			return 0
		}
		b = b[size:]
		return n
	}
	before := r.Pools
	b, found := bytes.CutPrefix(b, []byte(rowForm))
	if !found {
		return errDamaged
	}
	*r = Row{At: at, Samples: take(), Slots: take(), Free: take(), Pools: before[:0]}
	for len(b) > 0 {
		n := take()
		if n > uint64(len(b)) {
			return errDamaged
		}
		p := Pool{}
		if i := len(r.Pools); i < len(before) && before[i].Name == string(b[:n]) {
			p.Name = before[i].Name
		} else {
			p.Name = string(b[:n])
		}
		b = b[n:]
		p.Jobs, p.Asked, p.Running, p.Ready = take(), take(), take(), take()
		p.Told, p.Held, p.Own, p.Demand, p.Share = take(), take(), take(), take(), take()
		r.Pools = append(r.Pools, p)
	}
	if bad || r.Samples == 0 {
		return errDamaged
	}
	return nil
}
