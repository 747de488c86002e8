// Package history keeps the results of jobs. Live jobs are in a journal. A job that ended has one file, and a
// summary in an index. The input is the core's change rows, once they are durable.
//
//	h, err := history.Open(history.Options{Folder: "data/history"})
//	h.BeginAt(record, all)         // all jobs of a restored core
//	h.TakeChanges(record, changes) // each step, replayed ones too
//	err = h.Sync(ctx, record)      // before the event log drops records up to this one
//	err = h.Close()
//
// # Invariants
//
// The event log is the journal's write-ahead log. History is durable up to a record of the log, its position. Later
// rows come again when a manager starts; those that history has are skipped. So a manager that is killed loses
// nothing.
//
// No caller waits: TakeChanges puts rows into a bounded queue. When history can't be written, the oldest jobs are
// removed. If that does not help, new rows are dropped and counted, and the job's file says so.
//
// The journal is a folder of parts. A part is written once, whole or not at all, and holds the attempts that ended
// since the part before. So one write serves all live jobs, and no file stays open. Many parts are merged into one.
//
// # Position and parts
//
// History is synced up to a record only before the log drops that record. The write is one part of the journal, with a
// chunk for each job that changed. More than sixteen parts are merged, and a part is removed when no live job needs
// it. A part that is damaged or gone costs its content. Every job that may have had rows in it reports that.
//
// A rotation of the log, and a start, wait until history has the records that the log drops, ten seconds at most.
//
// # The end of a job
//
// All chunks of a job become one file (package jobfile), and its summary goes into the index. Jobs that ended within a
// second are sealed together: their files are written at the same time, and one transaction changes the index. A
// start reads the heads of parts, and no file of a job. It compares file names with the index, and adds the missing
// entries. That also rebuilds an index that was lost.
//
// # A log that lost its end
//
// The log then goes on with other records of the same numbers. History goes back to the log's last record, and keeps
// the attempts that it has. Jobs that are live again return from their files to the journal. A job that only the lost
// records had ends as lost, with the attempts that history has.
//
// # Bounds
//
// The oldest jobs are removed: by age, number and bytes, and when the disk is full for history or for the event log.
// The overview page, GET /cluster and an alert report jobs that were removed for a full disk. If removing does not
// help, scheduling goes on. Missed rows are counted, and the job's file says how many it lacks. A job with more
// attempts than are kept keeps its failures and its slowest attempts. Counts are of all attempts.
//
// Settings are manager.history.folder ("history" below the manager's data), store (none), keepFor
// (30 days), jobsMax (100,000), bytesMax (10 GiB) and attemptsMax (1,000,000 of a job).
//
// # Reads
//
// Package query joins live jobs, jobs that are being sealed, and the index. The index's table in memory has 72 bytes
// a job, and its name; a start reads it, 100,000 jobs in 0.2 s. The page of a job with 100,000 attempts reads
// its file once, in some 30 ms. For a damaged file the error names it, and the index's summary is shown.
package history
