// Package sorting gathers key-value pairs and returns them in order of key, within a memory budget:
// it is the shuffle's second half. Pairs beyond the budget go to sorted runs on disk. These are
// merged, a bounded number at once.
//
// With a fold, values of one key are folded in a table as they arrive, and only distinct keys are
// sorted and written. Merges of runs fold values of equal keys too.
//
// Keys compare as byte strings, or by a function. Nothing here is safe for concurrent use.
package sorting

import (
	"encoding/binary"
	"fmt"
)

// A pair is a record: the key's length as a uvarint, the key, the value.

// AppendPair appends a pair as a record's bytes.
func AppendPair(dst, key, value []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(key)))
	dst = append(dst, key...)
	return append(dst, value...)
}

// Split cuts a record into key and value, which share the record's memory.
func Split(record []byte) (key, value []byte, err error) {
	if len(record) > 0 && record[0] < 0x80 { // the common case: a key under 128 bytes
		if end := 1 + int(record[0]); end <= len(record) {
			return record[1:end:end], record[end:], nil
		}
	}
	n, used := binary.Uvarint(record)
	if used <= 0 || n > uint64(len(record)-used) {
		return nil, nil, fmt.Errorf("a record of %d bytes is no key-value pair", len(record))
	}
	end := used + int(n)
	return record[used:end:end], record[end:], nil
}

// prefix returns the first eight bytes of a key as a number. Where two prefixes differ, they
// compare as their keys do.
func prefix(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var p uint64
	for i, c := range key {
		p |= uint64(c) << (56 - 8*i)
	}
	return p
}
