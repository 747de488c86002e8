// Package history keeps what became of jobs: while they run in a journal, then one file for each job,
// with summaries of all in an index. It is told of what the core tells (core.Facts), once that is
// durable.
//
//	h, err := history.Open(history.Options{Folder: "data/history"})
//	h.Begin(record, all)      // what a restored core tells of all there is
//	h.Take(record, facts)     // each step, also those that are replayed
//	err = h.Sync(ctx, record) // before the event log drops records up to this one
//	err = h.Close()
//
// # What holds
//
// The event log is the journal's write-ahead log. What history has is durable up to a record of the
// log, its position; what came later comes again when a manager starts, and is skipped where it
// is there. So a manager that is killed loses nothing.
//
// Nobody waits for it: Take puts what it is told into a queue that is bounded. Where history can't be
// written the oldest goes; where that does not help what comes is missed and counted, and the job's file says so.
//
// The journal is a folder of parts, each written once, whole or not at all, that hold what ended since the one
// before: one write for all live jobs, and no file stays open. Parts are merged when they are many.
package history
