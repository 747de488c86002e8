// Package cluster runs a policy on the manager's core, with simulated launchers, in virtual time.
// It is for the conformance kit (package policytest), and for tests of a policy's decisions.
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
// The core is the manager's own, so a policy meets the same behaviour as there. Time stands still
// while it thinks, unless Race lets events happen meanwhile. The same seed and decisions make the
// same history. The policy's mistakes that no race excuses are in Cluster.Faults.
//
// It has one policy, no authentication, and no manager restarts. Second attempts and the exclusion
// of a launcher come on request, not by measurements.
package cluster
