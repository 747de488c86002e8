// Package tails keeps the ends of attempts' logs, beside the history of their jobs: what can be read of an
// attempt when its launcher is gone.
//
//	s, err := tails.Open(tails.Options{Folder: "data/history/tails"})
//	err = s.Add(key, list)          // ErrBusy: enough waits to be written
//	t, err := s.Read(key, 12, "l1") // of attempt 12, which ran on l1
//	err = s.Remove(job)
//
// # What holds
//
// Each job has a file of blocks, which are only appended. Each block has its checksum, and what follows the
// last whole one is cut off before more is appended: who is killed loses what was not written, and nobody
// reads what no launcher sent. A file is named by the number of its job and by when that was submitted, since
// a log that was lost as a whole gives numbers anew.
//
// Nobody waits: Add puts what it is given into memory, within a bound, and one goroutine writes it, with so
// many bytes in a second at most. It is not synced: a machine that loses its power may lose the last moments.
package tails
