// Package core is what the manager decides: a single-threaded state machine of
// jobs, bundles, attempts, launchers and the policy's rounds. Inputs go in as a
// wire.Batch, Actions come out; clocks, sockets, disks and processes are the
// caller's.
//
//	c := core.New(core.DefaultSettings())
//	for batch := range inputs {
//		if ask := c.Take(batch); ask != nil { ... }
//		for _, action := range c.Rest() { ... }
//	}
//
// The same state and the same batch give the same actions, always: nothing here
// reads a clock or draws a lot, and no order of a map reaches an action. A
// Checkpoint holds all of the state; equal states give equal bytes, so a log of
// batches after a checkpoint replays exactly.
//
// # What the caller does
//
// It steps the core with each batch, and with a tick at NextWake. It carries out
// the actions that leave the process only after the batch is durable; the policy may
// be asked at once, between the two parts of a step. It keeps what it passed in
// unchanged: the core holds on to messages of a batch. All methods are for one goroutine.
//
// # Invariants
//
// Slots are held from the launch decision until the attempt's end was reported
// or its launcher was lost. A bundle commits once: the first of its attempts
// whose end is accepted. Each decision of the policy has one outcome. Time in
// the core is later in each step than in the one before, if only by a
// nanosecond, so that a time tells before from after.
//
// # Messages that get lost
//
// Within one stream of a launcher messages come in order and none is missing; a
// stream that breaks loses any number of the last ones, both ways, and the
// launcher joins anew with its inventory. Starting, stopping, suspending and
// resuming are besides sent again until the launcher confirms them.
//
// # Speculation
//
// Only bundles of one group get a second attempt: doubling a gang costs its
// whole width for one straggler, and its members wait for each other anyway.
package core
