// Package spill keeps batches of one channel on disk, in order, while their reader is behind. One
// goroutine appends while another reads from the front.
//
//	f := &spill.File{Folder: scratch, Prefix: "tcp"}
//	n, err := f.Append(b) // one goroutine; n bytes more lie there
//	b, n, err := f.Next() // another; n bytes less
package spill

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// File is a nameless file of blocks. The space of blocks that were read is returned to the disk.
type File struct {
	Folder string // where the file is made
	Prefix string // begins its name

	buf   []byte // the writer's buffer
	freed int64  // the disk has back all space before this offset; only the reader uses it
	end   int64  // where the writer appends; only the writer uses it

	start atomic.Int64 // where the reader reads; the writer moves it only after all was read

	mu     sync.Mutex
	file   *os.File // nil before the first batch and after close
	closed bool
}

// freeStep is how much is read before its space is returned to the disk.
const freeStep = 8 << 20

// Bytes is how much of the file is unread. Only for the writer.
func (s *File) Bytes() int64 { return s.end - s.start.Load() }

// handle returns the file; make creates it.
func (s *File) handle(make bool) (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fs.ErrClosed
	}
	if s.file != nil || !make {
		return s.file, nil
	}
	f, err := os.CreateTemp(s.Folder, s.Prefix+"-*.spill")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.file = f
	return f, nil
}

// Append writes one batch at the end, and returns its size there. After Close it drops the batch.
func (s *File) Append(b *job.Batch) (int64, error) {
	f, err := s.handle(true)
	if errors.Is(err, fs.ErrClosed) {
		return 0, nil // the reader has just closed: this batch is dropped like all later ones
	}
	if err == nil {
		if s.buf, err = block.NewEncoder(block.LZ4).Append(s.buf[:0], b); err != nil {
			return 0, err
		}
		_, err = f.WriteAt(s.buf, s.end)
	}
	switch {
	case err == nil:
		s.end += int64(len(s.buf))
		return int64(len(s.buf)), nil
	case errors.Is(err, fs.ErrClosed):
		return 0, nil // as above
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return 0, fmt.Errorf("%w: spill in %s: free some space or give the launcher a work folder on a larger disk (%w)", channel.ErrDiskFull, s.Folder, err)
	}
	return 0, fmt.Errorf("spill in %s: %w", s.Folder, err)
}

// Rewind empties the file after all of it was read. Only for the writer.
func (s *File) Rewind() {
	f, err := s.handle(false)
	if f == nil || err != nil || s.end == 0 {
		return
	}
	if f.Truncate(0) == nil {
		s.end = 0
		s.start.Store(0)
	}
}

// Next reads the batch at the front, and returns its size there. Only for the reader.
func (s *File) Next() (*job.Batch, int64, error) {
	f, err := s.handle(false)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", channel.ErrClosed, err)
	}
	at := s.start.Load()
	r := block.NewReader(io.NewSectionReader(f, at, 1<<62-at))
	b, err := r.Next()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // the caller counts one more batch here
	}
	if err != nil {
		return nil, 0, err
	}
	s.start.Store(at + r.Offset())
	s.free(f, at+r.Offset())
	return b, r.Offset(), nil
}

// free returns the space before an offset to the disk. A file system that can't do that keeps it
// until Rewind or Close.
func (s *File) free(f *os.File, before int64) {
	if s.freed > before { // the file was started afresh
		s.freed = 0
	}
	if before-s.freed >= freeStep {
		_ = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, s.freed, before-s.freed)
		s.freed = before
	}
}

// Close frees the disk space.
func (s *File) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.file != nil {
		_ = s.file.Close() // it has no name, so it vanishes
		s.file = nil
	}
}
