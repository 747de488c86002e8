// Package query is the manager's read side. It answers what people and programs ask about jobs,
// live or ended, about launchers, and about decisions of the policy.
//
//	model := query.NewModel(query.Bounds{JobsKept: 1000, AttemptsKept: 1000}, c.AllChanges())
//	defer model.Close()
//	model.Enqueue(changes) // of each step, when it is durable
//	jobs := query.NewReader(model, history)
//	page, err := jobs.List(ctx, query.Query{Limit: 100})
//	j, err := jobs.Find(ctx, id)
//	defer j.Close()
//	err = j.Each(ctx, jobfile.Query{}, func(a *changes.Attempt) bool { … })
//
// # Invariants
//
// All methods may be called on any goroutine. An answer includes all rows that were queued before
// the read began. Answers are made of rows that never change, so reading blocks nobody. The lock is
// held while a batch is applied, or while a few thousand rows are copied.
//
// Live jobs are in the model. An ended job goes to history, which serves it from memory
// (History.Ending) until its file is in the index. A list reads the three in this order, so a
// moving job is in at least one of them, and is shown once. A list is in order of id, and no id is
// ever added between two others.
//
// All is bounded. For jobs these are Bounds.AttemptsMax, Bounds.JobsKept, and reasonBytesMax for the
// reasons of attempts' ends. Waiting batches are bounded by queueRowsMax, decisions of the policy by
// DecisionsMax. The core bounds live jobs and launchers.
//
// # Order
//
// The model is made of the change rows of the core, beside the core, so that no reader slows a
// round. A goroutine of its own applies the rows of a step when they are durable, before any
// request is answered. A reader waits until all rows queued before its read are applied, so it sees
// its own change. hamadryad_shown_waiting_rows counts the rows that wait.
//
// Decisions of the policy, with their outcomes and jobs, come with the change rows. Data that no
// policy requested, such as the progress of attempts, is kept by package launchers and not in the
// event log. After a restart it is known again when the launchers have joined.
package query
