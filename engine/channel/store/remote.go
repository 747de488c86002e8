package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// remote reads a partition from a store.
type remote struct {
	fetcher *Fetcher
	want    Want
	closed  atomic.Bool
	counted atomic.Bool // it shares the Fetcher's budget

	mu       sync.Mutex
	ctx      context.Context // of context; nil before
	cancel   context.CancelFunc
	together chan window // takes the window that is fetched with others; nil if none is

	stream  stream
	blocks  *block.Reader
	base    int64 // offset in the partition at which blocks began to read
	redone  int64 // the offset at which damage was read again; -1 for none
	records int64
	err     error // sticky
}

func newRemote(f *Fetcher, w Want) *remote {
	s := &remote{fetcher: f, want: w, redone: -1}
	s.restart(0)
	return s
}

// at is where the partition is fetched.
func (s *remote) at() location { return location{s.want.Addr, s.want.Launcher} }

// request asks for a window of the partition.
func (s *remote) request(offset, limit int64) request {
	w := &s.want
	return request{Key: w.Key, token: w.Token, partition: uint32(w.Partition), offset: uint64(offset), limit: uint32(limit)}
}

func (s *remote) From() int    { return s.want.From }
func (s *remote) Bytes() int64 { return s.want.Bytes }
func (s *remote) Stored() bool { return true }

// Close stops the running fetch.
func (s *remote) Close() error {
	if !s.closed.Swap(true) {
		s.mu.Lock()
		cancel := s.cancel
		s.mu.Unlock()
		if cancel != nil {
			cancel()
		}
		s.answer(window{err: channel.ErrClosed})
		s.leave()
	}
	return nil
}

// comesTogether notes that the first window is fetched with those of other sources. It is called
// before the first Next.
func (s *remote) comesTogether() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.together = make(chan window, 1)
	s.stream.ahead = s.together
}

// answer gives the source its window of those that are fetched together. The first answer counts.
func (s *remote) answer(w window) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.together <- w:
	default: // it has one, or fetches alone
	}
}

// context is of what the source fetches alone: it ends with Close and with the Fetcher. Most sources
// of a wide shuffle get all they want together with others, and need none.
func (s *remote) context() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil {
		s.ctx, s.cancel = context.WithCancel(s.fetcher.ctx)
		if s.closed.Load() { // Close did not see it
			s.cancel()
		}
	}
	return s.ctx
}

// leave gives the source's share of the budget back, once.
func (s *remote) leave() {
	if s.counted.Swap(false) {
		s.fetcher.count(-1)
	}
}

// restart reads on from an offset that begins a block.
func (s *remote) restart(offset int64) {
	s.base = offset
	s.stream = stream{source: s, next: offset, size: -1}
	s.blocks = block.NewReader(&s.stream)
}

func (s *remote) Next(ctx context.Context) (*job.Batch, error) {
	if s.err != nil {
		return nil, s.err
	}
	b, err := s.read(ctx)
	if at := s.base + s.blocks.Offset(); errors.Is(err, channel.ErrDamaged) && s.redone != at && !s.closed.Load() {
		// It may be the wire and not the file: ask once more for the same block.
		s.redone = at
		s.stream.drain(ctx)
		s.restart(at)
		b, err = s.read(ctx)
	}
	if err == nil {
		s.records += int64(b.Len())
		if s.closed.Load() {
			s.leave() // Close may have come before read took its share
		}
		return b, nil
	}
	if s.closed.Load() {
		err = fmt.Errorf("%v: %w", s.want.Key, channel.ErrClosed)
	}
	// After the end of ctx the stream may stand inside a block; it stays so.
	s.err = err
	s.leave()
	return nil, err
}

func (s *remote) read(ctx context.Context) (*job.Batch, error) {
	if s.closed.Load() {
		return nil, channel.ErrClosed
	}
	if s.stream.size < 0 && !s.counted.Swap(true) {
		s.fetcher.count(1)
	}
	s.stream.ctx = ctx
	b, err := s.blocks.Next()
	switch {
	case err == nil:
		return b, nil
	case err != io.EOF: //nolint:errorlint // only the bare one is the end
		return nil, fmt.Errorf("partition %d of %v from %s: %w", s.want.Partition, s.want.Key, s.want.Addr, err)
	}
	if at := s.base + s.blocks.Offset(); at != s.stream.size || s.records != s.stream.records {
		return nil, fmt.Errorf("%w: partition %d of %v from %s ends after %d bytes and %d records, want %d and %d", channel.ErrDamaged,
			s.want.Partition, s.want.Key, s.want.Addr, at, s.records, s.stream.size, s.stream.records)
	}
	return nil, io.EOF
}

// stream is a partition's bytes, fetched one window ahead.
type stream struct {
	source  *remote
	ctx     context.Context // of the Next that reads now
	now     bytes.Reader
	memory  []byte // of now; taken for a later window
	ahead   chan window
	next    int64 // offset of the window after now
	size    int64 // of the partition; -1 before the first answer
	records int64
}

type window struct {
	have have
	data []byte
	err  error
}

func (s *stream) Read(b []byte) (int, error) {
	for s.now.Len() == 0 {
		if s.size >= 0 && s.next == s.size {
			return 0, io.EOF
		}
		if err := s.turn(); err != nil {
			return 0, err
		}
	}
	return s.now.Read(b)
}

// turn makes the next window the current one and asks for the one after it.
func (s *stream) turn() error {
	if s.ahead == nil {
		if err := s.ask(); err != nil {
			return err
		}
	}
	var w window
	select {
	case w = <-s.ahead:
		s.ahead = nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
	if w.err == errAlone { //nolint:errorlint // nothing wraps it
		return s.ask() // and Read waits for that
	}
	if w.err != nil {
		return w.err
	}
	if s.size < 0 {
		s.size, s.records = int64(w.have.bytes), int64(w.have.records)
	}
	if int64(w.have.bytes) != s.size || int64(w.have.records) != s.records || (len(w.data) == 0 && s.next < s.size) {
		return fmt.Errorf("%w: it changed while it was read: %d bytes and %d records, then %d and %d",
			channel.ErrDamaged, s.size, s.records, w.have.bytes, w.have.records)
	}
	s.next += int64(len(w.data))
	old := s.memory
	s.memory = w.data
	s.now.Reset(w.data)
	if s.next < s.size {
		return s.askInto(old)
	}
	return nil
}

func (s *stream) ask() error { return s.askInto(nil) }

// askInto starts to fetch the window at next.
func (s *stream) askInto(memory []byte) error {
	src := s.source
	limit := src.fetcher.window()
	if s.size >= 0 {
		limit = min(limit, s.size-s.next)
	}
	r := src.request(s.next, limit)
	ctx, answer := src.context(), make(chan window, 1)
	err := src.fetcher.begin(func() {
		h, data, err := src.fetcher.fetch(ctx, src.at(), r, memory[:0])
		answer <- window{h, data, err}
	})
	if err == nil {
		s.ahead = answer
	}
	return err
}

// drain waits for the window under way, if there is one.
func (s *stream) drain(ctx context.Context) {
	if s.ahead == nil {
		return
	}
	select {
	case <-s.ahead:
	case <-ctx.Done():
	}
}
