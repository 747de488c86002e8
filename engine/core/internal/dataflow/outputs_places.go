package dataflow

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// largestPlaces are the places with most output bytes of an all-to-all connection. Its readers
// share them: there may be as many launchers as readers.
type largestPlaces struct {
	places []scheduler.Place // in descending order of bytes, which are those of all readers
	total  int64             // bytes of all writers
	since  uint64            // moves at its computation, plus one; 0: to be computed
}

// Where returns the host and the rack of a launcher; false when it is not up.
type Where func(scheduler.LauncherID) (host, rack string, up bool)

// EachPlace calls f for the places with most of a reader's input over an all-to-all connection,
// with the bytes there. moves counts joins and losses of launchers: a change of it invalidates the
// cached places.
func (n *Connection) EachPlace(reader int, moves uint64, where Where, f func(host, rack string, bytes int64)) {
	n.find(moves, where)
	for _, p := range n.largest.places {
		f(p.Host, p.Rack, share(n.Input(reader), p.Bytes, n.largest.total))
	}
}

// find computes the places, unless they are cached.
func (n *Connection) find(moves uint64, where Where) {
	if n.largest.since == moves+1 {
		return
	}
	n.largest = largestPlaces{since: moves + 1, total: n.total()}
	sums := map[string]scheduler.Place{}
	for _, w := range n.where {
		if host, rack, up := where(w.launcher); up && w.bytes > 0 {
			sums[host] = scheduler.Place{Host: host, Rack: rack, Bytes: sums[host].Bytes + w.bytes}
		}
	}
	n.largest.places = LargestPlaces(sums)
}

// LargestPlaces returns the places with most bytes, at most scheduler.PlacesMax, in order of bytes,
// then host.
func LargestPlaces(sums map[string]scheduler.Place) []scheduler.Place {
	if len(sums) == 0 {
		return nil
	}
	list := make([]scheduler.Place, 0, min(len(sums), scheduler.PlacesMax)+1)
	for _, p := range sums { // most of thousands are smaller than all that are kept
		if len(list) == scheduler.PlacesMax && moreBytes(list[len(list)-1], p) < 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(list, p, moreBytes)
		list = slices.Insert(list, at, p)
		list = list[:min(len(list), scheduler.PlacesMax)]
	}
	return list
}

func moreBytes(a, b scheduler.Place) int {
	return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Host, b.Host))
}
