package plan

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// source reads a message front to back, so that a large message is never in memory as a whole.
type source struct {
	r    *bufio.Reader
	at   int64 // bytes read
	most int64 // bound of at
}

// sourceBytes is the buffer of a source. Longer fields are copied.
const sourceBytes = 8 << 10

// errTooLong says that a message exceeds its bound.
var errTooLong = errors.New("it has more bytes than it may")

func newSource(most int64) *source {
	return &source{r: bufio.NewReaderSize(nil, sourceBytes), most: most}
}

// begin starts a message at its front.
func (s *source) begin(r io.Reader) {
	s.r.Reset(r)
	s.at = 0
}

// ReadByte implements io.ByteReader.
func (s *source) ReadByte() (byte, error) {
	b, err := s.r.ReadByte()
	if err == nil {
		err = s.advance(1)
	}
	return b, err
}

func (s *source) advance(n int64) error {
	if s.at += n; s.at > s.most {
		return errTooLong
	}
	return nil
}

// number reads a varint. An end before its first byte is io.EOF.
func (s *source) number() (uint64, error) { return binary.ReadUvarint(s) }

// bytes reads n bytes, which are valid until the next read.
func (s *source) bytes(n int64) ([]byte, error) {
	if n > s.most-s.at {
		return nil, errTooLong
	}
	if n > sourceBytes {
		// It grows with the bytes received, not with a claimed length.
		b, err := io.ReadAll(io.LimitReader(s.r, n))
		if err == nil && int64(len(b)) < n {
			err = io.ErrUnexpectedEOF
		}
		s.at += n
		return b, err
	}
	b, err := s.r.Peek(int(n))
	if err != nil {
		return nil, notEnd(err)
	}
	_, _ = s.r.Discard(int(n)) // it is in the buffer
	s.at += n
	return b, nil
}

// skipTo skips to an offset.
func (s *source) skipTo(at int64) error {
	n := at - s.at
	switch {
	case n < 0:
		return io.ErrUnexpectedEOF // a field ends behind the message that holds it
	case n == 0:
		return nil
	case at > s.most:
		return errTooLong
	}
	skipped, err := io.CopyN(io.Discard, s.r, n)
	s.at += skipped
	return notEnd(err)
}

// whole is the end of a message that ends with its source.
const whole = -1

// fields calls f with the number and the length of each field of a message that ends at an offset.
// All its fields are texts, bytes or messages; fields skips what f leaves unread.
func (s *source) fields(end int64, f func(number protowire.Number, length int64) error) error {
	for s.at != end {
		tag, err := s.number()
		if end == whole && errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return notEnd(err)
		}
		number, kind := protowire.DecodeTag(tag)
		if number < protowire.MinValidNumber || kind != protowire.BytesType {
			return fmt.Errorf("field %d has the wire type %d", number, kind)
		}
		length, err := s.number()
		if err != nil {
			return notEnd(err)
		}
		if length > uint64(s.most-s.at) {
			return errTooLong
		}
		next := s.at + int64(length)
		if end != whole && next > end {
			return io.ErrUnexpectedEOF
		}
		if err := f(number, int64(length)); err != nil {
			return err
		}
		if err := s.skipTo(next); err != nil {
			return err
		}
	}
	return nil
}

// notEnd turns the end of a source into an error, where more must follow.
func notEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
