package shm

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// spill is a nameless file of blocks that the writer appends to while the reader
// reads from its front.
type spill struct {
	folder string
	buf    []byte // the writer's
	end    int64  // where the writer appends; only the writer uses it

	start atomic.Int64 // where the reader reads; the writer moves it only when all was read

	mu     sync.Mutex
	file   *os.File // nil before the first batch and after close
	closed bool
}

// handle returns the file; make creates it.
func (s *spill) handle(make bool) (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fs.ErrClosed
	}
	if s.file != nil || !make {
		return s.file, nil
	}
	f, err := os.CreateTemp(s.folder, "shm-*.spill")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.file = f
	return f, nil
}

// append writes one batch at the end.
func (s *spill) append(b *job.Batch) error {
	f, err := s.handle(true)
	if errors.Is(err, fs.ErrClosed) {
		return nil // the reader left just now: dropped like all that follows
	}
	if err == nil {
		if s.buf, err = block.NewEncoder(block.LZ4).Append(s.buf[:0], b); err != nil {
			return err
		}
		_, err = f.WriteAt(s.buf, s.end)
	}
	switch {
	case err == nil:
		s.end += int64(len(s.buf))
		return nil
	case errors.Is(err, fs.ErrClosed):
		return nil // as above
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: spill in %s: free some space or give the launcher a work folder on a larger disk (%w)", channel.ErrDiskFull, s.folder, err)
	}
	return fmt.Errorf("spill in %s: %w", s.folder, err)
}

// rewind starts the file afresh after all of it was read. Only for the writer.
func (s *spill) rewind() {
	f, err := s.handle(false)
	if f == nil || err != nil || s.end == 0 {
		return
	}
	if f.Truncate(0) == nil {
		s.end = 0
		s.start.Store(0)
	}
}

// next reads the batch at the front. Only for the reader.
func (s *spill) next() (*job.Batch, error) {
	f, err := s.handle(false)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", channel.ErrClosed, err)
	}
	at := s.start.Load()
	r := block.NewReader(io.NewSectionReader(f, at, 1<<62-at))
	b, err := r.Next()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // the queue counts one more batch here
	}
	if err == nil {
		s.start.Store(at + r.Offset())
	}
	return b, err
}

// close frees the disk.
func (s *spill) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.file != nil {
		_ = s.file.Close() // it has no name: nothing of it is wanted any more
		s.file = nil
	}
}
