// Package history keeps what became of jobs. While they run it is in a journal, then in one file
// for each job, with summaries of all in an index. Its input is the core's change rows, once they
// are durable.
//
//	h, err := history.Open(history.Options{Folder: "data/history"})
//	h.Begin(record, all)      // what a restored core tells of all there is
//	h.Take(record, facts)     // each step, also those that are replayed
//	err = h.Sync(ctx, record) // before the event log drops records up to this one
//	err = h.Close()
//
// # Invariants
//
// The event log is the journal's write-ahead log. History is durable up to a record of the log, its
// position. Later rows come again when a manager starts, and are skipped where they are there. So a
// manager that is killed loses nothing.
//
// Nobody waits for it: Take puts rows into a bounded queue. Where history can't be written, the
// oldest jobs are removed. Where that does not help, new rows are dropped and counted, and the
// job's file says so.
//
// The journal is a folder of parts. Each is written once, whole or not at all, and holds what ended
// since the one before. That is one write for all live jobs, and no file stays open. Many parts are
// merged.
//
// # Position and parts
//
// History is durable up to a record of the event log, its position. After a restart the changes of
// replayed records come again, and those that are there are skipped. So history is synced up to a
// record only before the log drops it. That takes one write for all live jobs: a part of the
// journal, with a chunk for each job that changed. More than sixteen parts are merged, and a part
// goes when no live job needs it. A part that is damaged or gone costs its content, and the jobs
// that it may have been of report that.
//
// A rotation of the log, and a start, wait until history has what the log drops, ten seconds at
// most.
//
// # The end of a job
//
// All chunks of a job become one file (package file), and its summary goes into the index. All jobs
// that ended within a second are sealed in one transaction. A start reads the heads of parts, and
// no file of a job. It compares file names with the index, and adds what the index lacks. That also
// rebuilds an index that was lost.
//
// # A log that lost its end
//
// The log then goes on with other records of the same numbers. History goes back to the log's last
// record, and keeps what it knows of attempts. Jobs that are live again are taken back from their
// files. Jobs that only the lost records knew have ended as lost, with what is known of them.
//
// # Bounds
//
// The oldest jobs go: by age, number and bytes, and when the disk is full, also when the event log
// finds no room on it. In the last case the overview page, GET /cluster and an alert report it.
// When that does not help, scheduling goes on. Missed data is counted, and the job's file says how
// much it lacks. When a job has more attempts than are kept, failures and the slowest stay; counts
// are of all attempts.
//
// Settings are manager.history.folder ("history" below the manager's data), store (none), keepFor
// (30 days), jobsMax (100,000), bytesMax (10 GiB) and attemptsMax (1,000,000 of a job).
//
// # Reads
//
// A list joins live jobs, jobs on their way and the index: package past. The index's table is 40
// bytes a job, with each text once. It is read at the start, 100,000 jobs in 0.2 s. A job's page
// reads all of it in one walk, some 30 ms for 100,000 attempts. A damaged file is named, and the
// summary is then the index's.
package history
