package workload

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Bounds of the text held in memory at once.
const (
	// LineBytesMax bounds a line of a line-based format.
	LineBytesMax = 64 << 20
	// ValueBytesMax bounds one scalar value of JSON, with the white space before it.
	ValueBytesMax = 1 << 20
	// DepthMax bounds the nesting of objects and lists of JSON.
	DepthMax = 32
	// windowMax bounds the memory that compressed text may require.
	windowMax = 128 << 20
	// headBytes are looked at to recognise a format.
	headBytes = 64 << 10
)

// expand returns the text of a possibly compressed input.
func expand(r io.Reader) (*bufio.Reader, error) {
	in := bufio.NewReaderSize(r, headBytes)
	head, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, cut(err)
		}
		return bufio.NewReaderSize(z, headBytes), nil
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(windowMax))
		if err != nil {
			return nil, err
		}
		return bufio.NewReaderSize(z, headBytes), nil
	}
	return in, nil
}

// cut explains that compressed text ends too early.
func cut(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the text ends too early: the file was cut (%w)", err)
	}
	return err
}

// lines reads a text line by line.
type lines struct {
	in   *bufio.Reader
	text []byte // of the line, without its end; owned by the reader
	n    int    // counts from 1
	// longest bounds a line; 0 is LineBytesMax.
	longest int
}

// next goes to the next line; it returns io.EOF when there is none. Each line must have an end,
// even the last, or it may have been cut.
func (l *lines) next() error {
	l.text = l.text[:0]
	longest := LineBytesMax
	if l.longest > 0 {
		longest = l.longest
	}
	for {
		part, err := l.in.ReadSlice('\n')
		if len(l.text)+len(part) > longest {
			l.n++
			return fmt.Errorf("the line has more than %d bytes", longest)
		}
		l.text = append(l.text, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(l.text) == 0:
			return io.EOF
		}
		l.n++
		if errors.Is(err, io.EOF) {
			return errors.New("the last line has no end: the file may have been cut; add a line feed if it was not")
		}
		if err != nil {
			return cut(err)
		}
		l.text = bytes.TrimSuffix(l.text[:len(l.text)-1], []byte{'\r'})
		return nil
	}
}

// each gives all lines to do, and errors their place.
func (c *collector) each(in *bufio.Reader, do func(l *lines) error) error {
	return c.eachOf(&lines{in: in}, func(l *lines) error {
		if len(bytes.TrimSpace(l.text)) == 0 {
			return errors.New("the line is empty")
		}
		return do(l)
	})
}

// eachOf gives the lines of a reader to do, and errors their place.
func (c *collector) eachOf(l *lines, do func(l *lines) error) error {
	for {
		err := l.next()
		c.last = l.n
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = do(l)
		}
		if err != nil {
			return c.at(l.n, err)
		}
	}
}
