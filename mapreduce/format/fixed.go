package format

import (
	"fmt"
	"io"
	"iter"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/mapreduce/internal/splitread"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// Fixed reads records of n bytes: the key is a record's offset in its file, the value its bytes,
// which are valid until the call of each returns. A file whose size is no multiple of n is an
// error.
func Fixed(n int) mapreduce.Format[int64, []byte] {
	return func(t *mapreduce.Task, each func(offset int64, record []byte) error) error {
		return fixed(t, n, func(r *splitread.Reading, block []byte) error {
			for ; len(block) > 0; block = block[n:] {
				if err := each(r.At, block[:n:n]); err != nil {
					return err
				}
				r.At += int64(n)
			}
			return nil
		})
	}
}

// FixedRecords ranges over a map task's input in blocks of whole records of n bytes each, of one
// file: the fast form of Fixed. A block is valid until the next block. An error is the last thing
// it yields.
func FixedRecords(t *mapreduce.Task, n int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		err := fixed(t, n, func(_ *splitread.Reading, block []byte) error {
			if !yield(block, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && err != errStopped { //nolint:errorlint // ours, never wrapped
			yield(nil, err)
		}
	}
}

// errStopped ends reading after the caller left the loop.
var errStopped = fmt.Errorf("the loop over the records was left")

// fixed calls each for blocks of whole records.
func fixed(t *mapreduce.Task, n int, each func(r *splitread.Reading, block []byte) error) error {
	if n <= 0 || n > job.RecordBytesMax {
		return job.Permanent(fmt.Errorf("records of %d bytes: give 1 to %d", n, job.RecordBytesMax))
	}
	buf := make([]byte, max(splitread.ReadBytes/n, 1)*n)
	return splitread.Splits(t, func(r *splitread.Reading) error { return readFixed(r, int64(n), buf, each) })
}

// readFixed reads the records that begin in the split.
func readFixed(r *splitread.Reading, n int64, buf []byte, each func(r *splitread.Reading, block []byte) error) error {
	if r.Split.Size%n != 0 {
		return job.Permanent(fmt.Errorf("read %s: its %d bytes are no whole number of records of %d bytes: the file is cut, or has records of another length", r.Split.Path, r.Split.Size, n))
	}
	at, end := (r.Split.Offset+n-1)/n*n, min((r.End()+n-1)/n*n, r.Split.Size)
	if at >= end {
		return nil
	}
	f, err := r.Open(at)
	if err != nil {
		return err
	}
	defer f.Close()
	for at < end {
		r.At = at
		block := buf[:min(int64(len(buf)), end-at)]
		if _, err := io.ReadFull(f, block); err != nil {
			return r.Wrap(err)
		}
		r.Task.Read(int64(len(block)) / n)
		if err := each(r, block); err != nil {
			return err
		}
		at += int64(len(block))
	}
	return nil
}
