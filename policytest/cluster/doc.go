// Package cluster has a policy play on the manager's core, with simulated launchers, in virtual
// time. It is for the conformance kit (package policytest), and for tests of what a policy decides.
//
//	c := cluster.New(seed)
//	about, err := policy.Start(config, c.Snapshot(), environment)
//	c.Started(about)
//	c.Join(...); c.Submit(...)
//	for c.Step() {
//		r := c.Round()
//		c.Apply(r.Number, decide(r))
//	}
//
// The core is the manager's own, so a policy meets here what it meets there. Time stands still
// while it thinks, unless Race has the world move on. The same seed and decisions make the same
// history. What the policy does that no race excuses is in Cluster.Faults.
//
// It has one policy, no users to prove, and no manager that restarts. Second attempts and the
// exclusion of a launcher come when they are asked for, and not by measurements.
package cluster
