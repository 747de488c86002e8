// Package graph validates a job's graph as it came over the wire. By package internal/expand it
// makes what the manager schedules: node groups, bundles, and which reads from which.
//
//	e, err := graph.Expand(g, memoryDefault, graph.DefaultLimits())
//	for _, bundle := range e.Bundles {
//		for _, group := range bundle.Groups { ... e.Groups[group] ... }
//	}
//
// A graph is what a stranger sent: every count is checked before memory is
// taken for it. Errors name stage, node and remedy; the caller adds the job.
//
// An Expanded never changes after Expand and may be read concurrently.
package graph
