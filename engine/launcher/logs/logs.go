// Package logs keeps what attempts print, each log within a bound and all within another.
//
//	all := logs.New(folder, 4<<20, 1<<30, func(lost int64) {})
//	log := all.Open(12)
//	fmt.Fprintln(log, "hello")
//	log.End()
//
// What is written waits in memory for the disk, and nobody waits for it but the pipe
// that it came through (Pipe). Readers hold nothing of a log (Reader). Where a disk
// takes nothing more, the attempt goes on, and what is lost is counted.
package logs

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

// LastWords is how much of a log's end is kept in memory, in bytes: what goes into the
// failure of a worker that died.
const LastWords = 2 << 10

// Logs keeps the attempts' logs, each within a bound and all within another. The
// file of a log is made with its first byte. No lock here is held over the disk:
// who writes a log or ends it waits for memory only. Safe for concurrent use.
type Logs struct {
	folder   string
	each     int64 // bytes of one log
	total    int64 // bytes of all logs
	onUnkept func(bytes int64)

	mu    sync.Mutex
	byID  map[uint64]*Log // those that have a file
	ended []*Log          // of these, those that may make room; oldest first
	held  int64           // bytes of all files; beyond total only while no log has ended
}

// New keeps logs of at most each bytes, and total in all, in a folder of their own.
// onUnkept is told of bytes that could not be written.
func New(folder string, each, total int64, onUnkept func(bytes int64)) *Logs {
	return &Logs{folder: folder, each: each, total: total, byID: map[uint64]*Log{}, onUnkept: onUnkept}
}

// Log is one log: its beginning, up to half the bound, and its end, in a
// ring in the other half of the file. What lay between is dropped, and counted.
type Log struct {
	logs    *Logs
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

// Open returns the log of an attempt, made anew if there is none.
func (l *Logs) Open(attempt uint64) *Log {
	return &Log{logs: l, attempt: attempt, tail: lastBytes{max: LastWords}}
}

// path of a log's file.
func (l *Logs) path(attempt uint64) string {
	return filepath.Join(l.folder, "a"+strconv.FormatUint(attempt, 10)+".log")
}

// Find returns the log of an attempt that wrote something.
func (l *Logs) Find(attempt uint64) (*Log, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, ok := l.byID[attempt]
	return a, ok
}

func (l *Logs) headMax() int64 { return l.each / 2 }
func (l *Logs) ringMax() int64 { return l.each - l.each/2 }

// Write adds to the log. It never fails and never waits for the disk: a log that
// can't be written must not stop the attempt, and its launcher even less.
func (a *Log) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending = append(a.pending, p...)
	a.taken += int64(len(p))
	_, _ = a.tail.Write(p) // it never fails
	a.toDisk()
	return len(p), nil
}

// toDisk has what is pending written. The caller holds mu.
func (a *Log) toDisk() {
	if !a.writing {
		a.writing = true
		go a.write()
	}
}

// awaitRoom waits while too much waits for the disk.
func (a *Log) awaitRoom() {
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
func (a *Log) change() <-chan struct{} {
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	return a.changed
}

func (a *Log) wake() {
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

// write hands to the disk what is pending, until there is nothing.
func (a *Log) write() {
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
func (a *Log) store(p []byte) {
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
func (a *Log) wrote(n int64, err error) (grew int64) {
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

func (a *Log) create() {
	file, err := os.OpenFile(a.logs.path(a.attempt), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
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
func (l *Logs) grew(bytes int64) {
	l.mu.Lock()
	l.held += bytes
	var old []*Log
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
func (a *Log) kept() int64 { return logBlock + a.head + min(a.ring, a.logs.ringMax()) }

// End says that the attempt is over. A reader may still come.
func (a *Log) End() {
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
func (l *Logs) retire(a *Log, file *os.File) {
	if file == nil {
		return // it never got on disk
	}
	file.Close()
	l.mu.Lock()
	l.ended = append(l.ended, a)
	l.mu.Unlock()
}

// Last is the end of the log, at most LastWords bytes.
func (a *Log) Last() string {
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
