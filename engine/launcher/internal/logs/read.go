package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// logPart is how much of a log is read at once.
const logPart = 64 << 10

// progress is a log's state as a reader needs it.
type progress struct {
	taken, settled, written int64
	over                    bool // the attempt has ended, and all it wrote is settled
	unkept                  int64
	failed                  error
	changed                 <-chan struct{}
}

func (a *Log) state() progress {
	a.mu.Lock()
	defer a.mu.Unlock()
	return progress{
		taken: a.taken, settled: a.settled, written: a.head + a.ring, over: a.done && a.settled == a.taken,
		unkept: a.unkept, failed: a.failed, changed: a.change(),
	}
}

// CopyTo writes the log: beginning, a line about dropped output, end. Without follow it writes the
// output so far; with follow it goes on until the attempt ends. Reading holds no lock of the log,
// so a slow w delays nobody else. Output that is overwritten while it is read counts as dropped.
func (r *Reader) CopyTo(ctx context.Context, w io.Writer, follow bool) error {
	a := r.log
	until := a.state().taken
	for {
		s := a.state()
		if err := r.copy(w, s.written); err != nil {
			return err
		}
		switch {
		case s.over && s.unkept > 0:
			_, err := fmt.Fprintf(w, "\n[%d bytes could not be kept: %v]\n", s.unkept, s.failed)
			return err
		case s.over, !follow && s.settled >= until:
			return nil
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ErrDropped: the requested part of the log is no longer kept.
var ErrDropped = errors.New("this part of the log was dropped")

// Extent is how much a log has, as positions in all output of its attempt.
type Extent struct {
	From   int64 // where the caller can read on
	Until  int64 // where output after From was dropped; Length: none was
	Length int64 // of all output
	Over   bool  // nothing more comes
}

// From moves the reader to a position, or to -at bytes before the end if at is negative. It skips
// output that was dropped there. It waits until the output so far is on disk.
func (r *Reader) From(ctx context.Context, at int64) (Extent, error) {
	a := r.log
	for until := a.state().taken; ; {
		s := a.state()
		if s.settled >= until {
			if at < 0 {
				at = max(s.written+at, 0)
			}
			r.at = at
			if at < s.written {
				r.at = a.first(at)
			}
			x := Extent{From: r.at, Until: s.written, Length: s.written, Over: s.over}
			if head := a.shape.head; r.at < head && a.first(head) > head {
				x.Until = head
			}
			return x, nil
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
			return Extent{}, ctx.Err()
		}
	}
}

// CopyPart writes the output up to a position; with follow it waits for that position or the
// attempt's end. ErrDropped says that output was overwritten before it could be read.
func (r *Reader) CopyPart(ctx context.Context, w io.Writer, to int64, follow bool) error {
	for {
		s := r.log.state()
		if err := r.each(min(s.written, to), func(part []byte, dropped int64) error {
			if dropped > 0 {
				return ErrDropped
			}
			_, err := w.Write(part)
			return err
		}); err != nil {
			return err
		}
		if s.over || !follow || r.at >= to {
			return nil
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Tail returns the end of an attempt's output, at most that many bytes, and the output's length. It
// waits for the output so far. lacks describes what is missing.
func (a *Log) Tail(ctx context.Context, most int64) (text []byte, of int64, lacks string, err error) {
	r, err := a.Reader()
	if err != nil {
		return nil, 0, "", err
	}
	defer r.Close()
	x, err := r.From(ctx, -most)
	if err != nil {
		return nil, 0, "", err
	}
	var part bytes.Buffer
	if err := r.CopyPart(ctx, &part, x.Length, false); err != nil {
		return nil, 0, "", err
	}
	if s := a.state(); s.unkept > 0 {
		lacks = fmt.Sprintf("%d bytes more could not be kept: %v", s.unkept, s.failed)
	}
	return part.Bytes(), x.Length, lacks, nil
}

// Short returns a short log's whole output while it is in memory; else short is false.
func (a *Log) Short() (text []byte, short bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return bytes.Clone(a.tail.buf), a.taken <= int64(len(a.tail.buf))
}

// Reader is one reader's place in a log.
type Reader struct {
	log  *Log
	file *os.File // nil before the first byte
	buf  []byte
	at   int64 // position in all output
}

// copy goes on to a position that has been written.
func (r *Reader) copy(w io.Writer, to int64) error {
	return r.each(to, func(part []byte, dropped int64) error {
		if dropped > 0 {
			if _, err := fmt.Fprintf(w, "\n[%d bytes dropped here: a log keeps %d bytes, its beginning and its end; launcher.attemptLog sets how many]\n", dropped, r.log.shape.head+r.log.shape.ring); err != nil {
				return err
			}
		}
		_, err := w.Write(part)
		return err
	})
}

// each goes on to a written position, part by part, each with the number of bytes dropped before
// it.
func (r *Reader) each(to int64, take func(part []byte, dropped int64) error) error {
	for r.at < to {
		if err := r.open(); err != nil {
			return err
		}
		part, dropped, err := r.next(to)
		if err != nil {
			return err
		}
		if err := take(part, dropped); err != nil {
			return err
		}
	}
	return nil
}

// Reader begins to read; it fails if the log was just removed to make room.
func (a *Log) Reader() (*Reader, error) {
	r := &Reader{log: a, buf: make([]byte, logPart)}
	if a.state().written == 0 {
		return r, nil // there may be no file yet
	}
	return r, r.open()
}

func (r *Reader) open() (err error) {
	if r.file == nil {
		r.file, err = os.Open(r.log.logs.path(r.log.attempt))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("the log has just made room for newer ones")
	}
	return err
}

func (r *Reader) Close() {
	if r.file != nil {
		r.file.Close()
	}
}

// next reads up to a buffer's length, and returns how many bytes before that were dropped. Bytes
// that the writer may have overwritten meanwhile do not count as read.
func (r *Reader) next(to int64) (part []byte, dropped int64, err error) {
	headMax, ringMax := r.log.shape.head, r.log.shape.ring
	for r.at < to {
		if first := r.log.first(r.at); first > r.at {
			dropped += first - r.at
			r.at = first
			continue
		}
		offset, n := r.at, min(headMax, to)-r.at
		if r.at >= headMax {
			round := (r.at - headMax) % ringMax
			offset, n = headMax+round, min(to-r.at, ringMax-round)
		}
		part = r.buf[:min(n, int64(len(r.buf)))]
		if _, err := r.file.ReadAt(part, headerBytes+offset); err != nil {
			return nil, dropped, err
		}
		if r.log.first(r.at) == r.at {
			r.at += int64(len(part))
			return part, dropped, nil
		}
	}
	return nil, dropped, nil
}

// first is the first position from at on that is still kept.
func (a *Log) first(at int64) int64 {
	headMax, ringMax := a.shape.head, a.shape.ring
	if at < headMax {
		return at
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(at, headMax+a.claimed-ringMax)
}

// Most is the length of a log's end of at most that many bytes.
func (a *Log) Most(most int64) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return min(a.taken, most)
}
