package eventlog

import (
	"bufio"
	"encoding/json"
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
	r := &pastReader{Past: p, r: bufio.NewReaderSize(io.NewSectionReader(f, 0, p.End), 1<<20)}
	h, checkpoint, err := r.opening()
	if err != nil {
		return err
	}
	if err := opening(h, checkpoint); err != nil {
		return err
	}
	for r.at < p.End {
		number := r.number
		payload, err := r.record()
		if err != nil {
			return err
		}
		if err := record(number, payload); err != nil {
			return err
		}
	}
	if r.number != p.Next {
		return r.damaged(fmt.Sprintf("record %d should follow, and it is record %d", p.Next, r.number))
	}
	return nil
}

// pastReader reads a file of this version that is known to be whole up to its end.
type pastReader struct {
	Past
	r      *bufio.Reader
	at     int64
	salt   salt
	number uint64 // of the next record
	buffer []byte
}

func (r *pastReader) damaged(why string) error {
	return &DamageError{Path: r.Path, Offset: r.at, Why: why}
}

// next reads a frame, of which the payload lies in the buffer.
func (r *pastReader) next(buffer []byte) (frame, error) {
	var err error
	if r.buffer, err = readFrame(r.r, buffer); err != nil {
		return frame{}, r.damaged("no frame can be read: " + err.Error())
	}
	f, wrong := decodeFrame(r.buffer, r.salt)
	if wrong == "" && f.number != r.number && f.kind != kindHeader {
		wrong = fmt.Sprintf("number %d stands where number %d belongs", f.number, r.number)
	}
	if wrong != "" {
		return frame{}, r.damaged(wrong)
	}
	r.at += int64(f.size())
	return f, nil
}

// opening reads header and checkpoint.
func (r *pastReader) opening() (h Header, checkpoint [][]byte, err error) {
	var start [fileStart]byte
	if _, err := io.ReadFull(r.r, start[:]); err != nil || string(start[:len(fileMagic)]) != fileMagic {
		return h, nil, r.damaged("this is no event log file of this version")
	}
	copy(r.salt[:], start[len(fileMagic):])
	r.at = fileStart
	head, err := r.next(nil)
	if err != nil {
		return h, nil, err
	}
	if err := json.Unmarshal(head.payload, &h); head.kind != kindHeader || err != nil {
		return h, nil, r.damaged("the header belongs here")
	}
	r.number = head.number
	for bytes := uint64(0); ; {
		part, err := r.next(nil)
		switch {
		case err != nil:
			return h, nil, err
		case part.kind == kindComplete && part.synced == bytes:
			return h, checkpoint, nil
		case part.kind != kindCheckpoint:
			return h, nil, r.damaged("a part of the checkpoint belongs here")
		}
		checkpoint, bytes = append(checkpoint, part.payload), bytes+uint64(len(part.payload))
	}
}

// record reads the next record.
func (r *pastReader) record() ([]byte, error) {
	f, err := r.next(r.buffer)
	if err != nil {
		return nil, err
	}
	if f.kind != kindRecord {
		return nil, r.damaged("a record belongs here")
	}
	r.number++
	return f.payload, nil
}
