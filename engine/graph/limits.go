package graph

// Limits bound what a graph may ask for.
type Limits struct {
	Stages       int   // stages of one job
	Nodes        int   // nodes of all stages
	Connections  int   // connections of one job
	Edges        int   // edges listed by connections of pattern edges, in all
	GroupNodes   int   // nodes of one group
	BundleGroups int   // groups of one bundle
	Slots        int   // slots of one group
	Memory       int64 // bytes of one node
	NameBytes    int   // bytes of a name of a stage, port or kind
	Places       int   // listed for one node's input
	AdaptPairs   int   // pairs of a partition and a writer of an adapted connection: the core keeps a size of each
}

// DefaultLimits returns the bounds of a site that sets none.
func DefaultLimits() Limits {
	return Limits{
		Stages: 1000, Nodes: 1_000_000, Connections: 10_000, Edges: 4_000_000,
		GroupNodes: 10_000, BundleGroups: 1000, Slots: 1024, Memory: 1 << 46,
		NameBytes: 256, Places: 64, AdaptPairs: 4 << 20,
	}
}
