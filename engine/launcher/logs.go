package launcher

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// logs keeps the attempts' logs, each within a bound and all within another. The
// file of a log is made with its first byte.
type logs struct {
	folder   string
	each     int64 // bytes of one log
	total    int64 // bytes of all logs
	onUnkept func(bytes int64)

	mu    sync.Mutex
	byID  map[uint64]*attemptLog
	ended []*attemptLog // oldest first
	held  int64
}

func newLogs(folder string, each, total int64) *logs {
	return &logs{folder: folder, each: each, total: total, byID: map[uint64]*attemptLog{}, onUnkept: func(int64) {}}
}

// attemptLog is one log: its beginning, up to half the bound, and its end, in a
// ring in the other half of the file. What lay between is dropped, and counted.
type attemptLog struct {
	logs    *logs
	attempt uint64

	mu      sync.Mutex
	file    *os.File // nil before the first byte
	failed  error    // why nothing more is written
	head    int64    // bytes of the beginning
	ring    int64    // bytes written to the ring in all
	unkept  int64    // bytes that could not be written (a full disk)
	done    bool
	changed chan struct{} // closed at the next write or end; nil when nobody waits
}

// open returns the log of an attempt, made anew if there is none.
func (l *logs) open(attempt uint64) *attemptLog {
	return &attemptLog{logs: l, attempt: attempt}
}

// path of a log's file.
func (l *logs) path(attempt uint64) string {
	return filepath.Join(l.folder, "a"+strconv.FormatUint(attempt, 10)+".log")
}

// find returns the log of an attempt that wrote something.
func (l *logs) find(attempt uint64) (*attemptLog, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, ok := l.byID[attempt]
	return a, ok
}

// Write adds to the log. It never fails: a log that can't be written must not
// stop the attempt.
func (a *attemptLog) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	size := len(p)
	if a.file == nil && a.failed == nil {
		a.create()
	}
	headMax := a.logs.each / 2
	ringMax := a.logs.each - headMax
	for len(p) > 0 && a.failed == nil {
		at, room := a.head, headMax-a.head
		if room == 0 {
			at, room = headMax+a.ring%ringMax, ringMax-a.ring%ringMax
		}
		n, err := a.file.WriteAt(p[:min(int64(len(p)), room)], at)
		if a.head < headMax {
			a.head += int64(n)
			a.logs.grew(int64(n))
		} else {
			a.logs.grew(min(a.ring+int64(n), ringMax) - min(a.ring, ringMax))
			a.ring += int64(n)
		}
		p = p[n:]
		if err != nil {
			a.failed = err
		}
	}
	a.unkept += int64(len(p))
	a.logs.onUnkept(int64(len(p)))
	a.wake()
	return size, nil
}

func (a *attemptLog) create() {
	a.file, a.failed = os.OpenFile(a.logs.path(a.attempt), os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o644)
	if a.failed == nil {
		a.logs.mu.Lock()
		a.logs.byID[a.attempt] = a
		a.logs.mu.Unlock()
	}
}

func (a *attemptLog) wake() {
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

// grew counts bytes and removes the oldest logs of ended attempts when there are
// too many.
func (l *logs) grew(bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held += bytes
	for l.held > l.total && len(l.ended) > 0 {
		oldest := l.ended[0]
		l.ended = l.ended[1:]
		l.held -= oldest.kept()
		delete(l.byID, oldest.attempt)
		_ = os.Remove(l.path(oldest.attempt)) // the sweep at the next start takes what stays
		oldest.file.Close()
	}
}

// kept is what the log holds on disk. Its attempt has ended, so it stays.
func (a *attemptLog) kept() int64 { return a.head + min(a.ring, a.logs.each-a.logs.each/2) }

// end says that the attempt is over. A reader may still come.
func (a *attemptLog) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return
	}
	a.done = true
	a.wake()
	if a.file != nil {
		a.logs.mu.Lock()
		a.logs.ended = append(a.logs.ended, a)
		a.logs.mu.Unlock()
	}
}

// copyTo writes the log as it is now: beginning, a line about what was dropped,
// end. It returns how many bytes were ever written, the attempt's state, and a
// channel that closes at the next change.
func (a *attemptLog) copyTo(w io.Writer, from int64) (written int64, done bool, changed <-chan struct{}, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	written, done, changed = a.head+a.ring, a.done, a.changed
	headMax := a.logs.each / 2
	ringMax := a.logs.each - headMax
	if from < a.head {
		if _, err = io.Copy(w, io.NewSectionReader(a.file, from, a.head-from)); err != nil {
			return written, done, changed, err
		}
		from = a.head
	}
	if first := a.head + max(a.ring-ringMax, 0); from < first {
		dropped := first - from
		from = first
		if _, err = fmt.Fprintf(w, "\n[%d bytes dropped here: a log keeps %d bytes, its beginning and its end; launcher.log-bytes sets how many]\n", dropped, a.logs.each); err != nil {
			return written, done, changed, err
		}
	}
	for from < written && err == nil {
		at := (from - a.head) % ringMax
		n := min(written-from, ringMax-at)
		_, err = io.Copy(w, io.NewSectionReader(a.file, headMax+at, n))
		from += n
	}
	if err == nil && a.unkept > 0 && done {
		_, err = fmt.Fprintf(w, "\n[%d bytes could not be kept: %v]\n", a.unkept, a.failed)
	}
	return written, done, changed, err
}

// last returns the end of the log.
func (a *attemptLog) last(bytes int) string {
	var t lastBytes
	t.max = bytes
	if _, _, _, err := a.copyTo(&t, 0); err != nil {
		return ""
	}
	return string(t.buf)
}

// lastBytes keeps the end of what is written to it.
type lastBytes struct {
	max int
	buf []byte
}

func (t *lastBytes) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if extra := len(t.buf) - t.max; extra > 0 {
		t.buf = append(t.buf[:0], t.buf[extra:]...)
	}
	return len(p), nil
}
