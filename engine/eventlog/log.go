package eventlog

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Defaults of Options.
const (
	SegmentBytesDefault = 64 << 20
	KeepSegmentsDefault = 16
	KeepBytesDefault    = 4 << 30
)

// Options configure a log. Folder is required.
type Options struct {
	Folder       string
	SegmentBytes int64 // Full reports true from this size on, but not before the records outweigh the checkpoint; 0: SegmentBytesDefault
	KeepSegments int   // number of files kept, with the current one, at least 2; 0: KeepSegmentsDefault
	KeepBytes    int64 // bound of all files together, but the newest two are always kept; 0: KeepBytesDefault
	// NoSync leaves it to the operating system when records reach the disk. They survive the end of
	// the process, but not a crash of the machine.
	NoSync bool
	Log    *slog.Logger // nil: slog.Default
	// Now stamps headers; nil: time.Now.
	Now func() time.Time
	// OnDurable is called, in order, when all records up to seq are durable. It runs on the writing
	// goroutine and must not block.
	OnDurable func(seq uint64, bytes int, took time.Duration)
	// OnStall is called with the reason when the disk is full, and with nil when
	// there is room again.
	OnStall func(error)
	// OnFail is called once when the log can't continue. Append fails from then on.
	OnFail func(error)

	file func(path string) (file, error) // creates a file; tests replace it
}

// Log is an open event log. Append and Rotate are called by one goroutine; Close
// and the callbacks may run beside it.
type Log struct {
	o         Options
	lock      *os.File
	recovered *Segment
	first     uint64 // number of the first record after the recovered ones
	header    Header
	w         *writer
}

// Open locks the folder and reads its newest file. It changes nothing before Begin. If that file is
// damaged, the error is a DamageError.
func Open(o Options) (*Log, error) {
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = SegmentBytesDefault
	}
	if o.KeepSegments <= 0 {
		o.KeepSegments = KeepSegmentsDefault
	}
	if o.KeepBytes <= 0 {
		o.KeepBytes = KeepBytesDefault
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.file == nil {
		o.file = createFile
	}
	if err := os.MkdirAll(o.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("event log: %w", err)
	}
	l := &Log{o: o, first: 1}
	if err := l.takeLock(); err != nil {
		return nil, err
	}
	if err := l.readNewest(); err != nil {
		l.lock.Close()
		return nil, err
	}
	return l, nil
}

// takeLock locks the folder for this process. The kernel unlocks it when the process ends.
func (l *Log) takeLock() error {
	path := filepath.Join(l.o.Folder, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("event log: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("event log: folder %s is in use by another manager: stop that one, or give this one another data folder", l.o.Folder)
		}
		return fmt.Errorf("event log: lock %s: %w", path, err)
	}
	l.lock = f
	return nil
}

func (l *Log) readNewest() error {
	files, err := Files(l.o.Folder)
	if err != nil || len(files) == 0 {
		return err
	}
	l.recovered, err = ReadSegment(files[len(files)-1])
	return err
}

// Recovered is the newest file as Open found it, nil when the log is new.
func (l *Log) Recovered() *Segment { return l.recovered }

// Begin cuts off a torn tail, opens a new file with the checkpoint, and starts the writer. The
// checkpoint must be that of a core restored from Recovered. After an error that matches IsFull the
// caller may try again with the same arguments.
func (l *Log) Begin(h Header, checkpoint Checkpoint) error {
	if s := l.recovered; s != nil {
		if err := l.closeRecovered(s); err != nil {
			return err
		}
		l.first, l.recovered = s.Next(), nil
	}
	if err := l.sweep(); err != nil {
		return err
	}
	l.header = h
	w, err := newWriter(l, l.first, checkpoint)
	if err != nil {
		return err
	}
	l.w = w
	return nil
}

// closeRecovered ends the newest file with an end mark in place of a torn tail.
func (l *Log) closeRecovered(s *Segment) error {
	if s.Closed {
		return nil
	}
	if s.Torn > 0 {
		l.o.Log.Warn("event log: cut off a record that was being written when the manager ended; nobody was told of it, unless the disk lost what it had",
			"file", s.Path, "offset", s.end, "bytes", s.Torn)
	}
	f, err := os.OpenFile(s.Path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("event log: %w", err)
	}
	defer f.Close()
	last := s.Next() - 1
	end := appendFrame(nil, s.salt, frame{kind: kindEnd, number: s.Next(), synced: last})
	err = f.Truncate(s.end)
	if err == nil {
		_, err = f.WriteAt(end, s.end)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return fmt.Errorf("event log: closing %s: %w", s.Path, err)
	}
	return nil
}

// sweep removes new files that a crash left unfinished.
func (l *Log) sweep() error {
	left, err := filepath.Glob(filepath.Join(l.o.Folder, "*.new"))
	if err != nil {
		return fmt.Errorf("event log: %w", err)
	}
	for _, path := range left {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("event log: %w", err)
		}
	}
	return nil
}

// Append takes a record and returns its number at once. OnDurable reports when it is on disk:
// within writeHold, or as soon as possible after Hurry. Append blocks while pendingBytesMax bytes
// wait to be written. It copies the record. An error means that the log has ended.
func (l *Log) Append(record []byte) (uint64, error) { return l.w.append(record) }

// Hurry makes the log write appended records now, because a caller waits for them.
func (l *Log) Hurry() { l.w.hurry() }

// Last is the number of the newest appended record.
func (l *Log) Last() uint64 { return l.w.lastAppended() }

// Full reports whether the current file has reached its size, so that it is time to Rotate. It is
// false during a rotation.
func (l *Log) Full() bool { return l.w.full() }

// Checkpoint writes a checkpoint of any size, front to back. It is called once, on another
// goroutine, and must not depend on later changes. Its errors are those of the writer, or,
// in a rotation, a Later.
type Checkpoint func(to io.Writer) error

// Rotate starts a new file, which begins with the checkpoint and holds all records from the next
// one on. It returns at once. While the file is written, records still go into the current one;
// they are copied before the new file takes its place. There is one rotation at a time. If there is
// no room for the file, the log continues with the current one, and Full reports true again after a
// while.
func (l *Log) Rotate(checkpoint Checkpoint) error {
	return l.w.rotate(func(_ Past, to io.Writer) error { return checkpoint(to) })
}

// RotateFrom is Rotate with a checkpoint that is made from the content of the current file, so that
// no other goroutine has to pause for it. If that fails, the log continues as Later says.
func (l *Log) RotateFrom(remake Remake) error {
	return l.w.rotate(func(past Past, to io.Writer) error {
		if err := l.w.reach(past.End); err != nil {
			return err
		}
		return remake(past, to)
	})
}

// Overgrown reports whether the current file is so many times as long as a Full one.
func (l *Log) Overgrown(times int64) bool { return l.w.overgrown(times) }

// Folder is where the log's files are.
func (l *Log) Folder() string { return l.o.Folder }

// Settle waits until no rotation is under way.
func (l *Log) Settle() { l.w.settle() }

// Close writes the appended records, ends the file and unlocks the folder. While the disk is full
// it does not wait: records that are not durable are lost, and the error says so.
func (l *Log) Close() error {
	var err error
	if l.w != nil {
		err = l.w.close()
	}
	l.lock.Close()
	return err
}
