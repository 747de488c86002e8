package sorting

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// Options are a Sorter's settings.
type Options struct {
	Folder string // for runs; it must exist
	Memory int64  // bytes that pairs may take; MemoryMin when less
	Fold   Fold   // nil: all values are kept
	// Compare is the order of keys; nil: as byte strings. Keys that it calls equal are ordered by
	// their bytes. An inconsistent Compare is an error of Add, Merge or Merge.Next, once its
	// results show it.
	Compare Compare
	// Decoded is Compare for keys that must be decoded first; it takes precedence over Compare.
	Decoded *Decoded
}

func (o *Options) order() order { return order{o.Compare, o.Decoded} }

// MemoryMin is the least budget: enough for two runs to be merged.
const MemoryMin = 1 << 20

// Sorter gathers pairs. Call Add for all pairs, then Merge once; Close in any case.
type Sorter struct {
	o       Options
	records records  // without a fold
	table   *Table   // with a fold
	runs    []string // paths
	held    []int64  // pairs in each of runs
	made    int      // runs ever made, for their names
	spilled int64    // pairs written to runs
	largest int      // bytes of the largest record, which bounds a run's block
}

// NewSorter makes a Sorter.
func NewSorter(o Options) *Sorter {
	o.Memory = max(o.Memory, MemoryMin)
	s := &Sorter{o: o, records: newRecords(o.Memory)}
	if o.Fold != nil {
		s.table = NewTable(o.Fold)
		s.table.salt = gathererSalt
	}
	return s
}

// Spilled is the number of pairs written to disk so far.
func (s *Sorter) Spilled() int64 { return s.spilled }

// Add takes ownership of a batch of pairs, and recycles it.
func (s *Sorter) Add(b *job.Batch) error {
	if err := s.add(b); err != nil {
		return err
	}
	job.PutBatch(b)
	return nil
}

func (s *Sorter) add(b *job.Batch) error {
	if s.table != nil {
		return s.addFolded(b)
	}
	s.largest = max(s.largest, longest(b))
	for i := 0; ; {
		var err error
		if i, err = s.records.addBatch(b, i); err != nil || i == b.Len() {
			return err
		}
		if err := s.spill(); err != nil {
			return err
		}
	}
}

// longest returns the size of a batch's longest record, or the whole size of a batch of at most
// BatchBytes, which bounds it.
func longest(b *job.Batch) int {
	if len(b.Data) <= job.BatchBytes {
		return len(b.Data)
	}
	n, start := uint32(0), uint32(0)
	for _, end := range b.Ends {
		n, start = max(n, end-start), end
	}
	return int(n)
}

func (s *Sorter) addFolded(b *job.Batch) error {
	for record := range b.All() {
		key, value, err := Split(record)
		if err != nil {
			return err
		}
		if err := s.table.Add(key, value); err != nil {
			return err
		}
		if s.table.Bytes() > s.o.Memory {
			if err := s.spill(); err != nil {
				return err
			}
		}
	}
	return nil
}

// memory returns cursors over the pairs in memory, sorted; none if there are none.
func (s *Sorter) memory() (cursors []cursor, err error) {
	if s.table != nil {
		if err := s.table.settle(); err != nil || s.table.Len() == 0 {
			return nil, err
		}
		for _, refs := range s.table.sorted(s.o.order()) {
			cursors = append(cursors, &tableCursor{refs: refs, table: s.table})
		}
		return cursors, nil
	}
	if len(s.records.refs) == 0 {
		return nil, nil
	}
	r := &s.records
	for _, refs := range sortRefs(r.refs, s.o.order(), r.key) {
		cursors = append(cursors, &recordCursor{refs: refs, records: r})
	}
	return cursors, nil
}

