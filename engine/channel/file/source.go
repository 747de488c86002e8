package file

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/sdk/job"
)

const (
	// readAhead gathers the reads of small blocks; larger payloads bypass it.
	readAhead = 16 << 10
	// wholeMax is the largest partition that is read whole, into memory of wholes.
	wholeMax = 16 << 10
)

// wholes are memory for partitions that are read whole. A wide shuffle has very many of them.
var wholes = sync.Pool{New: func() any { return new([wholeMax]byte) }}

// Source reads one partition; from is the result of the source's From. It reads nothing before the
// first Next. Closing the source does not close the File.
func (f *File) Source(partition, from int) job.Source {
	s := sources.Get().(*source)
	s.file, s.partition, s.from = f, partition, from
	return s
}

// sources are memory for further sources.
var sources = sync.Pool{New: func() any { return new(source) }}

// Recycle closes a source that Source returned, and gives its memory to further ones. It is optional.
// Nothing may use the source then, and no Next may run.
func Recycle(s job.Source) {
	_ = s.Close() // it was only read
	f := s.(*source)
	packed := f.blocks
	packed.Reset(nil)
	*f = source{blocks: packed}
	sources.Put(f)
}

type source struct {
	file      *File
	partition int
	from      int
	bytes     atomic.Int64 // stored size plus one; 0 until it is known
	closed    atomic.Bool

	mu      sync.Mutex // held by Next; Close takes it only when Next does not run
	begun   bool       // blocks is set
	blocks  block.Reader
	runs    runReader
	whole   *[wholeMax]byte // the partition's bytes, if it is read whole
	unread  bytes.Reader    // of whole
	records int64           // read so far
	layout  Layout
	err     error // sticky
}

func (s *source) From() int    { return s.from }
func (s *source) Bytes() int64 { return s.bytes.Load() - 1 }

// Stored reports to channel.Merge that no writer waits for this source's reader.
func (s *source) Stored() bool { return true }

// Close makes further reads fail. A Next that runs now ends by itself, and then closes its range.
func (s *source) Close() error {
	s.closed.Store(true)
	s.sweep()
	return nil
}

// sweep frees what a closed source holds. While Next runs it does nothing: Next calls sweep at its
// end.
func (s *source) sweep() {
	if s.closed.Load() && s.mu.TryLock() {
		s.release()
		s.mu.Unlock()
	}
}

// release closes the open range, or gives back the memory of a whole partition. The caller holds mu.
func (s *source) release() {
	s.runs.end()
	if s.whole != nil {
		s.unread.Reset(nil)
		wholes.Put(s.whole)
		s.whole = nil
	}
}

func (s *source) Next(ctx context.Context) (*job.Batch, error) {
	defer s.sweep()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	if s.closed.Load() {
		return nil, fmt.Errorf("channel file %s: %w", s.file.path, channel.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b, err := s.next(ctx)
	if err != nil {
		s.release()
		s.err = err
		return nil, err
	}
	s.records += int64(b.Len())
	return b, nil
}

func (s *source) next(ctx context.Context) (*job.Batch, error) {
	if !s.begun {
		if err := s.begin(ctx); err != nil {
			return nil, err
		}
	}
	s.runs.ctx = ctx
	b, err := s.blocks.Next()
	switch {
	case err == nil:
		return b, nil
	case err != io.EOF: //nolint:errorlint // only the bare one is the end
		return nil, fmt.Errorf("partition %d, %w", s.partition, s.file.failed(ctx, err))
	case s.blocks.Offset() != s.layout.Bytes || s.records != s.layout.Records:
		return nil, damaged(s.file.path, "partition %d ends after %d bytes and %d records, want %d and %d",
			s.partition, s.blocks.Offset(), s.records, s.layout.Bytes, s.layout.Records)
	}
	return nil, io.EOF
}

// begin looks the partition up, and reads it whole if it is small.
func (s *source) begin(ctx context.Context) error {
	l, x, err := s.file.find(ctx, s.partition)
	if err != nil {
		return err
	}
	s.bytes.Store(l.Bytes + 1)
	s.layout, s.begun = l, true
	if l.Bytes > wholeMax {
		s.runs.file, s.runs.left = s.file, l.Runs
		s.blocks.Reset(bufio.NewReaderSize(&s.runs, readAhead))
		return nil
	}
	if len(l.Runs) == 0 {
		s.unread.Reset(nil)
		s.blocks.Reset(&s.unread)
		return nil
	}
	if data, held := x.held(l.Runs[0]); held && len(l.Runs) == 1 {
		s.unread.Reset(data)
		s.blocks.Reset(&s.unread)
		return nil
	}
	s.whole = wholes.Get().(*[wholeMax]byte)
	data := s.whole[:0]
	for _, r := range l.Runs {
		data = data[:len(data)+int(r.Length)]
		if err := s.file.readInto(ctx, data[len(data)-int(r.Length):], r.Offset); err != nil {
			return fmt.Errorf("partition %d, %w", s.partition, err)
		}
	}
	s.unread.Reset(data)
	s.blocks.Reset(&s.unread)
	return nil
}

// runReader reads the runs of a partition end to end.
type runReader struct {
	file *File
	ctx  context.Context // of the Next that reads now
	left []Run
	now  io.ReadCloser
	rest int64 // unread bytes of now
}

func (r *runReader) Read(b []byte) (int, error) {
	for r.rest == 0 {
		r.end()
		if len(r.left) == 0 {
			return 0, io.EOF
		}
		next := r.left[0]
		now, err := r.file.open(r.ctx, next.Offset, next.Length)
		if err != nil {
			return 0, err
		}
		r.left, r.now, r.rest = r.left[1:], now, next.Length
	}
	n, err := r.now.Read(b[:min(int64(len(b)), r.rest)])
	r.rest -= int64(n)
	if err == io.EOF {
		err = nil
		if r.rest > 0 {
			err = io.ErrUnexpectedEOF
		}
	}
	return n, err
}

// end closes the range that is open.
func (r *runReader) end() {
	if r.now != nil {
		_ = r.now.Close()
		r.now = nil
	}
}
