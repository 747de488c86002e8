package core

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"
)

// coder writes state to bytes or reads it back. One function per type does both,
// so that what is written is what is read. The first thing wrong stops it.
type coder struct {
	buf     []byte // what is written so far, or left to read
	reading bool
	err     error
}

var errCut = errors.New("it ends too early")

func (c *coder) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.buf = nil
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
	v, n := binary.Varint(c.buf)
	if n <= 0 {
		c.fail(errCut)
		return
	}
	c.buf, *p = c.buf[n:], T(v)
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
		return
	}
	if n < 0 || n > len(c.buf) {
		c.fail(errCut)
		return
	}
	*p = append([]byte(nil), c.buf[:n]...)
	c.buf = c.buf[n:]
}

// list codes a slice by what codes its elements.
func list[T any](c *coder, p *[]T, each func(*coder, *T)) {
	n := len(*p)
	num(c, &n)
	if c.reading {
		if n < 0 || n > len(c.buf) { // an element takes a byte at least
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
