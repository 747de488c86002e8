// Package logs keeps the output of attempts, with a bound for each log and a bound for all.
//
//	all, err := logs.New(logs.Options{Folder: folder, Each: 4 << 20, Total: 1 << 30})
//	all.JoinManager(manager) // the manager of the attempts
//	log := all.Open(12)
//	fmt.Fprintln(log, "hello")
//	log.End()
//
// Output waits in memory for the disk, and only the pipe through which it came is held back (Pipe).
// A Reader locks nothing of a log. When the disk is full the attempt goes on, and lost output is
// counted.
//
// Logs outlive a launcher, and a new one finds them (New). The manager numbers attempts, so logs of
// another manager are removed when the launcher joins (JoinManager).
//
// # Invariants
//
// Each log and all logs together keep their bounds. Only a worker's own pipe waits for the disk. A
// log that a killed launcher left contains only text that its attempt printed.
package logs

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	// logPendingMax is how much of one log may wait for the disk before its worker's pipe is read
	// no further. That bounds the memory that a stalled disk costs for each attempt, plus what a
	// pipe holds at most (drainMax).
	logPendingMax = 256 << 10
	// logBlock is the least size for which a log counts: a file takes that much of a disk.
	logBlock = 4 << 10
)

// LastWords is how much of a log's end is kept in memory, in bytes. It goes into the failure of a
// worker that died.
const LastWords = 2 << 10

// Options say where logs are stored and how much of them is kept.
type Options struct {
	Folder  string        // used for logs alone; made when missing
	Each    int64         // bytes of one log
	Total   int64         // bytes of all logs
	Count   int           // logs; 0: CountDefault
	KeepFor time.Duration // after an attempt's end; 0: KeepForDefault
	// OnUnkept is called with the number of bytes that could not be written; nil: nothing is
	// called.
	OnUnkept func(bytes int64)
	Now      func() time.Time // nil: time.Now
}

// Defaults of Options.
const (
	CountDefault   = 20_000
	KeepForDefault = 7 * 24 * time.Hour
)

// Logs keeps the attempts' logs, each within its bound and all within common bounds. A log's file
// is made with its first byte. No lock here is held during disk access: writing or ending a log
// waits for memory only. Safe for concurrent use.
type Logs struct {
	o Options

	mu      sync.Mutex
	manager string          // the manager whose attempts write logs now; "": the launcher has not joined
	byID    map[uint64]*Log // logs that have a file
	ended   []*Log          // logs in byID that may be removed to make room; oldest first
	held    int64           // bytes of all files; beyond the bound only while no log has ended
}

// Log is one log: its beginning, up to half the bound, and its end, in a ring in the other half of
// the file. The output between them is dropped, and counted.
type Log struct {
	logs    *Logs
	attempt uint64
	manager string    // the manager of its attempt
	shape   shape     // of the file
	at      time.Time // the time of its end; zero before

	file *os.File // for the writing goroutine; nil before the first byte

	mu      sync.Mutex
	pending []byte // accepted, and not handed to the disk yet
	tail    lastBytes
	taken   int64 // bytes accepted in all
	settled int64 // of taken: on disk, or given up
	head    int64 // bytes of the beginning
	ring    int64 // bytes written to the ring in all
	claimed int64 // as ring, including the write under way
	unkept  int64 // bytes that could not be written (a full disk)
	failed  error // why nothing more is written
	writing bool  // a goroutine is writing to the disk
	done    bool
	retired bool
	changed chan struct{} // closed at the next write or end; nil when nobody waits
}

// shape is the layout of a log's file: a header, the beginning, and the ring.
type shape struct{ head, ring int64 }

func shapeOf(each int64) shape { return shape{each / 2, each - each/2} }

// Open returns a new log for an attempt.
func (l *Logs) Open(attempt uint64) *Log {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &Log{logs: l, attempt: attempt, manager: l.manager, shape: shapeOf(l.o.Each), tail: lastBytes{max: LastWords}}
}

// Manager is the identity of the manager that numbered the attempt.
func (a *Log) Manager() string { return a.manager }

// path is the path of a log's file.
func (l *Logs) path(attempt uint64) string {
	return filepath.Join(l.o.Folder, "a"+strconv.FormatUint(attempt, 10)+".log")
}

// Find returns the log of an attempt that wrote something.
func (l *Logs) Find(attempt uint64) (*Log, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, ok := l.byID[attempt]
	return a, ok && a.manager == l.manager
}

// Write adds to the log. It never fails and never waits for the disk: an unwritable log must stop
// neither the attempt nor the launcher.
func (a *Log) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending = append(a.pending, p...)
	a.taken += int64(len(p))
	_, _ = a.tail.Write(p) // it never fails
	a.toDisk()
	return len(p), nil
}

