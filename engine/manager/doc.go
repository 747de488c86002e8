// Package manager is the control plane as a process: the shell round the core.
//
//	err := manager.Run(ctx, manager.Config{Listen: "127.0.0.1:7070", Data: "data", ...})
//
// What the manager decides is decided by package core, a state machine that
// knows no clock, disk or socket. This package feeds it. One goroutine owns the
// core (driver): it takes what has arrived, makes a batch of it, steps the core
// and appends the batch to the event log. What the core wants done is done when
// the batch is on disk (afterSync), so that nobody ever acts on something that a
// crash could take back; meanwhile the next batch is stepped. Only the policy is
// asked at once: its answer is an input like any other.
//
// All else is done by the rooms below this package, each of which has its own
// fields and says what always holds of them: inbox is what waits for the core,
// launchers and clients are the services, supervision keeps the policy running,
// recovery and checkpoints keep the core's state, blobs and graphs what submitters
// send. All queues have bounds with names.
package manager
