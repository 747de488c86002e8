package launcher

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

const (
	// logPendingMax is how much of one log may wait for the disk before its worker's
	// pipe is read no further: the memory that a stalled disk can cost for each attempt,
	// with what a pipe holds at most (drainMax) on top.
	logPendingMax = 256 << 10
	// logBlock is what a log counts for at least: a file takes that much of a disk.
	logBlock = 4 << 10
)

// logs keeps the attempts' logs, each within a bound and all within another. The
// file of a log is made with its first byte. No lock here is held over the disk:
// who writes a log or ends it waits for memory only.
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

	file *os.File // of the goroutine that writes; nil before the first byte

	mu      sync.Mutex
	pending []byte // taken in, and not handed to the disk yet
	tail    lastBytes
	taken   int64 // bytes that came, in all
	settled int64 // of them: on disk, or given up
	head    int64 // bytes of the beginning
	ring    int64 // bytes written to the ring in all
	claimed int64 // likewise, with what is being written
	unkept  int64 // bytes that could not be written (a full disk)
	failed  error // why nothing more is written
	writing bool  // a goroutine hands it to the disk
	done    bool
	retired bool
	changed chan struct{} // closed at the next write or end; nil when nobody waits
}

// open returns the log of an attempt, made anew if there is none.
func (l *logs) open(attempt uint64) *attemptLog {
	return &attemptLog{logs: l, attempt: attempt, tail: lastBytes{max: lastWords}}
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

func (l *logs) headMax() int64 { return l.each / 2 }
func (l *logs) ringMax() int64 { return l.each - l.each/2 }

// Write adds to the log. It never fails and never waits for the disk: a log that
// can't be written must not stop the attempt, and its launcher even less.
func (a *attemptLog) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending = append(a.pending, p...)
	a.taken += int64(len(p))
	_, _ = a.tail.Write(p) // it never fails
	a.toDisk()
	return len(p), nil
}

// toDisk has what is pending written. The caller holds mu.
func (a *attemptLog) toDisk() {
	if !a.writing {
		a.writing = true
		go a.write()
	}
}

// awaitRoom waits while too much waits for the disk.
func (a *attemptLog) awaitRoom() {
	for {
		a.mu.Lock()
		if len(a.pending) < logPendingMax {
			a.mu.Unlock()
			return
		}
		changed := a.change()
		a.mu.Unlock()
		<-changed
	}
}

// change returns what closes at the next change. The caller holds mu.
func (a *attemptLog) change() <-chan struct{} {
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	return a.changed
}

func (a *attemptLog) wake() {
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

// write hands to the disk what is pending, until there is nothing.
func (a *attemptLog) write() {
	var used []byte
	for {
		a.mu.Lock()
		p := a.pending
		if len(p) == 0 {
			a.writing = false
			retire := a.done && !a.retired
			a.retired = a.retired || retire
			if retire {
				a.pending, a.tail.buf = nil, nil
			}
			file := a.file
			a.mu.Unlock()
			if retire {
				a.logs.retire(a, file)
			}
			return
		}
		if a.pending = used[:0]; cap(used) > logPendingMax {
			a.pending = nil
		}
		a.claimed = max(a.head+a.ring+int64(len(p))-a.logs.headMax(), 0)
		a.mu.Unlock()
		a.store(p)
		used = p
	}
}

// store writes to the file. For the goroutine that writes.
func (a *attemptLog) store(p []byte) {
	if a.file == nil && a.failed == nil {
		a.create()
	}
	headMax, ringMax := a.logs.headMax(), a.logs.ringMax()
	for len(p) > 0 && a.failed == nil {
		at, room := a.head, headMax-a.head
		if room == 0 {
			at, room = headMax+a.ring%ringMax, ringMax-a.ring%ringMax
		}
		n, err := a.file.WriteAt(p[:min(int64(len(p)), room)], at)
		a.logs.grew(a.wrote(int64(n), err))
		p = p[n:]
	}
	if lost := int64(len(p)); lost > 0 {
		a.mu.Lock()
		a.unkept += lost
		a.settled += lost
		a.wake()
		a.mu.Unlock()
		a.logs.onUnkept(lost)
	}
}

// wrote notes what was written, and returns by how much the file grew.
func (a *attemptLog) wrote(n int64, err error) (grew int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ringMax := a.logs.ringMax()
	if a.head < a.logs.headMax() {
		a.head += n
		grew = n
	} else {
		grew = min(a.ring+n, ringMax) - min(a.ring, ringMax)
		a.ring += n
	}
	a.settled += n
	a.failed = err
	a.wake()
	return grew
}

func (a *attemptLog) create() {
	file, err := os.OpenFile(a.logs.path(a.attempt), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	a.mu.Lock()
	a.file, a.failed = file, err
	a.mu.Unlock()
	if err == nil {
		a.logs.mu.Lock()
		a.logs.byID[a.attempt] = a
		a.logs.mu.Unlock()
		a.logs.grew(logBlock)
	}
}

// grew counts bytes and removes the oldest logs of ended attempts when there are
// too many.
func (l *logs) grew(bytes int64) {
	l.mu.Lock()
	l.held += bytes
	var old []*attemptLog
	for l.held > l.total && len(l.ended) > 0 {
		oldest := l.ended[0]
		l.ended = l.ended[1:]
		l.held -= oldest.kept()
		delete(l.byID, oldest.attempt)
		old = append(old, oldest)
	}
	l.mu.Unlock()
	for _, a := range old {
		_ = os.Remove(l.path(a.attempt)) // the sweep at the next start takes what stays
	}
}

// kept is what the log holds on disk. Its attempt has ended, so it stays.
func (a *attemptLog) kept() int64 { return logBlock + a.head + min(a.ring, a.logs.ringMax()) }

// end says that the attempt is over. A reader may still come.
func (a *attemptLog) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return
	}
	a.done = true
	a.wake()
	if a.taken > 0 {
		a.toDisk()
	}
}

// retire makes an ended log one that may make room for newer ones.
func (l *logs) retire(a *attemptLog, file *os.File) {
	if file == nil {
		return // it never got on disk
	}
	file.Close()
	l.mu.Lock()
	l.ended = append(l.ended, a)
	l.mu.Unlock()
}

// last returns the end of the log, at most lastWords bytes.
func (a *attemptLog) last() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return string(a.tail.buf)
}

// lastBytes keeps the end of what is written to it.
type lastBytes struct {
	max int
	buf []byte
}

func (t *lastBytes) Write(p []byte) (int, error) {
	kept := p[max(len(p)-t.max, 0):]
	if extra := len(t.buf) + len(kept) - t.max; extra > 0 {
		t.buf = append(t.buf[:0], t.buf[extra:]...)
	}
	t.buf = append(t.buf, kept...)
	return len(p), nil
}
