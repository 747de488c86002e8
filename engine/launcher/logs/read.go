package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// logPart is how much of a log is read at once.
const logPart = 64 << 10

// progress is what a reader has to know of a log.
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

// CopyTo writes the log: beginning, a line about what was dropped, end. Without
// follow that is what has come by now, with it all until the attempt ends. Reading
// holds nothing of the log, so that a slow w costs nobody else anything; what is
// overwritten while it is read is dropped, and counted as such.
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

// Reader is one reader's place in a log.
type Reader struct {
	log  *Log
	file *os.File // nil before the first byte
	buf  []byte
	at   int64 // of all that was ever written
}

// copy goes on to a position that has been written.
func (r *Reader) copy(w io.Writer, to int64) error {
	for r.at < to {
		if err := r.open(); err != nil {
			return err
		}
		part, dropped, err := r.next(to)
		if err != nil {
			return err
		}
		if dropped > 0 {
			if _, err := fmt.Fprintf(w, "\n[%d bytes dropped here: a log keeps %d bytes, its beginning and its end; launcher.attemptLog sets how many]\n", dropped, r.log.shape.head+r.log.shape.ring); err != nil {
				return err
			}
		}
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// Reader begins to read; it fails when the log has just made room for newer ones.
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

// next reads up to a buffer's length, and tells how much before that is no longer
// there. What the writer may have overwritten meanwhile does not count as read.
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
