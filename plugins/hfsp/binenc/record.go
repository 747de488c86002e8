// Package binenc writes the plain values of a checkpoint one after another, and reads them in the
// same order. Small numbers take a byte, and a number with a fraction ten at most.
//
//	var w binenc.Writer
//	w.Uint(3)
//	w.Float(0.5)
//	r := binenc.NewReader(w.Data)
//	n, x := r.Uint(), r.Float()
//	if r.Err() != nil { ... }
//
// Values come back to the last bit. The data does not say which values there are: the reader knows
// it by a version, or by a value that comes first.
package binenc

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
)

// Writer appends values to Data. Its zero value is ready.
type Writer struct{ Data []byte }

// Uint writes a number that is not negative.
func (w *Writer) Uint(n uint64) { w.Data = binary.AppendUvarint(w.Data, n) }

// Int writes a whole number.
func (w *Writer) Int(n int64) { w.Data = binary.AppendVarint(w.Data, n) }

// Float writes a number, also one that is infinite. The end of most numbers is zeros,
// which go first and so take nothing.
func (w *Writer) Float(x float64) { w.Uint(bits.ReverseBytes64(math.Float64bits(x))) }

// Bool writes yes or no.
func (w *Writer) Bool(b bool) {
	n := byte(0)
	if b {
		n = 1
	}
	w.Data = append(w.Data, n)
}

// Bytes writes bytes and how many they are.
func (w *Writer) Bytes(b []byte) {
	w.Uint(uint64(len(b)))
	w.Data = append(w.Data, b...)
}

// Text writes a string, as Bytes does.
func (w *Writer) Text(s string) { w.Bytes([]byte(s)) }

var errShort = errors.New("it ends too early, or has a number out of range")

// Reader reads what a Writer wrote. After the first missing value all values are 0, and Err
// returns an error.
type Reader struct {
	data []byte
	err  error
}

// NewReader returns a reader of data. The results of Bytes alias it.
func NewReader(data []byte) *Reader { return &Reader{data: data} }

// Err returns an error if a value was missing.
func (r *Reader) Err() error { return r.err }

// More says whether there is more to read.
func (r *Reader) More() bool { return r.err == nil && len(r.data) > 0 }

func (r *Reader) skip(n int) {
	if n <= 0 {
		r.err, r.data = errShort, nil
		return
	}
	r.data = r.data[n:]
}

// Uint reads a number that is not negative.
func (r *Reader) Uint() uint64 {
	x, n := binary.Uvarint(r.data)
	if r.skip(n); n <= 0 {
		return 0
	}
	return x
}

// Int reads a whole number.
func (r *Reader) Int() int64 {
	x, n := binary.Varint(r.data)
	if r.skip(n); n <= 0 {
		return 0
	}
	return x
}

// Count reads a non-negative number with an upper bound.
func (r *Reader) Count(most int) int {
	x := r.Uint()
	if x > uint64(max(most, 0)) {
		r.skip(0)
		return 0
	}
	return int(x) //nolint:gosec // it is bounded
}

// Float reads a number.
func (r *Reader) Float() float64 { return math.Float64frombits(bits.ReverseBytes64(r.Uint())) }

// Bool reads yes or no.
func (r *Reader) Bool() bool { return r.Count(1) == 1 }

// Bytes reads bytes.
func (r *Reader) Bytes() []byte {
	n := r.Uint()
	if n > uint64(len(r.data)) {
		r.skip(0)
	}
	if r.err != nil {
		return nil
	}
	b := r.data[:n:n]
	r.data = r.data[n:]
	return b
}

// Text reads a string.
func (r *Reader) Text() string { return string(r.Bytes()) }
