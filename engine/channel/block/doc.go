// Package block is the unit in which records lie on disk and travel: one batch
// as a header of HeaderBytes and a payload.
//
//	offset  size
//	0       4     magic "HmBk"
//	4       1     version (1)
//	5       1     codec of the payload
//	6       1     width of a record's length: 0 (one length for all), 1, 2 or 4 bytes
//	7       1     zero
//	8       4     records, at least 1
//	12      4     bytes of all records together
//	16      4     raw length of the payload: records and lengths
//	20      4     stored length of the payload
//	24      4     crc32c of the stored payload
//	28      4     crc32c of the header up to here
//
// All numbers are little endian. The payload is the records' bytes end to end, then their lengths,
// compressed as a whole. The header's own checksum is verified before any of its lengths is used.
// No length makes a reader allocate more than the received bytes can stand for. An error names what
// is wrong and matches channel.ErrDamaged. Damaged bytes never come out as records.
package block
