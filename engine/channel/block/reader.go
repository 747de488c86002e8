package block

import (
	"fmt"
	"io"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// readStep is how much of a payload is requested before the bytes before it have come. So a header
// with a wrong length costs no more memory than this.
const readStep = 4 << 20

// Reader reads blocks from a stream of bytes. Not for concurrent use.
type Reader struct {
	r      io.Reader
	at     int64 // offset of the next block in r
	head   [HeaderBytes]byte
	packed []byte // memory for compressed payloads
}

// NewReader reads from r; wrap it if its reads are costly when small.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Reset makes the reader read from another stream. It keeps its memory.
func (r *Reader) Reset(from io.Reader) { r.r, r.at = from, 0 }

// Offset returns the offset after the last whole block.
func (r *Reader) Offset() int64 { return r.at }

// Next returns the next batch. io.EOF comes only between blocks; the caller knows whether the
// stream may end there. Other errors name the offset of the block. Errors in the bytes match
// channel.ErrDamaged; errors of the underlying reader are wrapped.
func (r *Reader) Next() (*job.Batch, error) {
	b, n, err := r.next()
	switch {
	case err == io.EOF: //nolint:errorlint // only the bare one is the end
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("at byte %d: %w", r.at, err)
	}
	r.at += n
	return b, nil
}

func (r *Reader) next() (*job.Batch, int64, error) {
	if n, err := io.ReadFull(r.r, r.head[:]); err == io.EOF {
		return nil, 0, err
	} else if err != nil {
		return nil, 0, cut(err, "header", n, HeaderBytes)
	}
	h, err := ParseHeader(r.head[:])
	if err != nil {
		return nil, 0, err
	}
	b := job.GetBatch()
	payload, err := r.payload(h, b)
	if err == nil {
		err = decode(h, payload, b)
	}
	if err != nil {
		return nil, 0, err
	}
	return b, HeaderBytes + int64(h.Stored), nil
}

// payload reads the stored payload, into the batch's memory if it is not compressed.
func (r *Reader) payload(h Header, b *job.Batch) ([]byte, error) {
	p := b.Data[:0]
	if h.Codec != None {
		p = r.packed[:0]
	}
	want := int(h.Stored)
	for len(p) < want {
		from := len(p)
		p = extend(p, min(want, max(from+readStep, 2*from)))
		if n, err := io.ReadFull(r.r, p[from:]); err != nil {
			return nil, cut(err, "payload", from+n, want)
		}
	}
	if h.Codec != None && cap(p) <= scratchKeepMax {
		r.packed = p
	}
	return p, nil
}

// extend returns p with length n, with new memory of just that size if needed.
func extend(p []byte, n int) []byte {
	if n <= cap(p) {
		return p[:n]
	}
	q := make([]byte, n)
	copy(q, p)
	return q
}

// cut distinguishes a stream that ends inside a block from a read that fails.
func cut(err error, part string, got, want int) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF { //nolint:errorlint // only the bare one is the end
		return damaged("cut short: %d of %d bytes of its %s", got, want, part)
	}
	return err
}
