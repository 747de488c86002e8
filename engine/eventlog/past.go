package eventlog

import (
	"fmt"
	"io"
	"os"
	"time"
)

// Past is what the current file holds at a rotation: the checkpoint that it opens with
// and each record since. Whoever replays it has the state that the next file is to open
// with, and need not ask who appends.
type Past struct {
	Path string
	End  int64  // offset behind the last of the records; what follows is not of the past
	Next uint64 // number of the record that follows
}

// Remake writes, as a Checkpoint does, the checkpoint of what a past comes to. Its
// errors are those of the writer it is given, or a Later.
type Remake func(past Past, to io.Writer) error

// Later is the error of a Checkpoint that could not be made and harms nobody: the log
// goes on with the current file, and Full reports true again after a while.
type Later struct {
	After time.Duration // the while
	Err   error         // why
}

func (l Later) Error() string { return l.Err.Error() }

func (l Later) Unwrap() error { return l.Err }

// Read reads the past front to back: opening gets the header and the parts of the
// checkpoint, then record each record with its number, in bytes that are good until it
// returns. No more than the checkpoint, or one record, is in memory. An error of one of
// the two ends it and is returned; one of the file is a DamageError.
func (p Past) Read(opening func(h Header, checkpoint [][]byte) error, record func(number uint64, payload []byte) error) error {
	f, err := os.Open(p.Path)
	if err != nil {
		return fmt.Errorf("event log: %w", err)
	}
	defer f.Close()
	r := &reader{path: p.Path, frames: newStream(io.NewSectionReader(f, 0, p.End))}
	h, checkpoint, err := r.opening()
	if err != nil {
		return err
	}
	if err := opening(h, checkpoint); err != nil {
		return err
	}
	for r.at < p.End {
		if _, err := r.take(false); err != nil {
			return err
		}
		if r.kind != kindRecord {
			return r.damaged("a record belongs here")
		}
		if err := record(r.number, r.payload); err != nil {
			return err
		}
	}
	if r.record != p.Next {
		return r.damaged(fmt.Sprintf("record %d should follow, and it is record %d", p.Next, r.record))
	}
	return nil
}
