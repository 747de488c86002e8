// Package channel moves batches of records between nodes. It holds what the kinds of channel share:
//
//   - the errors on which a reader acts, and the ends of a stream (Writer, Port),
//   - an output port that gathers records into batches (NewOutput), and one that feeds several
//     channels (Fork),
//   - an input port over many sources (Merge).
//
// The kinds are below it:
//
//	block   the unit on disk and on the wire: a checksummed, compressed batch
//	file    a stored channel: one file for each attempt and output port
//	merged  copies of small partitions of many stored files, side by side
//	store   serves stored files to other machines, and fetches from there
//	tcp     a streamed channel between two workers of a bundle
//	shm     a hand-over of batches inside one process
//
// A stream always ends with an explicit end. A writer that died, a connection
// that broke and a file that is cut short are errors, never an end of data.
// Memory is bounded everywhere and every bound has a name.
//
// The package knows nothing of jobs' graphs or of the manager. The worker decides which nodes are
// connected.
//
// # Where files of channels lie
//
// The author chooses for a channel (job.Channel.Store). For channels without a choice the submitter
// chooses (--channels, HAMADRYAD_CHANNELS). Files lie on the disks of the launchers that made them,
// or in a folder of the job's storage, such as one in HDFS. File format, index and checksums are
// the same, since files are written front to back and read by ranges. The choice is in the plan and
// in the graph's fingerprint, so all workers of a job agree.
//
//   - On a launcher's disk a write costs one disk, and a reader asks the launcher. When the
//     launcher is lost, its files are made again.
//   - In HDFS a write costs a disk and a transfer for each replica. Nothing runs again because a
//     machine was lost, and readers fetch from any replica. An attempt writes under its own name in
//     FOLDER/<job>.<cluster>.<secret>.channels, so an attempt that was cut off changes nothing. The
//     job's last group removes that folder.
//
// A reader that cannot read a stored file reports it and waits. The core runs the producer again,
// and sends the reader the new place. A reader that already handed part of the lost source to its
// program ends as lost, and runs again.
package channel
