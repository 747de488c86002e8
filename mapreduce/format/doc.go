// Package format has the file formats of MapReduce jobs besides text: key-value text, fixed-length
// records, and Binary (checksummed key-value pairs of bytes). Avro and Parquet are in package structured:
// they make a program larger by 6 MB.
//
//	mapreduce.Job[...]{Input: format.KeyValue("\t"), ...}
//
// A Format reads a map task's splits. Each record is in exactly one split, wherever a file was cut.
// A record or block belongs to the split in which it begins. A damaged or truncated file, or one of
// another format, is an error that names file and offset. If another attempt would fail too, as with
// another format, the job fails at once (job.Permanent). Only text formats read compressed files
// (text.Compressed); Binary compresses inside. All of a task is for one goroutine.
package format
