package process

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/zeebo/xxh3"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// pipeBuffer is the size of the buffers towards and from a command.
const pipeBuffer = 64 << 10

// Program is the program of a stage with an external command.
func Program(c *job.Command) job.Program {
	return func(ctx context.Context, n *job.Node) error {
		p := job.Pipes{In: func(w io.Writer) error { return writeInput(ctx, n, c.Framing, w) }}
		if out, noPort := n.Output("out"); noPort == nil {
			p.Out = func(r io.Reader) error { return readOutput(ctx, out, c, r) }
		}
		return n.Run(ctx, *c, p)
	}
}

// writeInput writes a node's input, its task and then its port "in", in a command's framing.
func writeInput(ctx context.Context, n *job.Node, f job.Framing, to io.Writer) error {
	w := bufio.NewWriterSize(to, pipeBuffer)
	for _, s := range n.Task() {
		if err := writeSplit(ctx, n, s, f, w); err != nil {
			return err
		}
	}
	in, noPort := n.Input("in")
	if noPort != nil {
		return w.Flush()
	}
	for number := int64(0); ; {
		b, err := in.Next(ctx)
		if err == io.EOF { //nolint:errorlint // only the bare one is the end: a failure may wrap it
			return w.Flush()
		}
		if err != nil {
			return err
		}
		for r := range b.All() {
			number++
			if err := writeRecord(w, r, f, number); err != nil {
				return err
			}
		}
	}
}

func writeRecord(w *bufio.Writer, r []byte, f job.Framing, number int64) error {
	if f == job.Lines {
		if i := bytes.IndexByte(r, '\n'); i >= 0 {
			return fmt.Errorf("record %d holds a line end at byte %d, so it can't be passed on as one line: use job.Prefixed", number, i)
		}
		if _, err := w.Write(r); err != nil {
			return err
		}
		return w.WriteByte('\n')
	}
	var head [4]byte
	binary.BigEndian.PutUint32(head[:], uint32(len(r)))
	if _, err := w.Write(head[:]); err != nil {
		return err
	}
	_, err := w.Write(r)
	return err
}

// writeSplit passes on a split of a stored file: its lines, or the whole file in the command's own
// framing.
func writeSplit(ctx context.Context, n *job.Node, s job.Split, f job.Framing, w *bufio.Writer) error {
	if f == job.Lines {
		return writeLines(ctx, n, s, w)
	}
	if s.Offset != 0 || s.Length != s.Size {
		return fmt.Errorf("%s was split, and records with a length before them can't be entered in the middle: plan it with job.Files.Whole", s.Path)
	}
	r, err := n.Open(ctx, s)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(w, r)
	return err
}

// writeLines passes on the lines that begin within the split, the last one whole. A line that began
// before the split belongs to the previous split.
func writeLines(ctx context.Context, n *job.Node, s job.Split, w *bufio.Writer) error {
	at, end := s.Offset, s.Offset+s.Length
	if at > 0 {
		s.Offset-- // to see whether a line begins at the split's first byte
	}
	r, err := n.Open(ctx, s)
	if err != nil {
		return err
	}
	defer r.Close()
	in := bufio.NewReaderSize(r, pipeBuffer)
	if at > 0 {
		skipped, err := copyLine(nil, in)
		if err != nil {
			return ignoreEOF(err)
		}
		at += skipped - 1
	}
	for at < end {
		n.At(s.Path, at)
		size, err := copyLine(w, in)
		if err != nil {
			return ignoreEOF(err)
		}
		at += size
	}
	return nil
}

func ignoreEOF(err error) error {
	if err == io.EOF { //nolint:errorlint // only the bare one is the end: a failure may wrap it
		return nil
	}
	return err
}

// copyLine copies one line with its end, and adds a missing end to a file's last line. A nil w
// skips the line. It returns io.EOF when there is none.
func copyLine(w *bufio.Writer, in *bufio.Reader) (int64, error) {
	size := int64(0)
	for {
		part, err := in.ReadSlice('\n')
		size += int64(len(part))
		if w != nil {
			if _, err := w.Write(part); err != nil {
				return size, err
			}
		}
		switch {
		case err == nil:
			return size, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF && size > 0: // only a bare io.EOF is the end: a failure may wrap it
			if w != nil {
				return size, w.WriteByte('\n')
			}
			return size, nil
		default:
			return size, err
		}
	}
}

// readOutput reads a command's records and writes each to its partition.
func readOutput(ctx context.Context, out job.Output, spec *job.Command, from io.Reader) error {
	r := bufio.NewReaderSize(from, pipeBuffer)
	partition := spec.Partition
	if partition == nil {
		partition = byFirstField
	}
	next := nextPrefixed
	if spec.Framing == job.Lines {
		next = nextLine
	}
	var buf []byte
	for number := int64(1); ; number++ {
		record, err := next(r, buf[:0])
		if err == io.EOF { //nolint:errorlint // only the bare one is the end: a failure may wrap it
			return nil
		}
		if err != nil {
			return fmt.Errorf("its output, record %d: %w", number, err)
		}
		buf = record
		p := 0
		if out.Partitions() != 1 {
			p = partition(record, out.Partitions())
		}
		if err := out.Write(ctx, p, record); err != nil {
			return err
		}
	}
}

// byFirstField is the partition of a record by its text before the first tab.
func byFirstField(record []byte, partitions int) int {
	key, _, _ := bytes.Cut(record, []byte{'\t'})
	return int(xxh3.Hash(key) % uint64(partitions))
}

// nextLine appends the next line, without its end, to buf.
func nextLine(r *bufio.Reader, buf []byte) ([]byte, error) {
	for {
		part, err := r.ReadSlice('\n')
		buf = append(buf, part...)
		switch {
		case err == nil:
			return buf[:len(buf)-1], nil
		case errors.Is(err, bufio.ErrBufferFull) && len(buf) <= job.RecordBytesMax:
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, job.Permanent(fmt.Errorf("a line is longer than %d bytes: is that text? use job.Prefixed for other data", job.RecordBytesMax))
		case err == io.EOF && len(buf) > 0: // only a bare io.EOF is the end: a failure may wrap it
			return buf, nil
		default:
			return nil, err
		}
	}
}

// nextPrefixed appends the next length-prefixed record to buf. It takes no more memory than
// arrives.
func nextPrefixed(r *bufio.Reader, buf []byte) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if err == io.ErrUnexpectedEOF {
			return nil, fmt.Errorf("it ends within the length of a record: with job.Prefixed each record follows its length as four bytes, big-endian")
		}
		return nil, err
	}
	size := int(binary.BigEndian.Uint32(head[:]))
	if size > job.RecordBytesMax {
		return nil, fmt.Errorf("it gives a length of %d bytes (bytes %q), and a record has at most %d: with job.Prefixed each record follows its length as four bytes, big-endian", size, head[:], job.RecordBytesMax)
	}
	for len(buf) < size {
		step := min(size-len(buf), max(pipeBuffer, len(buf)))
		start := len(buf)
		buf = append(buf, make([]byte, step)...)
		if n, err := io.ReadFull(r, buf[start:]); err != nil {
			return nil, fmt.Errorf("it ends after %d of the record's %d bytes", start+n, size)
		}
	}
	return buf, nil
}
