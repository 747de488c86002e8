// Package audit writes changes and refusals, each with its caller, as lines of JSON.
//
//	log, err := audit.Open(audit.Options{Folder: filepath.Join(data, "audit")})
//	ctx, e := audit.Begin(ctx, log, audit.Line{Who: "ann", Method: "Kill"})
//	if err := e.Change(); err != nil { ... }   // a change that could not be written is not made
//	err = e.End(outcome)                      // before the answer leaves
//
// # Invariants
//
// A line is written to the file before the answer to its request leaves. It is not synced: the
// event log is, and has each change of the core, too. While lines can't be written, no change is
// begun. Lines of changes in progress are kept in memory, and written first when the file works
// again. Only the owner can read the files, which are bounded in size and number.
//
// # Order and bounds
//
// An entry begins before the caller is authenticated, so the audit has refusals of unauthenticated
// callers too.
//
// Refusals without end are counted for each caller, and written at doubling intervals
// (audit.refusals). Lines that wait make room by dropping refusals only, so a refusal never takes
// the place of a change. A query reads files backwards, in blocks, 8 MiB at most for one request. A
// cursor is a file's number with an offset. The file in use already has the number that it will
// have when it is put aside.
package audit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Bounds, and defaults of Options.
const (
	FileBytesDefault = 16 << 20
	KeepDefault      = 16
	// pendingMax bounds the lines that wait for a file that can't be written. They are of requests
	// in progress, and of refusals; the oldest refusal is dropped, and counted.
	pendingMax = 10_000
)

// Options name the place of an audit, and bound its size. Zero means the default.
type Options struct {
	Folder    string // made when missing
	Uploads   bool   // also log programs and plans that arrived complete
	FileBytes int64  // of one file, then the next begins; FileBytesDefault
	Keep      int    // full files, besides the current one; KeepDefault
	Log       *slog.Logger
	Now       func() time.Time // nil: time.Now; bounds refusals
}

// Line is one request.
type Line struct {
	Time    string   `json:"time"` // of the end, UTC, as RFC 3339 with nanoseconds
	Who     string   `json:"who"`
	Groups  []string `json:"groups,omitempty"`
	Proof   string   `json:"proof"`
	By      string   `json:"by,omitempty"` // the user who acts in the name of Who
	Address string   `json:"address,omitempty"`
	Method  string   `json:"method"`
	What    string   `json:"what,omitempty"` // job, pool, launcher or program
	Before  string   `json:"before,omitempty"`
	After   string   `json:"after,omitempty"`
	Result  string   `json:"result"` // Done, Refused or Failed
	Why     string   `json:"why,omitempty"`
	More    int      `json:"more,omitempty"` // refusals of the same caller that have no lines of their own
}

// ByFile is Line.Proof of a change written by hand into the configuration's file. The file's mode
// says who may write it.
const ByFile = "file"

// Results of a Line.
const (
	Done    = "ok"
	Refused = "refused"
	Failed  = "error"
)

// current is the file being written; full ones are audit-N.jsonl, the largest N the newest.
const current = "audit.jsonl"

// Log writes lines. Safe for concurrent use.
type Log struct {
	options Options

	mu      sync.Mutex
	file    *os.File
	size    int64 // of file
	number  int   // of the newest full file
	pending []waiting
	missing int   // lines that pending had no room for
	wrong   error // why the last line could not be written; nil: it was
	refused refusals
	closed  bool
}

// waiting is a line to be written.
type waiting struct {
	text    []byte
	refusal bool
}

// Open opens the audit in a folder, and continues its files.
func Open(o Options) (*Log, error) {
	o.FileBytes, o.Keep, o.Log = cmp.Or(o.FileBytes, FileBytesDefault), cmp.Or(o.Keep, KeepDefault), cmp.Or(o.Log, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	l := &Log{options: o}
	for _, n := range l.full() {
		l.number = n
	}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("the audit: %w", err)
	}
	return l, nil
}

func (l *Log) path(name string) string { return filepath.Join(l.options.Folder, name) }

func fullName(n int) string { return fmt.Sprintf("audit-%d.jsonl", n) }

// full lists the numbers of the full files, the oldest first.
func (l *Log) full() (numbers []int) {
	names, _ := filepath.Glob(l.path("audit-*.jsonl")) // the pattern is right
	for _, name := range names {
		text := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), "audit-"), ".jsonl")
		if n, err := strconv.Atoi(text); err == nil && n > 0 && fullName(n) == filepath.Base(name) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// open opens the current file. It ends a line that a crash cut off.
