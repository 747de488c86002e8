// Package simcluster is a simulated cluster: launchers in virtual time, with the attempts
// that run on them and the outputs that lie there. They take the manager's commands, and
// report as launchers do. Attempts work as long as the client says, read what others
// stored, and wait for their peers and for their commit; they can be suspended.
//
//	c := &simcluster.Cluster{Loop: l, Job: jobs.of}
//	c.Join(simcluster.Machine{Name: "l1", Host: "h1", Rack: "r1", Memory: 8 << 30, Slots: slots, Latency: 5 * time.Millisecond})
//	l.Act = func(a core.Action) { ... c.Act(a) ... }
//
// A Machine describes a launcher: its slots by kind and its rack. It gives the launcher's speed:
// the cost of a start and of a suspension, and how much longer work takes far from its input.
// Cluster.Links is a model of the network, off by default: attempts fetch what others stored through
// links of hosts and racks, which flows share fairly. A transfer goes on while its reader is
// suspended, or after its source went down.
//
// Faults are the client's. Hooks lose, delay and double messages, refuse starts, and let attempts
// fail. Launcher has methods to crash, freeze and forget. Package faultsim has such clients.
// Without hooks nothing goes wrong.
//
// A Cluster is used by one goroutine, that of its loop. The same inputs make the same
// history.
package simcluster
