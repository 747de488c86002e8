// Package logarchive keeps the ends of attempts' logs, so that they can be read when a launcher is gone.
//
//	s, err := logarchive.Open(logarchive.Options{Folder: "data/history/tails"})
//	err = s.Add(key, list)              // ErrBusy: the buffer is full
//	t, err := s.ReadTail(key, 12, "l1") // of attempt 12, which ran on l1
//	err = s.Remove(key)
//
// # Invariants
//
// Each job has a file of blocks, which are only appended. Each block has a checksum, and bytes behind the last whole
// block are cut off before the next one is appended. So a manager that is killed loses only blocks that were not
// written, and no reader sees half a block. A file's name has its job's number and time of submission, because a new
// event log gives the numbers again.
//
// Add does not block: it puts a log's end into a bounded buffer. One goroutine writes a bounded number of bytes a
// second. It does not sync: a machine that loses power may lose the last moments.
//
// # From launchers
//
// A log is kept by the launcher on which its attempt ran. When the attempt is over, the launcher sends the log's end: 64
// KiB, or 1 MiB of an attempt that failed (manager.history.tails.bytes, failedBytes). The manager accepts bytesASecond
// (16 MiB) from all launchers together, and asks for the rest later. It accepts a log's end only from the launcher on
// which the attempt ran.
//
// A job's file is removed with its history, and counts to bytesMax. Beyond jobBytes (256 MiB) of a
// job, or limits.userTails (4 GiB) of its user, only ends of failed attempts are kept. A reader
// gets the launcher's own log if it can be read. Else it gets the end that is kept here, or the
// reason why there is none.
package logarchive
