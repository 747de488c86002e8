package sorting

import (
	"fmt"
	"testing"
)

// What tables of the map side give, a reducer's table must take at its ease: keys
// that come in order of the same hash would lie in long runs of slots, and each new
// one would go past them all.
func TestTableTakesWhatTablesGive(t *testing.T) {
	for _, format := range []string{"%d", "a key that is longer than a slot %d"} {
		for _, keys := range []int{55_000, 65_000, 75_000, 90_000} { // how full the giving table is matters
			if err := handOver(t, format, keys); err != nil {
				t.Errorf("%d keys such as %q: %v", keys, fmt.Sprintf(format, 0), err)
			}
		}
	}
}

func handOver(t *testing.T, format string, keys int) error {
	const runMax = 500 // slots; half as many are usual
	one := []byte{1, 0, 0, 0, 0, 0, 0, 0}
	from := NewTable(add)
	for i := range keys {
		if err := from.Add(fmt.Appendf(nil, format, i), one); err != nil {
			return err
		}
	}
	s := NewSorter(Options{Folder: t.TempDir(), Memory: 1 << 30, Fold: add})
	defer s.Close()
	return from.All(func(_ uint64, key, value []byte) error {
		if err := s.table.Add(key, value); err != nil || !s.table.full() {
			return err
		}
		if n := longestRun(s.table); n > runMax {
			return fmt.Errorf("%d of %d slots in a row are taken by %d keys", n, len(s.table.slots), s.table.keys)
		}
		return nil
	})
}

func longestRun(t *Table) (longest int) {
	n := 0
	for i := range t.slots {
		if n++; t.slots[i].key == 0 {
			n = 0
		}
		longest = max(longest, n)
	}
	return longest
}
