// Package splitread reads the splits of a map task for the packages of file formats. It opens files,
// keeps the position of the current record for errors, and finds sync markers.
package splitread

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/text"
)

const (
	// ReadBytes is how much of a file is read at once.
	ReadBytes = 256 << 10
	// HeaderMax bounds the header of a file, which is held in memory.
	HeaderMax = 16 << 20
)

// Reading is one split being read, and the position of the current record.
type Reading struct {
	Task  *mapreduce.Task
	Split job.Split
	At    int64
}

// End is the offset at or after which no record of the split begins.
func (r *Reading) End() int64 { return r.Split.Offset + r.Split.Length }

// Splits calls read for each split of a task. An error or panic of read is reported with the file
// and the offset that it had reached.
func Splits(t *mapreduce.Task, read func(r *Reading) error) error {
	for _, s := range t.Node().Task() {
		r := &Reading{Task: t, Split: s, At: s.Offset}
		t.Locate(func() (string, int64) { return r.Split.Path, r.At })
		if text.IsCompressed(s.Path) {
			return job.Permanent(fmt.Errorf("read %s: only text input is decompressed: decompress the file first, or give it another name", s.Path))
		}
		if err := r.run(read); err != nil {
			return err
		}
		t.Count(mapreduce.MapInputBytes, s.Length)
	}
	return nil
}

func (r *Reading) run(read func(r *Reading) error) error {
	defer func() { r.Task.Node().At(r.Split.Path, r.At) }()
	return read(r)
}

// Open opens the file at an offset, to be read to its end.
func (r *Reading) Open(offset int64) (io.ReadCloser, error) {
	s := r.Split
	s.Offset, s.Length = offset, s.Size-offset
	f, err := r.Task.Node().Open(r.Task.Context(), s)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", s.Path, err)
	}
	return f, nil
}

// HasMagic reports whether a file of that size can hold a format's magic bytes.
func HasMagic(size int64, magic string) bool { return size >= int64(len(magic)) }

// Wrap adds the file and the offset to an error.
func (r *Reading) Wrap(err error) error {
	if err == nil {
		return nil
	}
	if err == io.EOF { //nolint:errorlint // a bare one here is a file that ends too early
		err = fmt.Errorf("the file is cut: %w", io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("read %s at offset %d: %w", r.Split.Path, r.At, err)
}

// CallerError is an error of the caller's function, which is called for each record; the file is
// not at fault.
type CallerError struct{ Err error }

func (e CallerError) Error() string { return e.Err.Error() }

// Seek reads to the next sync marker that begins before end, and moves at.
func Seek(in *bufio.Reader, sync []byte, at *int64, end int64) (bool, error) {
	for *at < end {
		window, err := in.Peek(ReadBytes)
		if err != nil && err != io.EOF { // only a bare io.EOF is the end
			return false, err
		}
		if i := bytes.Index(window, sync); i >= 0 {
			*at += int64(i)
			_, err := in.Discard(i)
			return *at < end, err
		}
		if len(window) < ReadBytes {
			return false, nil
		}
		skip := len(window) - len(sync) + 1
		*at += int64(skip)
		if _, err := in.Discard(skip); err != nil {
			return false, err
		}
	}
	return false, nil
}
