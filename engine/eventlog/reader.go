package eventlog

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// reader reads a file of the log front to back, and checks each frame against the format: first the
// opening (header and checkpoint), then the records in their order.
type reader struct {
	path   string
	frames frames

	version byte
	salt    salt
	at      int64  // offset behind the last good frame
	record  uint64 // number of the record expected next
	frame          // the last good one
}

// frames are the bytes of a file, from memory or from the disk.
type frames interface {
	// start returns the first fileStart bytes, or fewer where there are no more.
	start() []byte
	// next decodes the next frame, and returns what is wrong, or "". Without keep the payload is
	// valid until the call after.
	next(f *frame, of salt, keep bool) (wrong string)
}

// damaged is the error at the reader's position.
func (r *reader) damaged(why string) *DamageError {
	return &DamageError{Path: r.path, Offset: r.at, Why: why}
}

// next reads a frame. broken reports that the bytes there are no frame.
func (r *reader) next(keep bool) (broken bool, err error) {
	if wrong := r.frames.next(&r.frame, r.salt, keep); wrong != "" {
		return true, r.damaged(wrong)
	}
	if r.kind == kindHeader && r.at == fileStart {
		r.record = r.number
	}
	if r.number != r.record {
		return false, r.damaged(fmt.Sprintf("number %d stands where number %d belongs", r.number, r.record))
	}
	return false, nil
}

// header reads the beginning of a file.
func (r *reader) header() (h Header, err error) {
	start := r.frames.start()
	if len(start) < fileStart || string(start[:7]) != fileMagic[:7] {
		return h, r.damaged("this is no event log file")
	}
	if r.version = start[7]; r.version != fileMagic[7] && r.version != versionOnePart {
		return h, &DamageError{Path: r.path, Offset: 7, version: r.version}
	}
	copy(r.salt[:], start[8:])
	r.at = fileStart
	if _, err := r.next(true); err != nil {
		return h, err
	}
	if r.kind != kindHeader {
		return h, r.damaged("the header belongs here")
	}
	if err := json.Unmarshal(r.payload, &h); err != nil {
		return h, r.damaged("the header can't be read: " + err.Error())
	}
	r.at += int64(r.size())
	return h, nil
}

// opening reads header and checkpoint. They were on disk before the file got its name,
// so they are never torn.
func (r *reader) opening() (h Header, checkpoint [][]byte, err error) {
	if h, err = r.header(); err != nil {
		return h, nil, err
	}
	for size, complete := uint64(0), false; !complete; {
		_, err := r.next(true)
		switch {
		case err != nil:
			return h, nil, err
		case r.kind == kindComplete && r.synced == size && r.version != versionOnePart:
			complete = true
		case r.kind != kindCheckpoint:
			return h, nil, r.damaged("a part of the checkpoint belongs here")
		default:
			checkpoint, size = append(checkpoint, r.payload), size+uint64(len(r.payload))
			complete = r.version == versionOnePart
		}
		r.at += int64(r.size())
	}
	return h, checkpoint, nil
}

// take reads the next record, or the end mark. broken reports that the bytes there are no frame:
// they may be a torn tail.
func (r *reader) take(keep bool) (broken bool, err error) {
	broken, err = r.next(keep)
	switch {
	case err != nil:
		return broken, err
	case r.kind == kindRecord:
		r.record++
	case r.kind != kindEnd:
		return false, r.damaged("a frame of another kind belongs here")
	}
	r.at += int64(r.size())
	return false, nil
}

// content is a file in memory. Payloads alias it.
type content struct{ rest []byte }

func (c *content) start() []byte {
	start := c.rest[:min(len(c.rest), fileStart)]
	c.rest = c.rest[len(start):]
	return start
}

func (c *content) next(f *frame, of salt, _ bool) (wrong string) {
	if *f, wrong = decodeFrame(c.rest, of); wrong == "" {
		c.rest = c.rest[f.size():]
	}
	return wrong
}

// stream is a file that is read from the disk, with one frame in memory.
type stream struct {
	from   *bufio.Reader
	buffer []byte
}

// streamBytes is how much of a file is read at once.
const streamBytes = 1 << 20

func newStream(from io.Reader) *stream {
	return &stream{from: bufio.NewReaderSize(from, streamBytes)}
}

func (s *stream) start() []byte {
	start := make([]byte, fileStart)
	n, _ := io.ReadFull(s.from, start) // a short start shows that it is no file of the log
	return start[:n]
}

func (s *stream) next(f *frame, of salt, keep bool) (wrong string) {
	buffer, err := s.frame()
	if err != nil {
		return "no frame can be read: " + err.Error()
	}
	*f, wrong = decodeFrame(buffer, of)
	if keep {
		s.buffer = nil // the payload owns it
	}
	return wrong
}

// frame reads the bytes of one frame.
func (s *stream) frame() ([]byte, error) {
	s.buffer = slices.Grow(s.buffer[:0], frameHeader)[:frameHeader]
	if _, err := io.ReadFull(s.from, s.buffer); err != nil {
		return nil, err
	}
	size := int(binary.LittleEndian.Uint32(s.buffer[4:]))
	if size > RecordBytesMax {
		return nil, errors.New("its length is out of bounds")
	}
	s.buffer = slices.Grow(s.buffer, size)[:frameHeader+size]
	_, err := io.ReadFull(s.from, s.buffer[frameHeader:])
	return s.buffer, err
}