// toDisk has the pending output written. The caller holds mu.
func (a *Log) toDisk() {
	if !a.writing {
		a.writing = true
		go a.write()
	}
}

// awaitRoom waits while too many bytes wait for the disk.
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

// change returns a channel that closes at the next change. The caller holds mu.
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

// write hands pending output to the disk until there is none.
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
		a.claimed = max(a.head+a.ring+int64(len(p))-a.shape.head, 0)
		a.mu.Unlock()
		a.store(p)
		used = p
	}
}

// store writes to the file. For the writing goroutine only.
func (a *Log) store(p []byte) {
	if a.file == nil && a.failed == nil {
		a.create()
	}
	if a.claimed > 0 {
		a.mark()
	}
	for len(p) > 0 && a.failed == nil {
		at, room := a.head, a.shape.head-a.head
		if room == 0 {
			at, room = a.shape.head+a.ring%a.shape.ring, a.shape.ring-a.ring%a.shape.ring
		}
		n, err := a.file.WriteAt(p[:min(int64(len(p)), room)], headerBytes+at)
		a.logs.grew(a.wrote(int64(n), err))
		p = p[n:]
	}
	if lost := int64(len(p)); lost > 0 {
		a.mu.Lock()
		a.unkept += lost
		a.settled += lost
		a.wake()
		a.mu.Unlock()
		a.logs.o.OnUnkept(lost)
	}
}

// wrote notes a write's result, and returns by how much the file grew.
func (a *Log) wrote(n int64, err error) (grew int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.head < a.shape.head {
		a.head += n
		grew = n
	} else {
		grew = min(a.ring+n, a.shape.ring) - min(a.ring, a.shape.ring)
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
		a.mark()
		a.logs.enter(a)
		a.logs.grew(logBlock)
	}
}

// enter lists a log that has a file now. It replaces an earlier log of the same attempt number: a
// manager that lost the end of its event log may give a number again, and the file is overwritten.
func (l *Logs) enter(a *Log) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := l.byID[a.attempt]; old != nil {
		if i := slices.Index(l.ended, old); i >= 0 {
			l.ended = slices.Delete(l.ended, i, i+1)
			l.held -= old.kept()
		}
	}
	l.byID[a.attempt] = a
}

// grew counts bytes, and removes the oldest logs of ended attempts when the bounds are exceeded.
func (l *Logs) grew(bytes int64) {
	l.mu.Lock()
	l.held += bytes
	l.mu.Unlock()
	l.KeepBounds()
}

// KeepBounds removes the oldest logs of ended attempts while the bounds are exceeded, and all logs
// older than KeepFor. It waits for the disk.
func (l *Logs) KeepBounds() {
	until := l.o.Now().Add(-l.o.KeepFor)
	l.drop(func(oldest *Log) bool {
		return l.held > l.o.Total || len(l.byID) > l.o.Count || oldest.at.Before(until)
	})
}

// drop removes the oldest logs of ended attempts while tooMuch is true of the oldest.
func (l *Logs) drop(tooMuch func(oldest *Log) bool) {
	l.mu.Lock()
	var old []*Log
	for len(l.ended) > 0 && tooMuch(l.ended[0]) {
		old = append(old, l.ended[0])
		l.held -= l.ended[0].kept()
		delete(l.byID, l.ended[0].attempt)
		l.ended = l.ended[1:]
	}
	l.mu.Unlock()
	for _, a := range old {
		_ = os.Remove(l.path(a.attempt)) // the next start finds a file that stays
	}
}

// kept is the size of the log on disk. Its attempt has ended, so the size no longer changes.
func (a *Log) kept() int64 { return logBlock + a.head + min(a.ring, a.shape.ring) }

// End notes that the attempt is over. Readers may still open the log.
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

// retire lists an ended log among those that may be removed to make room.
func (l *Logs) retire(a *Log, file *os.File) {
	if file == nil {
		return // it has no file
	}
	if a.ring > 0 || a.unkept > 0 {
		a.mark() // the rest is known from the length of the file
	}
	file.Close()
	l.mu.Lock()
	a.at = l.o.Now()
	if l.byID[a.attempt] == a {
		l.ended = append(l.ended, a)
	}
	l.mu.Unlock()
	l.KeepBounds() // a newer log may have grown before this one could go
}

// Last returns the end of the log, at most LastWords bytes.
func (a *Log) Last() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return string(a.tail.buf)
}

// lastBytes keeps the last bytes written to it.
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
