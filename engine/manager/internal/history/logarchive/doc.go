// Package logarchive keeps the ends of attempts' logs, beside the history of their jobs: what can
// be read of an attempt when its launcher is gone.
//
//	s, err := logarchive.Open(logarchive.Options{Folder: "data/history/tails"})
//	err = s.Add(key, list)          // ErrBusy: enough waits to be written
//	t, err := s.Read(key, 12, "l1") // of attempt 12, which ran on l1
//	err = s.Remove(job)
//
// # Invariants
//
// Each job has a file of blocks, which are only appended. Each block has its checksum, and what
// follows the last whole one is cut off before more is appended. So a manager that is killed loses
// what was not written, and no reader sees what no launcher sent. A file's name has the number and
// the time of submission of its job: a log that was lost whole gives numbers again.
//
// Nobody waits: Add puts a log's end into memory, within a bound. One goroutine writes, a bounded
// number of bytes in a second. It is not synced: a machine that loses power may lose the last
// moments.
//
// # From launchers
//
// A log lies with the launcher on which its attempt ran. When the attempt is over, the launcher
// sends the log's end: 64 KiB, and 1 MiB of an attempt that failed (manager.history.tails.bytes,
// failedBytes). The manager takes bytesASecond (16 MiB) from all launchers, and asks for the rest
// later. It accepts a log's end only from the launcher on which the attempt ran.
//
// A job's file goes with its history and counts to bytesMax. Beyond jobBytes (256 MiB) of a job, or
// limits.userTails (4 GiB) of its user, only those of failures are kept. A reader gets the
// launcher's own log while it is there, else this, else the reason why there is none.
package logarchive
