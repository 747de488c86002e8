package state

import (
	"iter"

	"github.com/hamadryad/hamadryad/engine/core/internal/dataflow"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// BlockedUpstream is the bundles that some attempts of a job wait for: the writers of their missing
// sources, and the bundles that these need in turn before they can start. It is computed lazily,
// and valid while nothing changes.
type BlockedUpstream struct {
	Job     *Job
	Readers []*BundleAttempt

	readers []*dataflow.Reader
	marked  []bool // by index of the bundle; nil: not needed yet
}

// Has reports whether a ready or suspended bundle is one of them.
func (h *BlockedUpstream) Has(b *Bundle) bool {
	if h.readers == nil {
		for _, r := range h.Readers {
			for _, a := range r.Attempts {
				h.readers = append(h.readers, &a.Reads)
			}
		}
	}
	if h.Job.Inputs.Misses(h.readers, b.AllNodes()) { // the usual case; marking all examines each writer
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
// store the inputs of a marked stage, or are joined with one in bundles. It may mark too many, as
// it does not examine bundles.
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
