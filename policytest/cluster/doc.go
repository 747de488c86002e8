// Package cluster is a small manager for the conformance kit: jobs, bundles,
// attempts, launchers and reservations in virtual time, kept in the most obvious
// way. It makes rounds and snapshots, takes decisions in the contract's order
// with the contract's checks, and answers each with exactly one outcome. It is
// seeded and deterministic, and what a view shows can be held against World.
//
//	c := cluster.New(seed)
//	c.Join(...); c.Submit(...)
//	for c.Step() {
//		r := c.Round()
//		c.Apply(r.Number, decide(r))
//	}
package cluster
