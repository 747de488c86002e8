package state

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// Graphs returns the graph of a blob's hash. Equal hashes give equal graphs, which makes
// it no input; the core keeps what it is given and may change it.
type Graphs func(hash string) (*wire.Graph, error)

// FillGraph fetches the graph that a submission names, and gives its stages the memory
// that they leave to the site.
func FillGraph(spec *wire.JobSpec, graphs Graphs) error {
	if spec.GraphBlob != "" {
		if spec.Graph != nil {
			return fmt.Errorf("the submission holds a graph and names another: leave out one")
		}
		if graphs == nil {
			return fmt.Errorf("the graph %.64s is not there: send it before the submission", spec.GraphBlob)
		}
		g, err := graphs(spec.GraphBlob)
		if err != nil {
			return fmt.Errorf("the graph %.64s can't be read: %w", spec.GraphBlob, err)
		}
		spec.Graph = g
	}
	for _, s := range spec.GetGraph().GetStages() {
		if s != nil && s.Memory == 0 {
			s.Memory = spec.MemoryDefault
		}
	}
	return nil
}
