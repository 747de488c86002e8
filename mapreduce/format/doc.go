// Package format has the file formats of MapReduce jobs beside text: key-value
// text, fixed-length records, Binary (checksummed key-value pairs of bytes), Avro
// and Parquet.
//
//	mapreduce.Job[...]{Input: format.KeyValue("\t"), ...}
//
// A Format reads a map task's splits, each record in exactly one of them wherever
// a file was cut: a record, block or row group belongs to the split in which it
// begins. What is damaged, cut, or of another format is an error that names file
// and offset; where another attempt would meet it too, as with another format or codec,
// the job fails at once (job.Permanent). So is a file of Avro or Parquet whose schema does not fit the program's
// type: nothing is cut, and nothing that is missing or null is made up, but for fields
// that are marked for it (pointers; in Parquet also the tag optional). Only text formats read compressed files (text.Compressed); Binary,
// Avro and Parquet compress inside. All of a task is for one goroutine.
package format
