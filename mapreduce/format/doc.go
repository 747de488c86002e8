// Package format has the file formats of MapReduce jobs beside text: key-value
// text, fixed-length records, Binary (checksummed key-value pairs of bytes), Avro
// and Parquet.
//
//	mapreduce.Job[...]{Input: format.KeyValue("\t"), ...}
//
// A Format reads a map task's splits, each record in exactly one of them wherever
// a file was cut: a record, block or row group belongs to the split in which it
// begins. What is damaged, cut, or of another format is an error that names file
// and offset. Only text formats read compressed files (text.Compressed); Binary,
// Avro and Parquet compress inside. All of a task is for one goroutine.
package format
