// Package text reads the lines of a node's stored input.
//
// A line belongs to the split in which it begins. So over all splits of a file each line is read
// once, wherever the file was cut. A line ends after a newline byte or with the file; the last line
// may lack its newline. Other bytes are not examined, so any encoding works. Files whose names end
// as Compressed says are decompressed; offsets are then those of the plain text.
//
//	for line, err := range text.Lines(ctx, n) {
//		if err != nil {
//			return err
//		}
//		...
//	}
package text

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// blockBytes is how much is read at once.
const blockBytes = 256 << 10

// Lines ranges over the lines of a node's task, without their ends: a newline, or a carriage return
// and a newline. A line shares memory with the reader until the next line. An error is the last
// thing it yields; it names file and offset. Errors and panics of the loop's body are reported with
// the current line.
func Lines(ctx context.Context, n *job.Node) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		r := NewReader(ctx, n)
		defer r.Close()
		var at int64 // of the line at hand
		defer func() { r.At(at) }()
		for {
			block, err := r.Next()
			if err == io.EOF { //nolint:errorlint // only the bare one is the end: a failure may wrap it
				return
			}
			if err != nil {
				at = r.Offset()
				yield(nil, err)
				return
			}
			at = r.Offset()
			for len(block) > 0 {
				end := bytes.IndexByte(block, '\n') + 1
				if end == 0 {
					end = len(block)
				}
				if !yield(Trim(block[:end]), nil) {
					return
				}
				at += int64(end)
				block = block[end:]
			}
		}
	}
}

// Trim cuts the end off a line: a newline, or a carriage return and a newline.
func Trim(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
		if n > 1 && line[n-2] == '\r' {
			line = line[:n-2]
		}
	}
	return line
}

// Reader reads a node's task in blocks of whole lines, which is faster than Lines. It is for one
// goroutine.
type Reader struct {
	ctx   context.Context
	n     *job.Node
	task  job.Task
	next  int // split to open next
	split job.Split
	f     io.ReadCloser // nil between splits
	buf   []byte
	start int   // of what is unread in buf
	size  int   // bytes in buf
	at    int64 // offset of buf[0] in the file
	given int64 // offset of the block that Next returned
	skip  bool  // the split begins within a line of the previous split
	eof   bool  // of the file
	limit int64 // no line of the split begins at or after this offset
}

// NewReader returns a reader of the node's task.
func NewReader(ctx context.Context, n *job.Node) *Reader { return NewReaderOf(ctx, n, n.Task()) }

// NewReaderOf returns a reader of some of the splits of the node's task.
func NewReaderOf(ctx context.Context, n *job.Node, splits job.Task) *Reader {
	return &Reader{ctx: ctx, n: n, task: splits}
}

// Path is the file of the last block.
func (r *Reader) Path() string { return r.split.Path }

// Offset is where in its file the last block begins.
func (r *Reader) Offset() int64 { return r.given }

// At reports the current record to the engine, for messages.
func (r *Reader) At(offset int64) {
	if r.split.Path != "" {
		r.n.At(r.split.Path, offset)
	}
}

// Next returns the next block of lines of one file, whole and with their ends. The block is valid
// until the next call. After the last block it returns io.EOF. A line longer than the node's
// job.RecordLimit is an error.
func (r *Reader) Next() ([]byte, error) {
	for {
		if r.f == nil {
			if err := r.open(); err != nil {
				return nil, err
			}
		}
		block, err := r.block()
		if err != nil {
			r.given = r.at + int64(r.start)
			return nil, fmt.Errorf("read %s at offset %d: %w", r.split.Path, r.given, err)
		}
		if block != nil {
			return block, nil
		}
		if err := r.Close(); err != nil {
			return nil, fmt.Errorf("read %s: %w", r.split.Path, err)
		}
	}
}

// Close closes the open file. Next goes on with the following file.
func (r *Reader) Close() error {
	if r.f == nil {
		return nil
	}
	f := r.f
	r.f = nil
	return f.Close()
}

