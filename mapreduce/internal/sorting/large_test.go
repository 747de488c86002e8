package sorting

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Runs with large pairs are merged few at a time, since each that is open holds a
// block as large as its largest pair.
func TestLargePairsAreMergedFewAtATime(t *testing.T) {
	const memory, size = 4 << 20, 500 << 10
	s := NewSorter(Options{Folder: t.TempDir(), Memory: memory})
	var want []string
	for i := range 60 {
		key := fmt.Sprintf("%03d", i*37%60)
		want = append(want, key)
		if err := s.Add(batchOf([]pair{{key, strings.Repeat(key, size/3)}})); err != nil {
			t.Fatal(err)
		}
	}
	if held := int64(s.fanIn()) * size; held > memory/2 || s.fanIn() < 2 {
		t.Errorf("%d runs at once hold %d bytes of %d", s.fanIn(), held, memory)
	}
	slices.Sort(want)
	var got []string
	for _, p := range drain(t, s) {
		got = append(got, p.key)
		if p.value != strings.Repeat(p.key, size/3) {
			t.Fatalf("the value of %s is another", p.key)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}
