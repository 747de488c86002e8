package dataflow

import (
	"fmt"
	"slices"
)

// Check recounts the stored outputs. readers calls each for all readers of a writer.
func (n *Connection) Check(readers func(from int, each func(reader int))) error {
	there := 0
	have := make([]int32, len(n.have))
	for from := range n.bytes {
		if !n.There(from) {
			continue
		}
		if _, covered := n.covered(from); !covered {
			there++
		}
		if !n.all {
			readers(from, func(reader int) { have[reader]++ })
		}
	}
	if n.all && there != n.done || !slices.Equal(have, n.have) {
		return fmt.Errorf("%d writers there %v, counted as %d %v", there, have, n.done, n.have)
	}
	if n.adapted != nil {
		if err := n.adapted.check(n.Writers()); err != nil {
			return err
		}
		if n.Complete() && n.adapted.portions == nil {
			return fmt.Errorf("all of %d writers are there, and readers are not chosen", n.Writers())
		}
	}
	if n.aggregated != nil {
		if err := n.aggregated.check(n); err != nil {
			return err
		}
	}
	if n.updating && (n.updated < 0 || n.updated > n.Readers()) {
		return fmt.Errorf("%d of %d readers are told", n.updated, len(n.perReader))
	}
	return nil
}
