package core

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"google.golang.org/protobuf/proto"
)

// coder writes state to bytes or reads it back. One function per type does both,
// so that what is written is what is read. The first thing wrong stops it.
type coder struct {
	buf     []byte // what was not flushed yet, or the next of what is left to read
	reading bool
	before  bool // it reads what checkpointBefore opens: what came later is not in it
	err     error

	to     io.Writer
	sum    uint32 // of what was flushed
	failed error  // of to

	rest  [][]byte // to be read after buf
	ahead int      // bytes left to read
}

// flushBytes is how much is gathered before it is written.
const flushBytes = 256 << 10

var errCut = errors.New("it ends too early")

func (c *coder) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.buf, c.rest, c.ahead = nil, nil, 0
}

// flush hands on what is gathered.
func (c *coder) flush() {
	if c.err != nil {
		return
	}
	c.sum = crc32.Update(c.sum, castagnoli, c.buf)
	if _, err := c.to.Write(c.buf); err != nil {
		c.failed = err
		c.fail(err)
	}
	c.buf = c.buf[:0]
}

// fill brings the next n bytes into buf, or all that are left.
func (c *coder) fill(n int) {
	for len(c.buf) < n && len(c.rest) > 0 {
		if len(c.buf) == 0 {
			c.buf = c.rest[0]
		} else {
			c.buf = slices.Concat(c.buf, c.rest[0])
		}
		c.rest = c.rest[1:]
	}
}

func (c *coder) skip(n int) {
	c.buf = c.buf[n:]
	c.ahead -= n
}

type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// num codes a number of any width.
func num[T integer](c *coder, p *T) {
	if !c.reading {
		c.buf = binary.AppendVarint(c.buf, int64(*p))
		return
	}
	if len(c.buf) < binary.MaxVarintLen64 {
		c.fill(binary.MaxVarintLen64)
	}
	v, n := binary.Varint(c.buf)
	if n <= 0 || n > c.ahead {
		c.fail(errCut)
		return
	}
	c.skip(n)
	*p = T(v)
}

func flag(c *coder, p *bool) {
	var n uint8
	if *p {
		n = 1
	}
	num(c, &n)
	*p = n == 1
}

func str[T ~string](c *coder, p *T) {
	b := []byte(*p)
	blob(c, &b)
	*p = T(b)
}

func blob(c *coder, p *[]byte) {
	n := len(*p)
	num(c, &n)
	if !c.reading {
		c.buf = append(c.buf, *p...)
		if len(c.buf) >= flushBytes {
			c.flush()
		}
		return
	}
	if n < 0 || n > c.ahead {
		c.fail(errCut)
		return
	}
	c.fill(n)
	*p = append([]byte(nil), c.buf[:n]...)
	c.skip(n)
}

// list codes a slice by what codes its elements.
func list[T any](c *coder, p *[]T, each func(*coder, *T)) {
	n := len(*p)
	num(c, &n)
	if c.reading {
		if n < 0 || n > c.ahead { // an element takes a byte at least
			c.fail(errCut)
			return
		}
		*p = nil
		if n > 0 {
			*p = make([]T, n)
		}
	}
	for i := 0; i < n && c.err == nil; i++ {
		each(c, &(*p)[i])
		if !c.reading && len(c.buf) >= flushBytes {
			c.flush()
		}
	}
	if !c.reading && len(c.buf) >= flushBytes { // of many empty lists, too
		c.flush()
	}
}

func nums[T integer](c *coder, p *[]T) { list(c, p, num[T]) }

// opt codes what may be absent.
func opt[T any](c *coder, p **T, each func(*coder, *T)) {
	there := *p != nil
	flag(c, &there)
	if c.reading {
		*p = nil
		if there {
			*p = new(T)
		}
	}
	if there && c.err == nil {
		each(c, *p)
	}
}

// message codes a protobuf message, which may be nil.
func message[T any, M interface {
	*T
	proto.Message
}](c *coder, p *M) {
	there := *p != nil
	flag(c, &there)
	if !there {
		*p = nil
		return
	}
	var b []byte
	if !c.reading {
		var err error
		if b, err = (proto.MarshalOptions{Deterministic: true}).Marshal(*p); err != nil {
			c.fail(fmt.Errorf("a message can't be written: %w", err))
			return
		}
	}
	blob(c, &b)
	if c.reading && c.err == nil {
		*p = M(new(T))
		if err := proto.Unmarshal(b, *p); err != nil {
			c.fail(fmt.Errorf("a message can't be read: %w", err))
		}
	}
}
