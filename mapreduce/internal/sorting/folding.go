package sorting

import "bytes"

// folding yields the pairs of a merge with the values of equal keys folded. So a key that is in
// several runs is written and read only once afterwards.
type folding struct {
	merged cursor
	fold   Fold
	most   int    // bytes up to which a value is folded
	k, v   []byte // of the current pair
	ahead  bool   // merged is already at the pair after it
	taken  int64  // pairs that were folded
}

// foldShare is the divisor of a Sorter's memory that bounds a folded value: a value that only grows
// must not be gathered whole in memory.
const foldShare = 8

// foldedMerge merges cursors. With a fold, values of a key in several cursors are folded.
func (s *Sorter) foldedMerge(cursors []cursor) (*Merge, error) {
	m, err := newMerge(s.o.order(), cursors)
	if err != nil || s.o.Fold == nil || len(cursors) < 2 {
		return m, err
	}
	f := &folding{merged: m, fold: s.o.Fold, most: int(s.o.Memory / foldShare)}
	m, err = newMerge(s.o.order(), []cursor{f})
	if err != nil {
		return nil, err
	}
	m.folds = f
	return m, nil
}

func (f *folding) next() (bool, error) {
	if !f.ahead {
		if ok, err := f.merged.next(); !ok || err != nil {
			return false, err
		}
	}
	f.k = append(f.k[:0], f.merged.key()...)
	f.v = append(f.v[:0], f.merged.value()...)
	for {
		f.taken++
		var err error
		if f.ahead, err = f.merged.next(); err != nil {
			return false, err
		}
		if !f.ahead || len(f.v)+len(f.merged.value()) > f.most || !bytes.Equal(f.merged.key(), f.k) {
			return true, nil
		}
		// The sum may lie in any memory, that of either value too.
		f.v = append(f.v[:0], f.fold(f.v, f.merged.value())...)
	}
}

func (f *folding) key() []byte   { return f.k }
func (f *folding) value() []byte { return f.v }
func (f *folding) close() error  { return f.merged.close() }
