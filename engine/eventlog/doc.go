// Package eventlog keeps what reached the manager's core, in files that survive
// a crash at any moment.
//
// A log is a folder of segment files. Each opens with a header and a full
// checkpoint of the core, in parts, and replays alone; records follow, and an end mark
// closes a file that another one follows. Records are opaque bytes, counted up
// from 1 over all files.
//
//	l, err := eventlog.Open(eventlog.Options{Folder: "data/log"})
//	... l.Recovered() has the newest checkpoint and what came after it ...
//	err = l.Begin(eventlog.Header{Core: 1, Identity: id}, write)   // writes the checkpoint
//	seq, err := l.Append(record)   // returns at once
//	...                            // Options.OnDurable(seq, ...) when it is on disk
//
// A new file is written beside the current one, which takes the records meanwhile: they
// are copied before the new one takes its place (Rotate). Its checkpoint can be made of
// the current file by who replays that (RotateFrom, Past).
//
// One goroutine writes; what is appended while it syncs goes out together with
// the next sync (group commit). A crash in mid-write leaves a torn tail at the
// end of the last file, which is cut off at the next start; damage anywhere else
// is an error that names file and offset. Every record carries the number of the
// newest record that was known to be on disk when it was written: that tells a
// torn tail, which nobody was ever told of, from damage to something that was.
//
// When the disk is full the log stalls: it keeps what it was given, tries again,
// and says so through Options.OnStall; Append blocks at pendingBytesMax. Any
// other failure of the disk ends the log, because what a failed sync left on
// disk is unknown.
package eventlog