// spill writes the pairs in memory to a run.
func (s *Sorter) spill() error {
	cursors, err := s.memory()
	if len(cursors) == 0 || err != nil {
		return err
	}
	c := cursors[0]
	if len(cursors) > 1 {
		if c, err = newMerge(s.o.order(), cursors); err != nil {
			return err
		}
	}
	if err := s.write(c); err != nil {
		return err
	}
	s.spilled += s.pairs()
	if s.table != nil {
		s.table.Reset()
	}
	s.records.reset()
	return nil
}

// pairs is the number of pairs in memory.
func (s *Sorter) pairs() int64 {
	if s.table != nil {
		return int64(s.table.Len())
	}
	return int64(len(s.records.refs))
}

// bytes is the memory that the pairs take.
func (s *Sorter) bytes() int64 {
	if s.table != nil {
		return s.table.Bytes()
	}
	return s.records.bytes()
}

// write makes a run of all pairs that a cursor yields.
func (s *Sorter) write(c cursor) error {
	path := filepath.Join(s.o.Folder, fmt.Sprintf("run-%d", s.made))
	s.made++
	w, err := createRun(path)
	if err != nil {
		return err
	}
	s.runs, s.held = append(s.runs, path), append(s.held, 0)
	pairs := &s.held[len(s.held)-1]
	check := orderCheck{order: s.o.order()}
	for {
		ok, err := c.next()
		if err != nil {
			return errors.Join(err, w.abort())
		}
		if !ok {
			return w.close()
		}
		if err := check.next(c.key()); err != nil {
			return errors.Join(err, w.abort())
		}
		if err := w.add(c.key(), c.value()); err != nil {
			return errors.Join(err, w.abort())
		}
		*pairs++
	}
}

// Merge returns all pairs in order of key. After Merge, only Close may be called.
func (s *Sorter) Merge() (*Merge, error) {
	if len(s.runs) == 0 {
		return s.mergeWith(nil)
	}
	// During a merge the blocks of runs need the memory of the pairs.
	if s.bytes() > s.o.Memory/2 {
		if err := s.spill(); err != nil {
			return nil, err
		}
		s.table, s.records = nil, records{}
	}
	fan := s.fanIn()
	for len(s.runs) > fan {
		// The first pass merges only as many runs as make the later passes full.
		if err := s.mergeSome(min(fan, len(s.runs)-fan+1)); err != nil {
			return nil, err
		}
	}
	cursors, err := openRuns(s.runs)
	if err != nil {
		return nil, err
	}
	return s.mergeWith(cursors)
}

// mergeWith merges cursors and the pairs in memory.
func (s *Sorter) mergeWith(cursors []cursor) (*Merge, error) {
	memory, err := s.memory()
	if err != nil {
		for _, c := range cursors {
			err = errors.Join(err, c.close())
		}
		return nil, err
	}
	total := s.pairs()
	for _, n := range s.held {
		total += n
	}
	m, err := s.foldedMerge(append(cursors, memory...))
	if err != nil {
		return nil, err
	}
	m.all = total
	return m, nil
}

// fanInMax bounds the files that are open at once.
const fanInMax = 128

// fanIn is how many runs are merged at once: each needs memory for a block.
func (s *Sorter) fanIn() int {
	block := int64(max(runBlockBytes, s.largest))
	return int(min(max(s.o.Memory/2/block/2, 2), fanInMax))
}

// mergeSome merges the n oldest runs into one.
func (s *Sorter) mergeSome(n int) error {
	some := slices.Clone(s.runs[:n])
	cursors, err := openRuns(some)
	if err != nil {
		return err
	}
	m, err := s.foldedMerge(cursors)
	if err != nil {
		return err
	}
	err = s.write(m)
	if err := errors.Join(err, m.Close()); err != nil {
		return err
	}
	s.runs, s.held = s.runs[n:], s.held[n:]
	for _, path := range some {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// Close removes the runs.
func (s *Sorter) Close() error {
	var errs []error
	for _, path := range s.runs {
		errs = append(errs, os.Remove(path))
	}
	s.runs, s.held, s.table, s.records = nil, nil, nil, records{}
	return errors.Join(errs...)
}
