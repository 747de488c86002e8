// Package simulation plays a workload on a simulated cluster under a policy, in virtual time. The
// manager's own core decides. The policy runs as it does on a site: in lockstep, in a plug-in's own
// process or in this one. What is simulated is launchers, their workers, and the network between
// them.
//
//	result, err := simulation.Play(ctx, simulation.Options{
//		Workload: w, Machines: machines, Host: host, Config: config,
//	})
//
// All that comes to the core within one tick shares a step, and a round of the policy. A policy's
// answer takes as long as Think says. Both hold for all policies alike. The same options give the
// same result, to the last byte, on any machine.
package simulation
