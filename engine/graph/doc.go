// Package graph validates a job's graph as it came over the wire and expands it
// into what the manager schedules: node groups, bundles, and who reads from whom.
//
// Nodes joined by shm connections are one group: one process on one launcher.
// Groups joined by tcp connections are one bundle: all start together or none
// does. File connections order bundles.
//
//	e, err := graph.Expand(g, memoryDefault, graph.DefaultLimits())
//	for _, bundle := range e.Bundles {
//		for _, group := range bundle.Groups { ... e.Groups[group] ... }
//	}
//
// A graph is what a stranger sent: every count is checked before memory is
// taken for it, and an all-to-all connection of n and m nodes costs n+m and
// never n*m. Errors name stage, node and remedy; the caller adds the job.
//
// An Expanded never changes after Expand and may be read concurrently.
package graph
