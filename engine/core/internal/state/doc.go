// Package state holds jobs, bundles, attempts and launchers, with indexes of what is ready,
// suspended or finishing. Its methods keep indexes and counts correct. Decisions are made above it,
// in lifecycle, rounds and membership.
//
//	store := state.NewStore(settings)
//	job := store.Cluster.Jobs.Get(id)
//
// # Invariants
//
// A live attempt is in the sets of its job and of its launcher, and in no other. A ready bundle is
// in its job's ready list, in the order in which bundles became ready. Counts (nodes by phase,
// suspended and speculative attempts, files, counters) are what a count of everything would find:
// Cluster.Check counts.
//
// A checkpoint holds all of it except indexes and counts, which are rebuilt from the rest.
package state
