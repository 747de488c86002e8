package structured

import (
	"encoding/binary"
	"errors"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"
)

// booleans is the type of a column of booleans, which decodes the encoding RLE.
type booleans struct{ parquet.Type }

var errBooleans = errors.New("the page's booleans do not add up: it is damaged")

// Decode implements parquet.Type. into has a bit for each value of the page.
func (b booleans) Decode(into encoding.Values, page []byte, as encoding.Encoding) (encoding.Values, error) {
	if as.Encoding() != format.RLE {
		return b.Type.Decode(into, page, as)
	}
	bits := into.Boolean()
	clear(bits)
	if len(page) < 4 || uint64(binary.LittleEndian.Uint32(page)) > uint64(len(page)-4) {
		return into, errBooleans
	}
	return encoding.BooleanValues(bits), unrunBits(bits, page[4:4+binary.LittleEndian.Uint32(page)])
}

// unrunBits sets the bits, all zero before, that runs set. A run repeats one bit, or has its bits
// packed in bytes; its last byte may have unused bits.
func unrunBits(bits, runs []byte) error {
	left := uint64(len(bits)) * 8
	put := func(bit byte) {
		at := uint64(len(bits))*8 - left
		bits[at/8] |= bit << (at % 8)
		left--
	}
	for len(runs) > 0 {
		head, n := binary.Uvarint(runs)
		if n <= 0 {
			return errBooleans
		}
		runs = runs[n:]
		count := head >> 1
		if head&1 == 1 {
			if count > uint64(len(runs)) {
				return errBooleans
			}
			for i := uint64(0); i < count*8 && left > 0; i++ {
				put(runs[i/8] >> (i % 8) & 1)
			}
			runs = runs[count:]
			continue
		}
		if len(runs) == 0 || count > left {
			return errBooleans
		}
		for range count {
			put(runs[0] & 1)
		}
		runs = runs[1:]
	}
	if left >= 8 { // the last byte may have unused bits
		return errBooleans
	}
	return nil
}