// open opens the next split. It also reads the byte before it: a line begins at the split's offset
// only if that byte is a newline.
func (r *Reader) open() error {
	if r.next == len(r.task) {
		return io.EOF
	}
	r.split = r.task[r.next]
	r.next++
	if err := refused(r.split.Path); err != nil {
		return err
	}
	from := r.split
	r.skip = from.Offset > 0
	if r.skip {
		from.Offset--
		from.Length++
	}
	f, err := r.n.Open(r.ctx, from)
	if err != nil {
		return fmt.Errorf("open %s: %w", from.Path, err)
	}
	r.f, r.at, r.start, r.size, r.eof = f, from.Offset, 0, 0, false
	r.limit = r.split.Offset + r.split.Length
	if !IsCompressed(from.Path) {
		return nil
	}
	r.limit = math.MaxInt64 // a compressed file is read to its end
	if r.f, err = decompress(f, r.split); err != nil {
		r.f = nil
		return errors.Join(fmt.Errorf("read %s at offset 0: %w", from.Path, err), f.Close())
	}
	return nil
}

// block returns the buffered whole lines, and reads until there is one; nil at the end of the
// split.
func (r *Reader) block() ([]byte, error) {
	if r.skip {
		if err := r.skipLine(); err != nil {
			return nil, err
		}
	}
	searched := 0 // bytes after start already searched for a line end
	for {
		unread := r.buf[r.start:r.size]
		if r.at+int64(r.start) >= r.limit {
			return nil, nil
		}
		if end := blockEnd(unread, searched, r.limit-r.at-int64(r.start)); end > 0 {
			return r.give(end), nil
		}
		searched = len(unread)
		if r.eof {
			if len(unread) == 0 {
				return nil, nil
			}
			return r.give(len(unread)), nil
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

func (r *Reader) give(n int) []byte {
	r.given = r.at + int64(r.start)
	r.start += n
	return r.buf[r.start-n : r.start]
}

// blockEnd returns the end of the last whole line that begins before limit, or 0 if there is none.
// The first searched bytes hold no line end.
func blockEnd(data []byte, searched int, limit int64) int {
	if int64(len(data)) < limit {
		if i := bytes.LastIndexByte(data[searched:], '\n'); i >= 0 {
			return searched + i + 1
		}
		return 0
	}
	// The split's last line is the one that ends at or after byte limit-1.
	last := max(searched, int(limit)-1)
	if i := bytes.IndexByte(data[last:], '\n'); i >= 0 {
		return last + i + 1
	}
	// Its end is not buffered yet: return the lines before it.
	if i := bytes.LastIndexByte(data[searched:last], '\n'); i >= 0 {
		return searched + i + 1
	}
	return 0
}

// skipLine skips the line that began in the previous split.
func (r *Reader) skipLine() error {
	for {
		if i := bytes.IndexByte(r.buf[r.start:r.size], '\n'); i >= 0 {
			r.start += i + 1
			r.skip = false
			return nil
		}
		r.start = r.size
		if r.eof {
			r.skip = false
			return nil
		}
		if err := r.fill(); err != nil {
			return err
		}
	}
}

// fill reads more after the unread bytes, and makes room first.
func (r *Reader) fill() error {
	copy(r.buf, r.buf[r.start:r.size])
	r.at += int64(r.start)
	r.size -= r.start
	r.start = 0
	if r.size >= blockBytes { // the current line is longer than a block
		if job.CheckRecord(int64(r.size), r.n.Info().Memory) != nil {
			return r.tooLong()
		}
	}
	if len(r.buf)-r.size < blockBytes/2 {
		grown := make([]byte, max(blockBytes, 2*len(r.buf)))
		copy(grown, r.buf[:r.size])
		r.buf = grown
	}
	n, err := r.f.Read(r.buf[r.size:])
	r.size += n
	if err == io.EOF { // only a bare io.EOF is the end: a failure may wrap it
		r.eof = true
		return nil
	}
	return err
}

// tooLong reads to the end of the current line without keeping it, so that the error names a
// sufficient size.
func (r *Reader) tooLong() error {
	size := int64(r.size)
	for size <= job.RecordBytesMax {
		n, err := r.f.Read(r.buf)
		if i := bytes.IndexByte(r.buf[:n], '\n'); i >= 0 {
			size += int64(i) + 1
			break
		}
		size += int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("a line is too long: is this a text file? %w", job.CheckRecord(size, r.n.Info().Memory))
}
