package eventlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Header opens every file.
type Header struct {
	Core     int    `json:"core"`     // version of the core that wrote it
	Identity string `json:"identity"` // of the manager's data; the same in all files of a log
	Term     uint64 `json:"term"`     // of the manager that wrote it
	Created  int64  `json:"created"`  // nanoseconds since the Unix epoch
	// Began is when the log was new, the same in all its files; 0 in those of older
	// programs.
	Began int64 `json:"began"`
}

// Segment is one file, decoded. Its byte slices alias the file's content and
// must not be changed.
type Segment struct {
	Path       string
	Header     Header
	Checkpoint [][]byte // the core before the first record, in parts that follow each other; empty: a new core
	First      uint64   // number of the first record
	Records    [][]byte // Records[i] has number First+i
	Closed     bool     // it ends with an end mark: nothing was cut off
	Torn       int64    // bytes of a torn tail, which are left out

	version byte // of the file's format
	salt    salt
	end     int64 // offset behind the last good record
}

// CheckpointBytes is the size of the checkpoint.
func (s *Segment) CheckpointBytes() (n int) {
	for _, part := range s.Checkpoint {
		n += len(part)
	}
	return n
}

// Next is the number of the record that would follow.
func (s *Segment) Next() uint64 { return s.First + uint64(len(s.Records)) }

// DamageError is a file that is not what was written. Nothing of it is used.
type DamageError struct {
	Path   string
	Offset int64
	Why    string
}

// Error names file, offset and remedy.
func (e *DamageError) Error() string {
	return fmt.Sprintf("event log file %s is damaged at byte %d: %s; put back an undamaged copy of the file, "+
		"or, to give up everything since its first record, move it and all newer files away", e.Path, e.Offset, e.Why)
}

// ReadSegment reads one file. A torn tail is left out and counted in Torn;
// anything else that is wrong is a DamageError.
func ReadSegment(path string) (*Segment, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("event log: %w", err)
	}
	s, err := decodeSegment(data)
	var damage *DamageError
	if errors.As(err, &damage) {
		damage.Path = path
	}
	if err != nil {
		return nil, err
	}
	s.Path = path
	return s, nil
}

// Files lists a folder's segment files, oldest first.
func Files(folder string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(folder, "events-*.log"))
	if err != nil {
		return nil, fmt.Errorf("event log: folder %s: %w", folder, err)
	}
	return names, nil // Glob sorts, and the numbers have leading zeros
}

func decodeSegment(data []byte) (*Segment, error) {
	if len(data) < fileStart || string(data[:7]) != fileMagic[:7] {
		return nil, &DamageError{Why: "this is no event log file"}
	}
	if data[7] != fileMagic[7] && data[7] != versionOnePart {
		return nil, &DamageError{Offset: 7, Why: fmt.Sprintf("it has format version %d, this program reads %d: use the program that wrote it", data[7], fileMagic[7])}
	}
	s := &Segment{end: fileStart, version: data[7]}
	copy(s.salt[:], data[8:])
	if err := s.decodeOpening(data); err != nil {
		return nil, err
	}
	return s, s.decodeRecords(data)
}

// decodeOpening reads header and checkpoint. They were on disk before the file
// got its name, so they are never torn.
func (s *Segment) decodeOpening(data []byte) error {
	head, err := s.expect(data, kindHeader)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(head.payload, &s.Header); err != nil {
		return &DamageError{Offset: fileStart, Why: "the header can't be read: " + err.Error()}
	}
	s.First = head.number
	if s.version == versionOnePart {
		check, err := s.expect(data, kindCheckpoint)
		s.Checkpoint = [][]byte{check.payload}
		return err
	}
	for {
		part, why := decodeFrame(data[s.end:], s.salt)
		switch {
		case why != "":
			return &DamageError{Offset: s.end, Why: why}
		case part.kind == kindComplete && part.synced == uint64(s.CheckpointBytes()):
			s.end += int64(part.size())
			return nil
		case part.kind != kindCheckpoint:
			return &DamageError{Offset: s.end, Why: "a part of the checkpoint belongs here"}
		}
		s.Checkpoint = append(s.Checkpoint, part.payload)
		s.end += int64(part.size())
	}
}

// ReadHeader reads the header alone of a file.
func ReadHeader(path string) (Header, error) {
	f, err := os.Open(path)
	if err != nil {
		return Header{}, fmt.Errorf("event log: %w", err)
	}
	defer f.Close()
	data := make([]byte, headerRead)
	n, err := io.ReadFull(f, data)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return Header{}, fmt.Errorf("event log: %w", err)
	}
	s := &Segment{end: fileStart}
	if n < fileStart {
		return Header{}, &DamageError{Path: path, Why: "this is no event log file"}
	}
	copy(s.salt[:], data[8:])
	head, err := s.expect(data[:n], kindHeader)
	if err == nil {
		err = json.Unmarshal(head.payload, &s.Header)
	}
	return s.Header, err
}

// headerRead is as much of a file as its header takes at most, and more.
const headerRead = 64 << 10

func (s *Segment) expect(data []byte, kind frameKind) (frame, error) {
	f, why := decodeFrame(data[s.end:], s.salt)
	if why == "" && f.kind != kind {
		why = "a frame of another kind belongs here"
	}
	if why != "" {
		return frame{}, &DamageError{Offset: s.end, Why: why}
	}
	s.end += int64(f.size())
	return f, nil
}

func (s *Segment) decodeRecords(data []byte) error {
	for int(s.end) < len(data) {
		f, why := decodeFrame(data[s.end:], s.salt)
		switch {
		case why != "":
			return s.tornOrDamaged(data, why)
		case f.number != s.Next():
			return &DamageError{Offset: s.end, Why: fmt.Sprintf("record %d stands where record %d belongs", f.number, s.Next())}
		case f.kind == kindEnd:
			s.Closed = true
			return s.nothingFollows(data, s.end+int64(f.size()))
		case f.kind != kindRecord:
			return &DamageError{Offset: s.end, Why: "a frame of another kind belongs here"}
		}
		s.Records = append(s.Records, f.payload)
		s.end += int64(f.size())
	}
	return nil
}

// tornOrDamaged decides about bytes at s.end that are no frame. They are a torn
// tail when no later frame knows that the record which belongs here was on disk.
func (s *Segment) tornOrDamaged(data []byte, why string) error {
	rest := data[s.end:]
	for at := 1; ; at++ {
		i := bytes.Index(rest[min(at, len(rest)):], []byte(frameMagic))
		if i < 0 {
			break
		}
		at += i
		f, wrong := decodeFrame(rest[at:], s.salt)
		if wrong == "" && f.synced >= s.Next() {
			return &DamageError{Offset: s.end, Why: why}
		}
	}
	s.Torn = int64(len(bytes.TrimRight(rest, "\x00"))) // zeros are preallocated space
	return nil
}

func (s *Segment) nothingFollows(data []byte, at int64) error {
	if len(bytes.Trim(data[at:], "\x00")) != 0 {
		return &DamageError{Offset: at, Why: "something follows the end mark"}
	}
	return nil
}
