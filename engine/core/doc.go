// Package core makes the decisions of the manager: a single-threaded state machine of jobs,
// bundles, attempts, launchers and the policy's rounds. Inputs go in as a wire.Batch, Actions come
// out. Clocks, sockets, disks and processes are the caller's.
//
//	c := core.New(core.DefaultSettings())
//	for batch := range inputs {
//		if ask := c.Decide(batch); ask != nil { ... }
//		for _, action := range c.Effects() { ... }
//	}
//
// The same state and the same batch always give the same actions. Nothing here reads a clock or
// draws random numbers, and no order of a map reaches an action. A Checkpoint holds all of the
// state, and equal states give equal bytes. So a log of batches after a checkpoint replays exactly.
//
// # What the caller does
//
// It steps the core with each batch, and with a tick at NextWake. It carries out actions that leave
// the process only when the batch is durable. It may ask the policy at once, between the two parts
// of a step. It does not change a batch afterwards: the core keeps its messages. All methods are
// for one goroutine.
//
// # Invariants
//
// Slots are held from the launch until the attempt's end was reported or its launcher was lost. A
// bundle commits once: by the first of its attempts whose end is accepted. Each decision of the
// policy has one outcome. Time is later in each step than in the one before, at least by a
// nanosecond, so it orders events.
//
// # Messages that get lost
//
// Within one stream of a launcher messages come in order, and none is missing. A stream that breaks
// loses any number of the last messages, both ways, and the launcher joins again with its
// inventory. Commands to start, stop, suspend and resume are also sent again until the launcher
// confirms them.
//
// # Speculation
//
// Only bundles of one group get a second attempt. A second attempt at a gang costs its whole width
// for one straggler, and its members wait for each other anyway.
//
// # Two parts of a step
//
// A step first returns the round for the policy, then all other actions. So the policy thinks while
// the caller writes start commands and logs the batch. Asking the policy is an action. Its answer,
// its silence and its end are inputs. So the same core runs in three places: in the manager, in
// virtual time (package loop), and in a replay of the event log.
//
// # Short steps
//
// No other input is processed during a step. So a step stays short, however large a job or an
// answer is.
//
//   - A submission's check and its expansion into groups and bundles are made before the step, on
//     another goroutine (Draft). In a replay no draft is given, and the core makes the same one.
//   - Long work is done in slices. That is the start and the end of a job, the snapshot for a new
//     policy, and an answer with very many decisions. It is also readers whose inputs open, and timers
//     that are due at once. A step does Settings.StepWork of it, and keeps the rest in the state as a cursor. NextWake is
//     then now, so the next step continues, together with the inputs that came meanwhile.
//   - A policy learns of a very large job's bundles in several rounds. While it thinks, at most
//     Settings.RoundEvents wait for it.
//   - While a snapshot is made, changes to launchers, jobs and bundles that it has already covered
//     follow as events. Changes to the others are seen when the snapshot reaches them. The shell
//     sorts both by time, outside of the core.
//
// "hamadryad-bench steps" measures each kind of step.
//
// # Change rows
//
// When a caller asks for them, the first action of a step is the change rows: package changes. The
// manager asks for them; the laboratory does not. A manager that starts gets the rows of the whole
// state. They are as durable as all other actions. The simulator compares them with the state.
//
// # Bounds
//
// Bounds have names and defaults in Settings. A group's sources, and the files to publish, are sent
// in commands of at most Settings.CommandBytes. Texts for people are cut at Settings.ReasonBytes. A
// graph of more than a mebibyte is sent as a blob, and submissions, log and checkpoint name its
// hash. The core asks for it by the hash (GraphsFrom). Equal hashes mean equal graphs, so the graph
// is no input. A replay that lacks one ends, and decides nothing else instead.
//
// Data tokens come from a function that the caller sets (TokensFrom). Neither the key nor tokens
// are in the log, in a checkpoint, or known to a plug-in.
package core
