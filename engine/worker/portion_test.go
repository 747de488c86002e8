package worker

import (
	"errors"
	"io"
	"maps"
	"testing"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/layout"
)

// A reader with a portion gets each of its partitions of each of its writers once, and few of very
// many wait at a time.
func TestAPortionIsReadPartitionByPartition(t *testing.T) {
	const low, high, first, end = 10, 10 + 3*partitionsAtOnce + 1, 1, 4
	start := &wire.StartAttempt{Attempt: 7, Portion: &wire.Portion{Low: low, High: high, First: first, End: end}}
	in := newInputs(start, &place{}, newTold().reports, nil)
	in.built(&layout.Layout{}, &keptFolders{})
	port := &inPort{name: "in", merge: channel.NewMerge(1)}
	in.opened(port)
	r := storedReader{port: port, c: layout.Connection{Connection: &wire.Connection{Store: "kept"}}, low: first, high: end, portion: start.Portion}
	if want := (end - first) * (high - low); r.sources() != want {
		t.Errorf("it reads %d sources, want %d", r.sources(), want)
	}
	port.left += r.sources()
	in.readers = append(in.readers, r)
	in.allExpected(port)
	var sources []*wire.Source
	for from := range uint32(6) { // others are not read
		sources = append(sources, &wire.Source{From: from, Attempt: uint64(from)})
	}
	in.update(sources, 0)
	got := map[int]int{}
	for {
		if most := (end - first) * partitionsAtOnce; port.ahead > most {
			t.Fatalf("%d sources wait, want at most %d", port.ahead, most)
		}
		s, err := port.merge.NextSource(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got[s.From()]++
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := high - low; !maps.Equal(got, map[int]int{1: n, 2: n, 3: n}) || in.known.count != 3 { // 0, 4 and 5 are not read
		t.Errorf("so many partitions of each writer were read: %v, want %d of 1 to 3; %d are kept", got, n, in.known.count)
	}
}

// Sources that are made later begin where those before ended.
func TestPartitionsAreMadeInOrder(t *testing.T) {
	for _, n := range []int{1, partitionsAtOnce, partitionsAtOnce + 1, 5*partitionsAtOnce - 1} {
		in := newInputs(&wire.StartAttempt{}, &place{}, newTold().reports, nil)
		list := in.partitionsOf(nil, &partitions{inputs: in, port: &inPort{}}, 7, n)
		for i := 0; i < len(list); i++ {
			s := list[i]
			if s.partition != 7+i {
				t.Fatalf("source %d of %d is of partition %d, want %d", i, n, s.partition, 7+i)
			}
			if s.rest > 0 {
				list = in.partitionsOf(list, &s.partitions, s.partition+1, s.rest)
			}
		}
		if len(list) != n {
			t.Errorf("there are %d sources, want %d", len(list), n)
		}
	}
}

// A reader gets the sources that came before it in the order in which they came.
func TestSourcesKeepTheirOrder(t *testing.T) {
	in := newInputs(&wire.StartAttempt{Attempt: 7}, &place{}, newTold().reports, nil)
	in.built(&layout.Layout{}, &keptFolders{})
	const n = 100
	var sources []*wire.Source
	for i := range uint32(n) {
		sources = append(sources, &wire.Source{From: i * 7 % n, Attempt: uint64(i)})
	}
	in.update(sources[:n/2], 0)
	in.update(sources[n/2:], 0)
	port := &inPort{name: "in", merge: channel.NewMerge(n)}
	in.opened(port)
	in.addReader(storedReader{port: port, c: layout.Connection{Connection: &wire.Connection{Store: "kept"}}, high: n, portion: &wire.Portion{High: 1, End: n}})
	in.allExpected(port)
	in.allReaders()
	for i := range n {
		s, err := port.merge.NextSource(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if want := i * 7 % n; s.From() != want {
			t.Fatalf("source %d is of node %d, want %d", i, s.From(), want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(in.order) > 0 || in.known.count > 0 {
		t.Errorf("%d sources are remembered, and %d known", len(in.order), in.known.count)
	}
}
