// Package eventlog keeps the inputs of the manager's core, in files that survive a crash at any
// moment.
//
// A log is a folder of segment files. Each begins with a header and a full checkpoint of the core,
// in parts, and replays alone. Records follow. An end mark closes a file that has a successor.
// Records are opaque bytes, counted up from 1 over all files.
//
//	l, err := eventlog.Open(eventlog.Options{Folder: "data/log"})
//	... l.Recovered() has the newest checkpoint and what came after it ...
//	err = l.Begin(eventlog.Header{Core: 1, Identity: id}, write)   // writes the checkpoint
//	seq, err := l.Append(record)   // returns at once
//	...                            // Options.OnDurable(seq, ...) when it is on disk
//
// A new file is written beside the current one, which takes the records meanwhile. They are copied
// before the new file takes its place (Rotate). A caller can make the new checkpoint by a replay of
// the current file (RotateFrom, Past).
//
// One goroutine writes. Records that are appended while it syncs are written together with the next
// sync (group commit). A crash in mid-write leaves a torn tail at the end of the last file, which
// is cut off at the next start. Damage anywhere else is an error that names file and offset. Every
// record carries the number of the newest record known to be on disk when it was written. So a torn
// tail, which was never reported durable, is distinguished from damage to a record that was.
//
// When the disk is full the log stalls. It keeps its records, tries again, and reports that through
// Options.OnStall. Append blocks at pendingBytesMax. Any other failure of the disk ends the log,
// because it is unknown what a failed sync left on disk.
package eventlog
