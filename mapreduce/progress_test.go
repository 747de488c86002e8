package mapreduce

import (
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce/internal/sorting"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// listener is an engine that records progress.
type listener struct {
	job.Runtime
	heard []float64
}

func (l *listener) Progress(done float64) { l.heard = append(l.heard, done) }

// merged are so many pairs of so many keys, sorted.
func merged(t *testing.T, pairs, keys int) *sorting.Merge {
	t.Helper()
	s := sorting.NewSorter(sorting.Options{Folder: t.TempDir()})
	b := &job.Batch{}
	for i := range pairs {
		b.Data = sorting.AppendPair(b.Data, []byte{byte(i % keys)}, nil)
		b.Seal()
	}
	if err := s.Add(b); err != nil {
		t.Fatal(err)
	}
	m, err := s.Merge()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.Close()
		s.Close()
	})
	return m
}

// A reduce task reports how many of its pairs were handed out: after each pair if there are few,
// otherwise after each thousandth, whether they are read by group or one by one.
func TestReduceTellsItsProgress(t *testing.T) {
	for name, read := range map[string]func(*job.Node, *sorting.Merge){
		"by group": func(n *job.Node, m *sorting.Merge) {
			v := newValues(n, m, nil)
			for _, ok := v.group(); ok; _, ok = v.group() {
				v.Next() // the rest is skipped
			}
		},
		"as they come": func(n *job.Node, m *sorting.Merge) {
			p := &Pairs{m: m, told: newTold(n, m)}
			for _, _, ok := p.Next(); ok; _, _, ok = p.Next() {
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			few, many := &listener{}, &listener{}
			read(job.NewNode(few), merged(t, 4, 2))
			if want := []float64{0.25, 0.5, 0.75, 1}; !slices.Equal(few.heard, want) {
				t.Errorf("of four pairs it tells %v, want %v", few.heard, want)
			}
			read(job.NewNode(many), merged(t, 100_000, 7))
			if n := len(many.heard); n < 900 || n > 1000 || !slices.IsSorted(many.heard) || many.heard[n-1] < 0.998 {
				t.Errorf("of very many it tells %d times, up to %v", n, many.heard[n-1])
			}
			none := &listener{}
			read(job.NewNode(none), merged(t, 0, 1))
			if len(none.heard) > 0 {
				t.Errorf("of none it tells %v", none.heard)
			}
		})
	}
}
