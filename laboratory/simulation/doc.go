// Package simulation plays a workload on a simulated cluster under a policy, in virtual time. The
// manager's own core decides. The policy runs as it does on a site: in lockstep, in a plug-in's own
// process or in this one. Launchers, their workers, and the network between them are simulated.
//
//	result, err := simulation.Play(ctx, simulation.Options{
//		Workload: w, Machines: machines, Host: host, Config: config,
//	})
//
// All messages to the core within one tick share a step, and a round of the policy. A policy's
// answer takes as long as Think says. Both hold for all policies. The same options give the same
// result, to the last byte, on any machine.
package simulation
