package state

import (
	"iter"

	"github.com/hamadryad/hamadryad/engine/core/internal/dataflow"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// BlockedUpstream is the bundles that some attempts of a job wait for: the writers of what they miss,
// and what these need in turn before they can start. It is computed as far as it is asked, and valid
// as long as nothing changes.
type BlockedUpstream struct {
	Job     *Job
	Readers []*BundleAttempt

	readers []*dataflow.Reader
	marked  []bool // by index of the bundle; nil: not needed yet
}

// Has says whether a bundle that is ready or suspended is one of them.
func (h *BlockedUpstream) Has(b *Bundle) bool {
	if h.readers == nil {
		for _, r := range h.Readers {
			for _, a := range r.Attempts {
				h.readers = append(h.readers, &a.Reads)
			}
		}
	}
	if h.Job.Inputs.Misses(h.readers, b.AllNodes()) { // the usual case; marking all looks at each writer
		return true
	}
	if h.marked == nil {
		h.marked = h.Job.Inputs.BlockedUpstream(h.readers, func(bundle int) iter.Seq[int32] {
			if b := &h.Job.Bundles[bundle]; b.Phase() == BundleWaiting {
				return b.AllNodes()
			}
			return nil
		})
	}
	return h.marked[b.Index]
}

// Stages marks the stages whose bundles may be among those that the readers wait for. These stages
// store what a marked stage reads, or are joined with one in bundles. It marks at least these, and
// does not look at bundles.
func (h *BlockedUpstream) Stages() []bool {
	j := h.Job
	stages := make([]bool, len(j.Plan.Graph.Stages))
	readers := make([]bool, len(stages))
	for _, r := range h.Readers {
		if r.Bundle.singleNode {
			readers[r.Bundle.Stage] = true
			continue
		}
		for x := range r.Bundle.AllNodes() {
			readers[j.Plan.Node(x).Stage] = true
		}
	}
	for more := true; more; {
		more = false
		mark := func(stage uint32) { more, stages[stage] = more || !stages[stage], true }
		for _, c := range j.Plan.Graph.Connections {
			switch {
			case c.Kind != wire.ChannelKind_CHANNEL_KIND_FILE:
				if stages[c.FromStage] != stages[c.ToStage] {
					mark(c.FromStage)
					mark(c.ToStage)
				}
			case stages[c.ToStage] || readers[c.ToStage]:
				mark(c.FromStage)
			}
		}
	}
	return stages
}
