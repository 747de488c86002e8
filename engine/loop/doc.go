// Package loop drives the manager's core in virtual time. Future inputs are on a clock, and inputs
// that come close together make one batch. The core gets its ticks when it requests them, and its
// actions are carried out. The policy runs in lockstep, in this process or as its own, through the
// same host as the manager's.
//
//	l := &loop.Loop{Core: core.New(set)}
//	p := &loop.Policy{Loop: l, Host: policy.InProcess(fifo.New()), Think: 2 * time.Millisecond}
//	c := &loop.Clients{Loop: l, Ended: ended}
//	l.Act = func(a core.Action) { ... p.Act(a) ... c.Act(a) ... }
//	l.Push(wire.NewInput(&wire.ManagerStart{Term: 1}))
//	p.Begin()
//	c.Submit(spec, nil)
//	for l.Next() {
//	}
//
// The same inputs at the same times make the same history. Launchers with their workers
// and channels are in package machines: the experiments use them as they are, package
// simulator has anything go wrong on them.
//
// The loop is that of the manager: gather inputs, step, carry out actions in order, wake when the
// core wants it. It has a clock of its own, and no log between a decision and its effect.
package loop
