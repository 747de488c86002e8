// Package channel moves batches of records between nodes. It holds what the
// kinds of channel share: the errors a reader acts on, the ends of a stream
// (Writer, Port), an output port that gathers records into batches (NewOutput),
// one that feeds several channels (Fork), and an input port over many sources
// (Merge). The kinds live beside it:
//
//	block   the unit on disk and on the wire: a checksummed, compressed batch
//	file    a stored channel: one file for each attempt and output port
//	store   serves stored files to other machines, and fetches from there
//	tcp     a streamed channel between two workers of a bundle
//	shm     a hand-over of batches inside one process
//
// A stream always ends with an explicit end. A writer that died, a connection
// that broke and a file that is cut short are errors, never an end of data.
// Memory is bounded everywhere and every bound has a name.
//
// The package knows nothing of jobs' graphs or of the manager: who connects what
// is the worker's business.
package channel
