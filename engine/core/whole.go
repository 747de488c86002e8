package core

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
)

// Whole forwards a checkpoint that another process writes, and checks that it is complete. Its
// zero value with To is ready.
type Whole struct {
	To     io.Writer
	Failed error // of To

	sum  uint32 // of all bytes except last
	last []byte // the last bytes, which may be the checksum
	n    int64
}

// Write forwards bytes.
func (w *Whole) Write(b []byte) (int, error) {
	w.n += int64(len(b))
	if len(b) >= crc32.Size {
		w.sum = crc32.Update(w.sum, checkpoint.Checksum, w.last)
		w.sum = crc32.Update(w.sum, checkpoint.Checksum, b[:len(b)-crc32.Size])
		w.last = append(w.last[:0], b[len(b)-crc32.Size:]...)
	} else {
		w.last = append(w.last, b...)
		known := max(0, len(w.last)-crc32.Size)
		w.sum = crc32.Update(w.sum, checkpoint.Checksum, w.last[:known])
		w.last = append(w.last[:0], w.last[known:]...)
	}
	n, err := w.To.Write(b)
	if err != nil {
		w.Failed = err
	}
	return n, err
}

// End returns an error unless exactly one checkpoint was written.
func (w *Whole) End() error {
	if w.n < checkpoint.LengthMin || binary.LittleEndian.Uint32(w.last) != w.sum {
		return errors.New("what was written is no whole checkpoint of the core")
	}
	return nil
}
