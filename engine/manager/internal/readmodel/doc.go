// Package readmodel is what is shown of the cluster: jobs with their stages and attempts, why
// they wait, and launchers. It is made of the rows that the core tells (package facts), beside
// the core, so that nobody who looks slows a round.
//
//	m := readmodel.NewModel(readmodel.Bounds{JobsKept: 1000, AttemptsKept: 1000}, c.Facts())
//	defer m.Close()
//	m.Enqueue(facts) // of each step, when it is durable
//	status, known, err := m.JobStatus(ctx, id, true)
//
// # Invariants
//
// All methods may be called on any goroutine. An answer includes everything that was handed over
// before the read began. Answers are in order of id; ended jobs are in order of their end. Answers
// are made of rows that never change, so reading blocks nobody. The lock is held while a batch is
// taken in, or while a few thousand rows are copied.
//
// All is bounded: batches that wait by queueRowsMax, attempts of a job by Bounds.AttemptsMax, the
// reasons of their ends by reasonBytesMax. Jobs that ended are bounded by Bounds.JobsKept,
// decisions of the policy by DecisionsMax. Live jobs and launchers are bounded by the core.
//
// # Order
//
// A goroutine of its own takes in the rows of a step when they are durable, before anybody is
// answered. A reader waits until all rows that were there when it asked are taken in, so it sees
// its own change. hamadryad_shown_waiting_rows counts the rows that wait.
//
// Decisions of the policy, with their outcomes and jobs, come with the change rows. Data that no
// policy asked for, such as the progress of attempts, is in the manager's shell and not in its log.
// After a restart it is known again when the launchers have joined.
package readmodel
