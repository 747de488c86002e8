// Package jobfile is the format of a job's history: one compressed file, written once and never changed.
//
//	b, err := jobfile.Encode(&jobfile.Job{ID: 12, Status: status, Attempts: attempts})
//	r, err := jobfile.Open("data/history/jobs/12.history")
//	err = r.Each(jobfile.Query{}, func(a *changes.Attempt) bool { … })
//
// # What is in it
//
// The head comes first, and has the length of each section. So a reader of the status reads the head and one section.
// The sections are: the status, the graph, the course (waiting reasons, counts of all attempts by stage), names, and
// blocks of attempts as columns.
//
//	0   magic; its last byte is the version of the format
//	8   length of the head, little-endian
//	12  crc32c of the head
//	16  the head, JSON
//	    sections, each compressed by zstd, with its length and its crc32c in the head
//
// # Invariants
//
// The head has the file's length, and each section has a checksum. A file that was cut or damaged is refused with its
// path and the offset (DamageError). Times of attempts are kept to the microsecond, everything else exactly.
package jobfile
