// Package structured has the file formats of MapReduce jobs whose files have a schema: Avro and Parquet.
//
//	mapreduce.Job[...]{Input: structured.Avro[Visit], Output: structured.ParquetOutput(row), ...}
//
// A Format reads a map task's splits. Each record is in exactly one split, wherever a file was cut.
// A block or row group belongs to the split in which it begins. A damaged or truncated file, or one of
// another format, is an error that names file and offset. If another attempt would fail too, as with
// another format or codec, the job fails at once (job.Permanent). A file whose schema does not fit the
// program's type is such an error. Values are never truncated, and a missing or null field gets no
// invented value. Fields may be marked as optional: as pointers, and in Parquet by the tag optional.
// Files compress inside. All of a task is for one goroutine.
package structured
