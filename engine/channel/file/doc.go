// Package file is the stored channel: one file for each attempt and output port,
// with the records of all partitions in compressed, checksummed blocks, readable
// by partition. It appears under its name only when it is complete.
package file
