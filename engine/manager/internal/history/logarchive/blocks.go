package logarchive

import (
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
)

// walk calls take with each whole block of a file, in order: its head, the offset behind the head, and that of the next
// block. It skips other bytes up to the next whole block, and calls wrong. Behind the last whole block there may be one
// that is being written, or that a killed process left: that is not an error.
func walk(f *os.File, size int64, take func(h *blockHead, at, next int64) error, wrong func(error)) error {
	for at := int64(0); at < size; {
		h, start, next, err := blockAt(f, at, size)
		var damage *jobfile.DamageError
		switch {
		case errors.As(err, &damage):
			if next, err = nextBlock(f, at+1, size); err == nil && next < size {
				wrong(damage)
			}
		case err == nil:
			err = take(h, start, next)
		}
		if err != nil {
			return err
		}
		at = next
	}
	return nil
}

// blockAt reads the head of a block at an offset. It returns the offset behind the head, and that of the block's end. The
// error is a jobfile.DamageError if there is no whole block.
func blockAt(f *os.File, at, size int64) (h *blockHead, start, end int64, err error) {
	h = &blockHead{}
	n, err := jobfile.ReadHead(f.Name(), io.NewSectionReader(f, at, size-at), size-at, magic, h)
	var damage *jobfile.DamageError
	if errors.As(err, &damage) {
		damage.Offset += at
	}
	start = at + n
	end = start + int64(h.Bytes)
	if err == nil && (h.Bytes < 0 || end > size) {
		err = &jobfile.DamageError{Path: f.Name(), Offset: at, Why: "it ends in a block"}
	}
	return h, start, end, err
}

// nextBlock returns the offset of the next whole block; size, if there is none.
func nextBlock(f *os.File, from, size int64) (int64, error) {
	some := make([]byte, blockBytes)
	for from < size {
		n, err := f.ReadAt(some, from)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if n < len(magic) {
			break
		}
		for at := 0; ; at++ {
			i := bytes.Index(some[at:n], []byte(magic))
			if i < 0 {
				break
			}
			at += i
			_, _, _, err := blockAt(f, from+int64(at), size)
			var damage *jobfile.DamageError
			if err == nil || !errors.As(err, &damage) {
				return from + int64(at), err
			}
		}
		from += int64(n - len(magic) + 1) // the magic may lie across the border
	}
	return size, nil
}
