// Package manager is the control plane as a process: the shell around the core.
//
//	err := manager.Run(ctx, manager.Config{Listen: "127.0.0.1:7070", Data: "data", ...})
//
// Package core makes the decisions: a state machine without clock, disk and socket. This package
// feeds it. One goroutine owns the core (driver). It collects what has arrived, makes a batch,
// steps the core and appends the batch to the event log. Effects are carried out when the batch is
// on disk (durableQueue), so that no effect depends on a step that a crash could undo. Meanwhile
// the next batch is stepped. Two things do not wait. The policy is called at once: its answer is an
// input like any other. And most starts of attempts are sent (earlyStarts).
//
// Everything else is in packages below this one, each with its own state and invariants. Their
// order of imports is in internal/lint/imports_test.go. All queues have bounds with names.
//
// # Order of durable effects
//
// Each batch is appended to the event log, and many batches share one sync. Commands, replies and
// grants are sent after it. The round for the policy is sent before. That is safe: a policy acts on
// the cluster only through decisions, and these are logged when they come back. Most starts of
// attempts are sent before, too (earlyStarts): a manager that lost their records ends those
// attempts when their launchers join again. Records whose effects nothing waits for, such as
// reports of ended work and early starts, share the next sync.
//
// Under load a step waits half a millisecond for more than its first input. So work that was
// started together is reported, decided and started together. The policy's answer never waits.
//
// # Bytes
//
// A record of the log has at most 64 MiB. So everything from outside is bounded in bytes before the
// core steps (package limits). A launcher's message is smaller than a record. A batch that would be
// too large becomes several steps, and an input that is too large alone is refused. A step takes at
// most batchBytesMax.
//
// # What still reads the core
//
// People and programs read the read model, never the core. hamadryad_core_reads_total counts the
// exceptions. These are the settings for a draft, the policy's authenticator, the owners of tickets
// and the programs in use. The liveness page and unknown jobs that were announced are such reads,
// too.
package manager