func (l *Log) open() error {
	if err := os.MkdirAll(l.options.Folder, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(l.path(current), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		err = f.Chmod(0o600)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.file, l.size = f, info.Size()
	return l.endLine()
}

func (l *Log) endLine() error {
	last := []byte{'\n'}
	if l.size > 0 {
		if _, err := l.file.ReadAt(last, l.size-1); err != nil {
			return err
		}
	}
	if last[0] == '\n' {
		return nil
	}
	return l.append([]byte{'\n'})
}

// append writes whole lines; after an error it removes the written part.
func (l *Log) append(lines []byte) error {
	n, err := l.file.Write(lines)
	l.size += int64(n)
	if err != nil && n > 0 && l.file.Truncate(l.size-int64(n)) == nil {
		l.size -= int64(n)
	}
	return err
}

// Ready returns why no change may be begun, nil when one may. After a failure it tries again.
func (l *Log) Ready() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wrong == nil && l.file != nil && !removed(l.file) {
		return nil
	}
	return l.flush()
}

// Write adds a line. The error says that the line waits to be written, and why. Refusals of a
// caller with too many are counted, and written within refusalsWithin.
func (l *Log) Write(line Line) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.addDueRefusals(); err != nil {
		return err
	}
	if line.Result == Refused {
		write, after := l.refused.countRefusal(line, l.options.Now())
		if after > 0 {
			time.AfterFunc(after, l.writeDueRefusals)
		}
		if !write {
			return l.wrong
		}
	}
	if err := l.add(line); err != nil {
		return err
	}
	return l.flush()
}

// Waiting is how many lines wait to be written, and why; nil: the last line was written.
func (l *Log) Waiting() (lines int, wrong error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.pending), l.wrong
}

// writeDueRefusals writes summaries of refusals that are due, when nothing else is written.
func (l *Log) writeDueRefusals() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.addDueRefusals() != nil {
		return
	}
	_ = l.flush() // it is kept, and the log says so
}

func (l *Log) addDueRefusals() error {
	for _, more := range l.refused.over(l.options.Now()) {
		if err := l.add(more); err != nil {
			return err
		}
	}
	return nil
}

// add has a line wait to be written.
func (l *Log) add(line Line) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(line); err != nil {
		return fmt.Errorf("the audit: %w", err)
	}
	if len(l.pending) >= pendingMax { // no change begins meanwhile: the changes in progress are few, and stay
		if i := slices.IndexFunc(l.pending, func(w waiting) bool { return w.refusal }); i >= 0 {
			l.pending = slices.Delete(l.pending, i, i+1)
			l.missing++
		}
	}
	l.pending = append(l.pending, waiting{b.Bytes(), line.Result == Refused})
	return nil
}

// flush writes what waits, the oldest first.
func (l *Log) flush() error {
	was := l.wrong
	l.wrong = l.writePending()
	switch {
	case l.wrong != nil && was == nil:
		l.options.Log.Error("the audit can't be written: no change is taken until it can", "error", l.wrong)
	case l.wrong == nil && was != nil:
		l.options.Log.Info("the audit is written again", "linesMissing", l.missing)
		l.missing = 0
	}
	return l.wrong
}

func (l *Log) writePending() error {
	if l.file != nil && (l.wrong != nil || removed(l.file)) { // the file itself may be the fault: open it again
		_ = l.file.Close()
		l.file = nil
	}
	if l.file == nil {
		if err := l.open(); err != nil {
			return fmt.Errorf("the audit: %w", err)
		}
	}
	for len(l.pending) > 0 {
		if l.size > 0 && l.size+int64(len(l.pending[0].text)) > l.options.FileBytes {
			if err := l.rotate(); err != nil {
				return fmt.Errorf("the audit: %w", err)
			}
		}
		if err := l.append(l.pending[0].text); err != nil {
			return fmt.Errorf("the audit: %w", err)
		}
		l.pending = slices.Delete(l.pending, 0, 1)
	}
	return nil
}

// removed reports whether a file has no name any more: lines written into it would be lost.
func removed(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return true
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Nlink == 0
}

// rotate renames the full file, begins another, and removes the oldest beyond the bound.
func (l *Log) rotate() error {
	if err := os.Rename(l.path(current), l.path(fullName(l.number+1))); err != nil {
		return err
	}
	l.number++
	err := l.file.Close()
	l.file = nil
	if err = errors.Join(err, l.open()); err != nil {
		return err
	}
	full := l.full()
	for _, n := range full[:max(len(full)-l.options.Keep, 0)] {
		if err := os.Remove(l.path(fullName(n))); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the log. Lines that could not be written are lost.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	for _, more := range l.refused.over(l.options.Now().Add(refusalsWithinMax)) {
		_ = l.add(more) // and what can't be added is lost, too
	}
	_ = l.flush()
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// now is the time of a line.
func now() string { return time.Now().UTC().Format(time.RFC3339Nano) }
