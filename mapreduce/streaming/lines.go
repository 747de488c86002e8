package streaming

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/hamadryad/hamadryad/sdk/job/text"
)

const (
	// feedBytes is roughly how much is written to a command at once.
	feedBytes = 64 << 10
	// lineMax is the longest line that a command may print, in bytes: 256 MiB.
	lineMax = 256 << 20
)

// eachLine calls line for each line of what a command prints, without its end. The last line may
// lack an end. A line is valid until the call of line returns.
func eachLine(r io.Reader, lineMax int, line func([]byte) error) error {
	buf := make([]byte, feedBytes)
	start, end := 0, 0 // bounds of the unread bytes in buf
	for number := 1; ; {
		n, err := r.Read(buf[end:])
		looked := end // no line ends before it
		end += n
		for {
			i := bytes.IndexByte(buf[looked:end], '\n')
			if i < 0 {
				break
			}
			if err := line(text.Trim(buf[start : looked+i+1])); err != nil {
				return err
			}
			number++
			start = looked + i + 1
			looked = start
		}
		if errors.Is(err, io.EOF) {
			if start == end {
				return nil
			}
			return line(buf[start:end])
		}
		if err != nil {
			return err
		}
		if end-start > lineMax {
			return fmt.Errorf("line %d of its output is longer than %d bytes: is that text?", number, lineMax)
		}
		if start > 0 {
			end = copy(buf, buf[start:end])
			start = 0
		}
		if end == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
}

// cutter splits lines into key and value.
type cutter struct {
	separator []byte
	fields    int // of the key
}

// cut splits a line after its first fields. If it has no more fields, the whole line is the key,
// and the value is empty.
func (c *cutter) cut(line []byte) (key, value []byte) {
	at := 0
	for n := c.fields; ; n-- {
		var i int
		if len(c.separator) == 1 {
			i = bytes.IndexByte(line[at:], c.separator[0])
		} else {
			i = bytes.Index(line[at:], c.separator)
		}
		if i < 0 {
			return line, nil
		}
		if n == 1 {
			return line[:at+i], line[at+i+len(c.separator):]
		}
		at += i + len(c.separator)
	}
}

// appendPair appends a pair as a line.
func appendPair(buf, key, separator, value []byte) []byte {
	return append(append(append(append(buf, key...), separator...), value...), '\n')
}

// appendPlain appends lines with newlines as their ends. The lines of block may end with a carriage
// return and a newline, and the last with nothing.
func appendPlain(buf, block []byte) []byte {
	for len(block) > 0 {
		i := bytes.IndexByte(block, '\n') + 1
		if i == 0 {
			i = len(block)
		}
		buf = append(append(buf, text.Trim(block[:i])...), '\n')
		block = block[i:]
	}
	return buf
}
