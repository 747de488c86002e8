package dataflow

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// largestPlaces are the places that hold most of what the writers of an all-to-all connection
// wrote. Its readers share them: there may be as many launchers as readers.
type largestPlaces struct {
	places []scheduler.Place // of most bytes first; their bytes are those of all readers
	total  int64             // bytes of all writers
	since  uint64            // moves when it was found, and one; 0: it is to be found
}

// Where returns the host and the rack of a launcher; false when it is not up.
type Where func(scheduler.LauncherID) (host, rack string, up bool)

// EachPlace calls f for the places that hold most of what a reader of an all-to-all
// connection gets, with how much. moves is how often a launcher came or went: what was
// found before is found again when it changed.
func (n *Connection) EachPlace(reader int, moves uint64, where Where, f func(host, rack string, bytes int64)) {
	n.find(moves, where)
	for _, p := range n.largest.places {
		f(p.Host, p.Rack, share(n.perReader[reader], p.Bytes, n.largest.total))
	}
}

// find finds the places, unless they are known.
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

// LargestPlaces returns the places that hold most, at most scheduler.PlacesMax, in order of bytes,
// then host.
func LargestPlaces(sums map[string]scheduler.Place) []scheduler.Place {
	if len(sums) == 0 {
		return nil
	}
	list := make([]scheduler.Place, 0, min(len(sums), scheduler.PlacesMax)+1)
	for _, p := range sums { // most of thousands are less than all that are kept
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
