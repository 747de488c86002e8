// Package file is the stored channel: one file for each attempt and output port. It has the records
// of all partitions in compressed, checksummed blocks, readable by partition. It appears under its
// name only when it is complete. So an existing file is complete, or its checksums show the damage.
//
//	w, err := file.Create(path, partitions, file.Options{Codec: block.LZ4})
//	...  w.Write(ctx, partition, record)
//	err = w.Close(ctx)
//
//	f, err := file.Open(path)
//	s := f.Source(partition, from)
//	b, err := s.Next(ctx)
//
// The file is written front to back and read by ranges, so that it can lie on any
// storage.Store too:
//
//	header    magic, version, checksum: 16 bytes
//	blocks    of all partitions, in runs: a run is contiguous blocks of one partition
//	runs      offset and length of each run, by partition: 16 bytes each
//	table     for each partition: where its runs are listed, their number, stored
//	          bytes, records, checksum of this entry and its runs: 32 bytes
//	footer    where the table is, totals, checksum, magic: 48 bytes
//
// To read one partition takes the footer, one entry and its list of runs, however many partitions
// there are. A writer keeps encoded blocks until its memory budget is used up, and then writes a
// run for each partition. A run has about a megabyte, or budget / partitions where that is less.
package file
