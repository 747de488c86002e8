package eventlog

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// Header opens every file.
type Header struct {
	Core     int    `json:"core"`     // version of the core that wrote the file
	Identity string `json:"identity"` // of the manager's data; the same in all files of a log
	Term     uint64 `json:"term"`     // of the manager that wrote the file
	Created  int64  `json:"created"`  // nanoseconds since the Unix epoch
	// Began is when the log was new: the same in all its files; 0 in files of older versions.
	Began int64 `json:"began"`
}

// Segment is one file, decoded. Its byte slices alias the file's content and
// must not be changed.
type Segment struct {
	Path       string
	Header     Header
	Checkpoint [][]byte // the core's state before the first record, in consecutive parts; empty: a new core
	First      uint64   // number of the first record
	Records    [][]byte // Records[i] has number First+i
	Closed     bool     // it ends with an end mark, so it is complete
	Torn       int64    // bytes of a torn tail, which are left out

	salt salt
	end  int64 // offset behind the last good record
}

// CheckpointBytes is the size of the checkpoint.
func (s *Segment) CheckpointBytes() (n int) {
	for _, part := range s.Checkpoint {
		n += len(part)
	}
	return n
}

// Next is the number of the record after the last one.
func (s *Segment) Next() uint64 { return s.First + uint64(len(s.Records)) }

// DamageError says that a file differs from what was written. Nothing of it is used.
type DamageError struct {
	Path   string
	Offset int64
	Why    string

	version byte // of a file with a version that this program does not read; 0: it is damaged
}

// Error names the file, the offset and the remedy.
func (e *DamageError) Error() string {
	if e.version != 0 {
		return fmt.Sprintf("event log file %s has format version %d, and this program reads 1 to %d: start the version of Hamadryad that wrote it, or a newer one", e.Path, e.version, fileMagic[7])
	}
	return fmt.Sprintf("event log file %s is damaged at byte %d: %s; put back an undamaged copy of the file, "+
		"or, to give up everything since its first record, move it and all newer files away", e.Path, e.Offset, e.Why)
}

// ReadSegment reads one file. A torn tail is left out and counted in Torn; any other problem is a
// DamageError.
func ReadSegment(path string) (*Segment, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("event log: %w", err)
	}
	return decodeSegment(path, data)
}

// Files lists a folder's segment files, oldest first.
func Files(folder string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(folder, "events-*.log"))
	if err != nil {
		return nil, fmt.Errorf("event log: folder %s: %w", folder, err)
	}
	return names, nil // Glob sorts, and the numbers have leading zeros
}

func decodeSegment(path string, data []byte) (*Segment, error) {
	r := &reader{path: path, frames: &content{data}}
	h, checkpoint, err := r.opening()
	if err != nil {
		return nil, err
	}
	s := &Segment{Path: path, Header: h, Checkpoint: checkpoint, First: r.record, salt: r.salt}
	err = s.take(r, data)
	s.end = r.at
	return s, err
}

// take reads the records of a file up to its end mark, or to the point where it was cut off.
func (s *Segment) take(r *reader, data []byte) error {
	for int(r.at) < len(data) {
		broken, err := r.take(true)
		switch {
		case broken && torn(data[r.at:], r.salt, r.record):
			s.Torn = int64(len(bytes.TrimRight(data[r.at:], "\x00"))) // zeros are preallocated space
			return nil
		case err != nil:
			return err
		case r.kind == kindEnd:
			if s.Closed = true; len(bytes.Trim(data[r.at:], "\x00")) != 0 {
				return r.damaged("something follows the end mark")
			}
			return nil
		}
		s.Records = append(s.Records, r.payload)
	}
	return nil
}

// torn reports whether bytes that are no frame are a torn tail. They are, if no later frame says
// that the record which belongs there was on disk.
func torn(rest []byte, s salt, record uint64) bool {
	for at := 1; ; at++ {
		i := bytes.Index(rest[min(at, len(rest)):], []byte(frameMagic))
		if i < 0 {
			return true
		}
		at += i
		if f, wrong := decodeFrame(rest[at:], s); wrong == "" && f.synced >= record {
			return false
		}
	}
}

// ReadHeader reads only the header of a file.
func ReadHeader(path string) (Header, error) {
	f, err := os.Open(path)
	if err != nil {
		return Header{}, fmt.Errorf("event log: %w", err)
	}
	defer f.Close()
	return (&reader{path: path, frames: newStream(f)}).header()
}
