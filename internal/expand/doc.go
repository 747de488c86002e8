// Package expand expands a job's graph into the units of scheduling: node groups, bundles, and
// which node reads from which.
//
// Nodes joined by shm connections are one group: one process on one launcher. Groups joined by tcp
// connections are one bundle: all start together or none does. File connections order bundles.
//
//	e, err := expand.Expand(expand.Of(g), memoryDefault, expand.Limits{})
//	for _, bundle := range e.Bundles {
//		for _, group := range bundle.Groups { ... e.Groups[group] ... }
//	}
//
// An all-to-all connection of n and m nodes costs n+m and never n*m. Errors name stage, node and
// remedy; the caller adds the job. The engine bounds a stranger's graph before it expands it
// (package engine/graph).
//
// Everything here is pure. An Expanded never changes after Expand and may be read concurrently.
package expand
