package format

import (
	"fmt"
	"io"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/text"
)

const (
	// readBytes is how much of a file is read at once.
	readBytes = 256 << 10
	// headerMax bounds the header of a file, which is held in memory.
	headerMax = 16 << 20
)

// reading is one split being read, and the position of the current record.
type reading struct {
	t  *mapreduce.Task
	s  job.Split
	at int64
}

// end is the offset at or after which no record of the split begins.
func (r *reading) end() int64 { return r.s.Offset + r.s.Length }

// splits calls read for each split of a task. An error or panic of read is reported with the file
// and the offset that it had reached.
func splits(t *mapreduce.Task, read func(r *reading) error) error {
	for _, s := range t.Node().Task() {
		r := &reading{t: t, s: s, at: s.Offset}
		t.Locate(func() (string, int64) { return r.s.Path, r.at })
		if text.IsCompressed(s.Path) {
			return job.Permanent(fmt.Errorf("read %s: only text input is decompressed: decompress the file first, or give it another name", s.Path))
		}
		if err := r.run(read); err != nil {
			return err
		}
		t.Count(mapreduce.MapInputBytes, s.Length)
	}
	return nil
}

func (r *reading) run(read func(r *reading) error) error {
	defer func() { r.t.Node().At(r.s.Path, r.at) }()
	return read(r)
}

// open opens the file at an offset, to be read to its end.
func (r *reading) open(offset int64) (io.ReadCloser, error) {
	s := r.s
	s.Offset, s.Length = offset, s.Size-offset
	f, err := r.t.Node().Open(r.t.Context(), s)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", s.Path, err)
	}
	return f, nil
}

// hasMagic reports whether a file of that size can hold a format's magic bytes.
func hasMagic(size int64, magic string) bool { return size >= int64(len(magic)) }

// wrap adds the file and the offset to an error.
func (r *reading) wrap(err error) error {
	if err == nil {
		return nil
	}
	if err == io.EOF { //nolint:errorlint // a bare one here is a file that ends too early
		err = fmt.Errorf("the file is cut: %w", io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("read %s at offset %d: %w", r.s.Path, r.at, err)
}
