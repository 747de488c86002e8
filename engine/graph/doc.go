// Package graph validates a job's graph as it came over the wire. With package internal/expand it
// makes what the manager schedules: node groups, bundles, and the bundles from which each reads.
//
//	e, err := graph.Expand(g, memoryDefault, graph.DefaultLimits())
//	for _, bundle := range e.Bundles {
//		for _, group := range bundle.Groups { ... e.Groups[group] ... }
//	}
//
// A graph is a stranger's input: every count is checked before memory is allocated for it. Errors
// name stage, node and remedy; the caller adds the job.
//
// An Expanded never changes after Expand and may be read concurrently.
package graph
