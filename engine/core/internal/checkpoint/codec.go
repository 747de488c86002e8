// Package checkpoint writes state to bytes and reads it back. One function for each type does both,
// so they cannot differ. Bytes end with their checksum.
package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"google.golang.org/protobuf/proto"
)

// Codec writes state to bytes or reads it back. The first error stops it. Not safe for concurrent
// use.
type Codec struct {
	Reading bool  // else it writes
	Format  int   // the format that it reads, from 1: it lacks later additions; when writing, the newest
	Err     error // the first error

	buf  []byte    // unflushed bytes, or the next bytes to read
	to   io.Writer // when writing
	sum  uint32    // of the flushed bytes
	lost error     // error of to

	rest [][]byte // parts to read after buf
	left int      // bytes left to read
}

// Checksum is the table of the checksums: Castagnoli.
var Checksum = crc32.MakeTable(crc32.Castagnoli)

// ErrChecksum and FormatError are NewReader's errors for refused bytes.
var ErrChecksum = errors.New("its checksum is wrong")

// FormatError is returned for an unsupported format.
type FormatError struct {
	Number int // of the format; 0: it is no checkpoint of a core
	Newest int // supported
}

func (e *FormatError) Error() string {
	if e.Number == 0 {
		return "it does not begin as a checkpoint of the core does"
	}
	if e.Number == ambiguous {
		return fmt.Sprintf("it has format %d, which programs before a release wrote in two forms, and this program reads formats 1 to %d and %d to %d: start the version of Hamadryad that wrote it",
			e.Number, ambiguous-1, ambiguous+1, e.Newest)
	}
	return fmt.Sprintf("it has format %d, and this program reads formats 1 to %d: start the version of Hamadryad that wrote it, or a newer one", e.Number, e.Newest)
}

// formatError returns the error for bytes that begin with head.
func formatError(head []byte) error {
	e := &FormatError{Newest: len(formats)}
	if n, err := fmt.Sscanf(string(head), "hamadryad core checkpoint %d\n", &e.Number); n != 1 || err != nil {
		e.Number = 0
	}
	return e
}

// formats are the headers of the formats, all of one length; the last is written. Versions 1 to 3
// of the core wrote the first.
var formats = []string{
	"hamadryad core checkpoint 1\n",
	"hamadryad core checkpoint 2\n",
	"hamadryad core checkpoint 3\n",
	"hamadryad core checkpoint 4\n",
	"hamadryad core checkpoint 5\n",
	"hamadryad core checkpoint 6\n",
	"hamadryad core checkpoint 7\n",
	"hamadryad core checkpoint 8\n",
}

// ambiguous is the number of a format that was written in two forms before a release, one with the
// stages' slot kinds and one without. It is refused.
const ambiguous = 5

// formatOf returns the format number of a header; 0 if it is unsupported.
func formatOf(head []byte) int {
	n := 1 + slices.Index(formats, string(head))
	if n == ambiguous {
		return 0
	}
	return n
}

// LengthMin is the length of an empty checkpoint, the shortest there is.
const LengthMin = int64(len("hamadryad core checkpoint 1\n") + crc32.Size)

// NewWriter returns a codec that writes in bounded parts, beginning with the format's header.
func NewWriter(to io.Writer) *Codec {
	return &Codec{buf: []byte(formats[len(formats)-1]), to: to, Format: len(formats)}
}

// Close writes the remaining bytes and the checksum. lost is an error of the writer, wrong an error
// in the state.
func (c *Codec) Close() (lost, wrong error) {
	c.flush()
	if c.Err != nil && c.lost == nil {
		return nil, c.Err
	}
	if c.lost == nil {
		_, c.lost = c.to.Write(binary.LittleEndian.AppendUint32(nil, c.sum))
	}
	return c.lost, nil
}

// Newest is the number of the written format.
func Newest() int { return len(formats) }

// CheckFormat returns a FormatError for bytes, in parts, without the header of a supported format.
func CheckFormat(parts [][]byte) error {
	head := make([]byte, 0, len(formats[0]))
	for _, p := range parts {
		head = append(head, p[:min(len(p), len(formats[0])-len(head))]...)
	}
	if formatOf(head) == 0 {
		return formatError(head)
	}
	return nil
}

// NewReader returns a codec that reads bytes in parts, in order, which begin with a format's
// header. The errors are a FormatError and ErrChecksum.
func NewReader(parts [][]byte) (*Codec, error) {
	r := &Codec{rest: parts, Reading: true}
	for _, p := range parts {
		r.left += len(p)
	}
	length := len(formats[0])
	r.fill(length)
	head := r.buf[:min(len(r.buf), length)]
	if r.Format = formatOf(head); r.Format == 0 {
		return nil, formatError(head)
	}
	if r.left < length+crc32.Size || !checksumHolds(parts, r.left-crc32.Size) {
		return nil, ErrChecksum
	}
	r.skip(length)
	r.left -= crc32.Size // the content ends before the checksum
	return r, nil
}

