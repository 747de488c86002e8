package query

import (
	"context"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Graph returns the graph of a live job; nil for any other. The caller must not change it.
func (m *Model) Graph(ctx context.Context, id scheduler.JobID) (g *wire.Graph, err error) {
	err = m.read(ctx, func() {
		if j := m.live.Get(id); j != nil && j.row.Plan != nil {
			g = j.row.Plan.Graph
		}
	})
	return g, err
}
