// Package manager is the control plane as a process: the shell round the core.
//
//	err := manager.Run(ctx, manager.Config{Listen: "127.0.0.1:7070", Data: "data", ...})
//
// What the manager decides is decided by package core, a state machine that
// knows no clock, disk or socket. This package feeds it. One goroutine owns the
// core (drive.go): it takes what has arrived, makes a batch of it, steps the core
// and appends the batch to the event log. What the core wants done is done when
// the batch is on disk (aftersync.go), so that nobody ever acts on something that a
// crash could take back; meanwhile the next batch is stepped. Only the policy is
// asked at once: its answer is an input like any other.
//
// Launchers hold a stream each (sessions.go). Whether they live is judged here
// and not in the core (liveness.go). Programs and plans are kept by their hash
// (blobs.go). The policy runs as a plug-in process under a supervisor
// (supervise.go), which restarts it, swaps it and at last replaces it by the
// built-in one. All queues have bounds with names.
package manager