// Left is how many bytes are left to read.
func (c *Codec) Left() int { return c.left }

// checksumHolds compares the checksum of the first n bytes with the four that follow.
func checksumHolds(parts [][]byte, n int) bool {
	var sum uint32
	var want []byte
	for _, p := range parts {
		k := min(n, len(p))
		sum = crc32.Update(sum, Checksum, p[:k])
		want = append(want, p[k:]...)
		n -= k
	}
	return binary.LittleEndian.Uint32(want) == sum
}

// flushBytes is the size of a buffer before it is written.
const flushBytes = 256 << 10

var errCut = errors.New("it ends too early")

// Fail stops the codec with an error, unless it has one already.
func (c *Codec) Fail(err error) {
	if c.Err == nil {
		c.Err = err
	}
	c.buf, c.rest, c.left = nil, nil, 0
}

// flush writes the buffer.
func (c *Codec) flush() {
	if c.Err != nil {
		return
	}
	c.sum = crc32.Update(c.sum, Checksum, c.buf)
	if _, err := c.to.Write(c.buf); err != nil {
		c.lost = err
		c.Fail(err)
	}
	c.buf = c.buf[:0]
}

// fill reads the next n bytes into buf, or all that are left.
func (c *Codec) fill(n int) {
	for len(c.buf) < n && len(c.rest) > 0 {
		if len(c.buf) == 0 {
			c.buf = c.rest[0]
		} else {
			c.buf = slices.Concat(c.buf, c.rest[0])
		}
		c.rest = c.rest[1:]
	}
}

func (c *Codec) skip(n int) {
	c.buf = c.buf[n:]
	c.left -= n
}

// Integer is any width of number.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// Num codes a number of any width.
func Num[T Integer](c *Codec, p *T) {
	if !c.Reading {
		c.buf = binary.AppendVarint(c.buf, int64(*p))
		return
	}
	if len(c.buf) < binary.MaxVarintLen64 {
		c.fill(binary.MaxVarintLen64)
	}
	v, n := binary.Varint(c.buf)
	if n <= 0 || n > c.left {
		c.Fail(errCut)
		return
	}
	c.skip(n)
	*p = T(v)
}

// Flag codes a bool.
func Flag(c *Codec, p *bool) {
	var n uint8
	if *p {
		n = 1
	}
	Num(c, &n)
	*p = n == 1
}

// Str codes a text.
func Str[T ~string](c *Codec, p *T) {
	b := []byte(*p)
	Blob(c, &b)
	*p = T(b)
}

// Blob codes bytes.
func Blob(c *Codec, p *[]byte) {
	n := len(*p)
	Num(c, &n)
	if !c.Reading {
		c.buf = append(c.buf, *p...)
		if len(c.buf) >= flushBytes {
			c.flush()
		}
		return
	}
	if n < 0 || n > c.left {
		c.Fail(errCut)
		return
	}
	c.fill(n)
	*p = append([]byte(nil), c.buf[:n]...)
	c.skip(n)
}

// List codes a slice with the function that codes its elements.
func List[T any](c *Codec, p *[]T, each func(*Codec, *T)) {
	n := len(*p)
	Num(c, &n)
	if c.Reading {
		if n < 0 || n > c.left { // an element takes at least a byte
			c.Fail(errCut)
			return
		}
		*p = nil
		if n > 0 {
			*p = make([]T, n)
		}
	}
	for i := 0; i < n && c.Err == nil; i++ {
		each(c, &(*p)[i])
		if !c.Reading && len(c.buf) >= flushBytes {
			c.flush()
		}
	}
	if !c.Reading && len(c.buf) >= flushBytes { // also after many empty lists
		c.flush()
	}
}

// Nums codes a slice of numbers.
func Nums[T Integer](c *Codec, p *[]T) { List(c, p, Num[T]) }

// Opt codes an optional value.
func Opt[T any](c *Codec, p **T, each func(*Codec, *T)) {
	there := *p != nil
	Flag(c, &there)
	if c.Reading {
		*p = nil
		if there {
			*p = new(T)
		}
	}
	if there && c.Err == nil {
		each(c, *p)
	}
}

// Message codes a protobuf message, which may be nil.
func Message[T any, M interface {
	*T
	proto.Message
}](c *Codec, p *M) {
	there := *p != nil
	Flag(c, &there)
	if !there {
		*p = nil
		return
	}
	var b []byte
	if !c.Reading {
		var err error
		if b, err = (proto.MarshalOptions{Deterministic: true}).Marshal(*p); err != nil {
			c.Fail(fmt.Errorf("a message can't be written: %w", err))
			return
		}
	}
	Blob(c, &b)
	if c.Reading && c.Err == nil {
		*p = M(new(T))
		if err := proto.Unmarshal(b, *p); err != nil {
			c.Fail(fmt.Errorf("a message can't be read: %w", err))
		}
	}
}
