package eventlog

import (
	"fmt"
	"io"
	"os"
	"time"
)

// Past is the content of the current file at a rotation: its opening checkpoint and each record
// since. A replay of it gives the state with which the next file must begin, without a request to
// the goroutine that appends.
type Past struct {
	Path string
	End  int64  // offset behind the last record; later bytes do not belong to the past
	Next uint64 // number of the next record
}

// Remake writes the checkpoint of a past's final state, as a Checkpoint does. Its errors are
// those of the writer, or a Later.
type Remake func(past Past, to io.Writer) error

// Later is the error of a Checkpoint that could not be made, which does no harm. The log continues
// with the current file, and Full reports true again after a while.
type Later struct {
	After time.Duration // until Full reports true again
	Err   error         // the reason
}

func (l Later) Error() string { return l.Err.Error() }

func (l Later) Unwrap() error { return l.Err }

// Read reads the past front to back. It calls opening with the header and the parts of the
// checkpoint, then record with each record and its number. The bytes are valid until the call
// returns. Only the checkpoint, or one record, is in memory. An error of a callback ends Read,
// which returns it; an error in the file is a DamageError.
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
