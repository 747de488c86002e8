package dataflow

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint/codectest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func TestShareNeverOverflows(t *testing.T) {
	const huge = 1<<63 - 1
	for _, c := range []struct{ x, part, whole, want int64 }{
		{100, 1, 4, 25},
		{huge, huge, huge, huge},
		{huge, 1, huge, 1},
		{5, 10, 4, 5}, // a part is never more than the whole
		{5, 1, 0, 0},
		{-5, 1, 2, 0},
	} {
		if got := share(c.x, c.part, c.whole); got != c.want {
			t.Errorf("share(%d, %d, %d) = %d, want %d", c.x, c.part, c.whole, got, c.want)
		}
	}
}

// obvious is a simple model of an all-to-all connection.
type obvious struct {
	where map[int]scheduler.LauncherID // the writers with outputs
	size  map[int]int64
}

// After any history, the counts of an all-to-all connection are those of the writers that are
// there. A reader has the last count once all updates were sent. The bytes at a place are the sum
// over its writers, and the largest places are reported. The state is read back as written.
func TestAllToAllAgainstTheObvious(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		writers, readers := rapid.IntRange(1, 30).Draw(t, "writers"), rapid.IntRange(1, 5).Draw(t, "readers")
		n, o := NewConnection(writers, readers, true), obvious{map[int]scheduler.LauncherID{}, map[int]int64{}}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			from := rapid.IntRange(0, writers-1).Draw(t, "from")
			delta := 0
			if _, there := o.where[from]; there && rapid.Bool().Draw(t, "lose") {
				n.Lose(from, o.where[from])
				delete(o.where, from)
				delta = -1
			} else {
				old, size, where := o.where[from], rapid.Int64Range(0, 1000).Draw(t, "size"), scheduler.LauncherID(rapid.IntRange(1, 25).Draw(t, "where"))
				if n.Put(from, size, nil, where, old) {
					delta = 1
				}
				o.where[from], o.size[from] = where, size
			}
			if delta != 0 {
				for n.Updating() {
					n.UpdateNext()
				}
				n.CountAll(delta, rapid.Bool().Draw(t, "tell"))
			}
			if err := n.Check(nil); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "write") {
				n = readBack(t, &n)
			}
		}
		for n.Updating() {
			n.UpdateNext()
		}
		for reader := range readers {
			if n.KnownWriters(reader) != len(o.where) {
				t.Fatalf("reader %d knows of %d writers, and %d are there", reader, n.KnownWriters(reader), len(o.where))
			}
		}
		if n.Complete() != (len(o.where) == writers) || n.Done() != len(o.where) {
			t.Fatalf("%d are done, complete: %t", n.Done(), n.Complete())
		}
		o.places(t, &n)
	})
}

// places compares the places that a connection finds with the sums over its writers. Every third
// launcher is not up, and two share a host.
func (o obvious) places(t *rapid.T, n *Connection) {
	where := func(id scheduler.LauncherID) (string, string, bool) {
		return fmt.Sprint("host", id/2), "rack", id%3 != 0
	}
	sums := map[string]int64{}
	for from, id := range o.where {
		if host, _, up := where(id); up && o.size[from] > 0 {
			sums[host] += o.size[from]
		}
	}
	type place struct {
		host  string
		bytes int64
	}
	var want []place
	for host, size := range sums {
		want = append(want, place{host, size})
	}
	slices.SortFunc(want, func(a, b place) int { return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.host, b.host)) })
	n.find(1, where)
	var got []place
	for _, p := range n.largest.places {
		got = append(got, place{p.Host, p.Bytes})
	}
	if want = want[:min(len(want), scheduler.PlacesMax)]; !slices.Equal(got, want) {
		t.Fatalf("the places are %v, want %v", got, want)
	}
	n.find(2, func(scheduler.LauncherID) (string, string, bool) { return "", "", false })
	if len(n.largest.places) > 0 {
		t.Fatal("places on launchers that are gone")
	}
}

// A reader keeps the earlier count until its turn to be updated comes.
func TestReadersAreToldOneAfterTheOther(t *testing.T) {
	n := NewConnection(2, 3, true)
	n.Put(0, 10, []int64{1, 2, 7}, 1, 0)
	n.CountAll(1, false)
	n.Put(1, 10, []int64{1, 2, 7}, 2, 0)
	n.CountAll(1, true)
	if reader, old, now, yes := n.UpdateNext(); reader != 0 || old != 1 || now != 2 || !yes {
		t.Errorf("reader %d is told %d, then %d: %t", reader, old, now, yes)
	}
	if a, b := n.KnownWriters(0), n.KnownWriters(1); a != 2 || b != 1 {
		t.Errorf("the first knows of %d writers, the second of %d", a, b)
	}
	if n.Input(2) != 14 {
		t.Errorf("the last gets %d bytes", n.Input(2))
	}
}

func readBack(t *rapid.T, n *Connection) Connection {
	was := codectest.Bytes(t, n.Code)
	clone, back := n.Clone(), Connection{all: n.all, needed: n.needed} // they come from the plan
	codectest.Read(t, was, back.Code)
	if !bytes.Equal(codectest.Bytes(t, back.Code), was) || !bytes.Equal(codectest.Bytes(t, clone.Code), was) {
		t.Fatal("it comes back as another state")
	}
	return back
}
