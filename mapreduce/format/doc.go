// Package format has the file formats of MapReduce jobs beside text: key-value
// text, fixed-length records, Binary (checksummed key-value pairs of bytes), Avro
// and Parquet.
//
//	mapreduce.Job[...]{Input: format.KeyValue("\t"), ...}
//
// A Format reads a map task's splits. Each record is in exactly one of them, wherever a file was
// cut. A record, block or row group belongs to the split in which it begins. What is damaged, cut,
// or of another format is an error that names file and offset. Where another attempt would meet it
// too, as with another format or codec, the job fails at once (job.Permanent). A file of Avro or
// Parquet whose schema does not fit the program's type is such an error. Nothing is cut, and no
// value is made up for a field that is missing or null. Fields may be marked for that: as pointers,
// and in Parquet by the tag optional. Only text formats read compressed files (text.Compressed);
// Binary, Avro and Parquet compress inside. All of a task is for one goroutine.
package format
