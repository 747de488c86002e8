// Package control is the form of the control messages between stores, fetchers and
// streaming workers: a kind, a short body, and a checksum. Bulk data follows a
// message as plain bytes, whose length the message gives.
//
//	offset  size
//	0       1     kind
//	1       1     0xA7, so that text and TLS sent to the wrong port are refused at once
//	2       2     length of the body, at most BodyMax
//	4       4     crc32c of bytes 0 to 3 and the body
//	8             body
package control

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

const (
	// BodyMax is the longest body of a message, in bytes.
	BodyMax = 4096
	// TextMax is the longest text in a message. Longer errors are cut, longer names are refused.
	TextMax   = 1024
	headBytes = 8
	mark      = 0xA7
)

// ErrGarbled is the error of Next for bytes that are no message.
var ErrGarbled = errors.New("garbled message")

var (
	le         = binary.LittleEndian
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// Body builds the body of a message.
type Body []byte

// U32 appends a number.
func (b Body) U32(n uint32) Body { return le.AppendUint32(b, n) }

// U64 appends a number.
func (b Body) U64(n uint64) Body { return le.AppendUint64(b, n) }

// Text appends a text, cut to TextMax.
func (b Body) Text(s string) Body {
	s = s[:min(len(s), TextMax)]
	return append(le.AppendUint16(b, uint16(len(s))), s...)
}

// NoEnd turns io.EOF into io.ErrUnexpectedEOF, where a message must follow. An error that wraps
// io.EOF could be taken for the end of a stream.
func NoEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Append appends a whole message to dst. The body must not exceed BodyMax.
func Append(dst []byte, kind byte, body Body) []byte {
	if len(body) > BodyMax {
		panic(fmt.Sprintf("control: body of %d bytes", len(body))) // bodies are built from bounded texts
	}
	start := len(dst)
	dst = append(dst, kind, mark)
	dst = le.AppendUint16(dst, uint16(len(body)))
	sum := crc32.Update(crc32.Checksum(dst[start:start+4], castagnoli), castagnoli, body)
	return append(le.AppendUint32(dst, sum), body...)
}

// Reader reads messages. Not for concurrent use.
type Reader struct {
	r   io.Reader
	buf [headBytes + BodyMax]byte
}

// NewReader reads from r, and never beyond the end of a message.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Next returns the next message; its body is valid until the next call. io.EOF
// comes only between messages.
func (r *Reader) Next() (byte, *Parser, error) {
	head := r.buf[:headBytes]
	if _, err := io.ReadFull(r.r, head); err != nil {
		return 0, nil, err
	}
	n := int(le.Uint16(head[2:]))
	if head[1] != mark || n > BodyMax {
		return 0, nil, fmt.Errorf("%w: it begins with %x", ErrGarbled, head)
	}
	body := r.buf[headBytes : headBytes+n]
	if _, err := io.ReadFull(r.r, body); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	if sum := crc32.Update(crc32.Checksum(head[:4], castagnoli), castagnoli, body); sum != le.Uint32(head[4:]) {
		return 0, nil, fmt.Errorf("%w: checksum %08x, want %08x", ErrGarbled, sum, le.Uint32(head[4:]))
	}
	return head[0], &Parser{left: body}, nil
}

// Parser reads the fields of a body.
type Parser struct {
	left []byte
	bad  bool
}

func (p *Parser) take(n int) []byte {
	if n > len(p.left) {
		p.bad, p.left = true, nil
		return make([]byte, n)
	}
	b := p.left[:n]
	p.left = p.left[n:]
	return b
}

// U32 reads a number.
func (p *Parser) U32() uint32 { return le.Uint32(p.take(4)) }

// U64 reads a number.
func (p *Parser) U64() uint64 { return le.Uint64(p.take(8)) }

// Text reads a text.
func (p *Parser) Text() string {
	n := int(le.Uint16(p.take(2)))
	if n > TextMax {
		p.bad = true
		return ""
	}
	return string(p.take(n))
}

// End returns ErrGarbled unless the body was read exactly to its end.
func (p *Parser) End() error {
	if p.bad || len(p.left) > 0 {
		return fmt.Errorf("%w: its body does not fit its kind", ErrGarbled)
	}
	return nil
}
