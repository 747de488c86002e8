package eventlog

import (
	"fmt"
	"io"
	"os"
)

// Records reads a complete file front to back, with one record in memory. Close must be called. It
// is for one goroutine.
type Records struct {
	Header     Header
	Checkpoint [][]byte // as that of a Segment
	First      uint64   // number of the first record

	file   *os.File
	reader *reader
}

// OpenRecords reads a file's opening. The errors are those of ReadSegment.
func OpenRecords(path string) (*Records, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("event log: %w", err)
	}
	s := &Records{file: f, reader: &reader{path: path, frames: newStream(f)}}
	if s.Header, s.Checkpoint, err = s.reader.opening(); err != nil {
		f.Close()
		return nil, err
	}
	s.First = s.reader.record
	return s, nil
}

// Next returns the next record, which is valid until the call after, or io.EOF at the end mark. A
// file without an end mark ends with a DamageError.
func (s *Records) Next() ([]byte, error) {
	if s.reader.kind == kindEnd {
		return nil, io.EOF
	}
	if _, err := s.reader.take(false); err != nil {
		return nil, err
	}
	if s.reader.kind == kindEnd {
		return nil, io.EOF
	}
	return s.reader.payload, nil
}

// Close closes the file.
func (s *Records) Close() error { return s.file.Close() }
