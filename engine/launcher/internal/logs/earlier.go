package logs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A log's file begins with a line that names its attempt and its layout, so that a restarted
// launcher finds the logs of its predecessor. The line is written before the part of the ring that
// it names: after a kill, the part of the ring that may be half written is not read.

const (
	headerBytes = 256 // of the line, padded with blanks
	// headerForm is the line: attempt, manager, bytes of beginning and ring, bytes written to the
	// ring, the same including the write under way, bytes that could not be kept, and a checksum of
	// all that.
	headerForm = "hamadryad-log 1 attempt=%d manager=%q head=%d ring=%d settled=%d claimed=%d unkept=%d"
	sumForm    = "%s sum=%08x"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// mark writes the header. For the writing goroutine only.
func (a *Log) mark() {
	text := fmt.Appendf(nil, headerForm, a.attempt, a.manager, a.shape.head, a.shape.ring, a.ring, a.claimed, a.unkept)
	line := fmt.Appendf(nil, sumForm, text, crc32.Checksum(text, castagnoli))
	if len(line) >= headerBytes {
		line = nil // no manager has a name that long: the next start drops the log
	}
	line = append(line, bytes.Repeat([]byte{' '}, headerBytes-1-len(line))...)
	if _, err := a.file.WriteAt(append(line, '\n'), 0); err != nil {
		a.mu.Lock()
		a.failed = err
		a.mu.Unlock()
	}
}

// errNoLog: a file is not a readable log.
var errNoLog = errors.New("no log of an attempt")

// earlier opens the log file of an earlier run.
func (l *Logs) earlier(path string) (*Log, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	line := make([]byte, headerBytes)
	if _, err := f.ReadAt(line, 0); err != nil {
		return nil, errNoLog
	}
	text, sum, found := bytes.Cut(bytes.TrimRight(line, " \n"), []byte(" sum="))
	if !found || string(sum) != fmt.Sprintf("%08x", crc32.Checksum(text, castagnoli)) {
		return nil, errNoLog
	}
	a := &Log{logs: l, done: true, retired: true, at: info.ModTime()}
	var settled int64
	if _, err := fmt.Sscanf(string(text), headerForm, &a.attempt, &a.manager, &a.shape.head, &a.shape.ring, &settled, &a.claimed, &a.unkept); err != nil {
		return nil, errNoLog
	}
	if path != l.path(a.attempt) || a.shape.head <= 0 || a.shape.ring <= 0 || settled < 0 || a.claimed < settled {
		return nil, errNoLog
	}
	a.head, a.ring = min(info.Size()-headerBytes, a.shape.head), settled
	a.taken = a.head + a.ring + a.unkept
	a.settled = a.taken
	if a.unkept > 0 {
		a.failed = errors.New("an earlier launcher could not write it")
	}
	return a, nil
}

// New makes the folder if it is missing, and finds the logs that an earlier run left there. Files
// that are no logs are removed.
func New(o Options) (*Logs, error) {
	o.Count = cmp.Or(o.Count, CountDefault)
	o.KeepFor = cmp.Or(o.KeepFor, KeepForDefault)
	if o.OnUnkept == nil {
		o.OnUnkept = func(int64) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	l := &Logs{o: o, byID: map[uint64]*Log{}}
	if err := os.MkdirAll(o.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("logs of attempts: %w", err)
	}
	entries, err := os.ReadDir(o.Folder)
	if err != nil {
		return nil, fmt.Errorf("logs of attempts: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(o.Folder, e.Name())
		a, err := l.earlier(path)
		if err != nil {
			if err := os.RemoveAll(path); err != nil {
				return nil, fmt.Errorf("logs of attempts: %w", err)
			}
			continue
		}
		l.byID[a.attempt] = a
		l.ended = append(l.ended, a)
		l.held += a.kept()
	}
	slices.SortFunc(l.ended, func(x, y *Log) int { return cmp.Or(x.at.Compare(y.at), cmp.Compare(x.attempt, y.attempt)) })
	l.KeepBounds()
	return l, nil
}

// JoinManager sets the manager to which the launcher belongs now. Logs of another manager's
// attempts are removed, because nobody can ask for them any more. It waits for the disk.
func (l *Logs) JoinManager(manager string) {
	l.mu.Lock()
	l.manager = manager
	slices.SortStableFunc(l.ended, func(x, y *Log) int { return of(x, manager) - of(y, manager) })
	l.mu.Unlock()
	l.drop(func(oldest *Log) bool { return oldest.manager != manager })
}

// of is 0 for a log of another manager's attempt, and 1 for a log of this manager's.
func of(a *Log, manager string) int {
	if a.manager == manager {
		return 1
	}
	return 0
}
