// Package jobfile is the form of what history keeps of a job: one compressed file, which is written
// once and never changed.
//
// # What is in it
//
// A head says where everything is, and stands first: who asks for the status reads that and no
// more. The sections follow: the status, the graph, the course (reasons over time, counts of all
// attempts by stage), names, and blocks of attempts as columns.
//
//	0   magic; its last byte is the version of the format
//	8   length of the head, little-endian
//	12  crc32c of the head
//	16  the head, JSON
//	    sections, each compressed by zstd, with its length and its crc32c in the head
//
// # Invariants
//
// A file is as long as its head says, and each section has its checksum. So one that was cut or
// damaged is refused with its name and the place (DamageError). Times of attempts are kept to the
// microsecond, everything else exactly.
package jobfile
