package block

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// scratchKeepMax is the largest scratch memory that is kept between blocks: a
// rare record of a gigabyte must not hold a gigabyte for ever.
const scratchKeepMax = 1 << 20

// zstdEncoders share their tables, which are large, over all channels.
var zstdEncoders = sync.Pool{New: func() any {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // only wrong options fail
	}
	return e
}}

var lz4Encoders = sync.Pool{New: func() any { return new(lz4.Compressor) }}

// Encoder turns batches into blocks. Not for concurrent use.
type Encoder struct {
	codec Codec
	raw   []byte // the payload before compression
}

// NewEncoder makes an encoder of one codec.
func NewEncoder(c Codec) *Encoder { return &Encoder{codec: c} }

// Append appends the block of a batch to dst. The batch is only read. It fails
// for a batch that does not hold together or is empty.
func (e *Encoder) Append(dst []byte, b *job.Batch) ([]byte, error) {
	if err := channel.CheckBatch(b); err != nil {
		return dst, err
	}
	if b.Len() == 0 {
		return dst, fmt.Errorf("bad batch: a block needs at least one record")
	}
	h := Header{Records: uint32(b.Len()), Data: uint32(len(b.Data)), width: lengthWidth(b.Ends)}
	raw := h.lengthsBytes() + uint64(h.Data)
	if raw > rawBytesMax {
		return dst, fmt.Errorf("bad batch: %d records of %d bytes in all are too many for one block", b.Len(), len(b.Data))
	}
	h.Raw = uint32(raw)
	start := len(dst)
	// Room for the payload as it is: one that does not shrink is stored that way.
	dst = slices.Grow(dst, HeaderBytes+int(raw))[:start+HeaderBytes]
	dst, h.Codec = e.payload(dst, h, b)
	body := dst[start+HeaderBytes:]
	h.Stored = uint32(len(body))
	h.sum = crc32.Checksum(body, castagnoli)
	h.put(dst[start:])
	return dst, nil
}

// payload appends the stored payload and returns the codec it really has.
func (e *Encoder) payload(dst []byte, h Header, b *job.Batch) ([]byte, Codec) {
	if e.codec == None {
		return appendLengths(append(dst, b.Data...), h.width, b.Ends), None
	}
	e.raw = appendLengths(append(e.raw[:0], b.Data...), h.width, b.Ends)
	raw := e.raw
	if cap(e.raw) > scratchKeepMax {
		e.raw = nil
	}
	if packed, ok := e.compress(dst, raw); ok {
		return packed, e.codec
	}
	return append(dst, raw...), None
}

// compress appends the compressed form; not ok when that is no shorter.
func (e *Encoder) compress(dst, raw []byte) ([]byte, bool) {
	start := len(dst)
	switch e.codec {
	case LZ4:
		c := lz4Encoders.Get().(*lz4.Compressor)
		defer lz4Encoders.Put(c)
		n, err := c.CompressBlock(raw, dst[start:start+len(raw)])
		if err != nil || n == 0 || n >= len(raw) {
			return dst, false
		}
		return dst[:start+n], true
	case ZSTD:
		c := zstdEncoders.Get().(*zstd.Encoder)
		defer zstdEncoders.Put(c)
		packed := c.EncodeAll(raw, dst)
		if len(packed)-start >= len(raw) {
			return dst, false
		}
		return packed, true
	}
	return dst, false
}

// lengthWidth is the narrowest form of all lengths.
func lengthWidth(ends []uint32) uint8 {
	first, longest, same := ends[0], uint32(0), true
	start := uint32(0)
	for _, end := range ends {
		n := end - start
		start = end
		longest = max(longest, n)
		same = same && n == first
	}
	switch {
	case same && first > 0: // empty records take a byte each, so that no header can claim billions of them
		return 0
	case longest < 1<<8:
		return 1
	case longest < 1<<16:
		return 2
	}
	return 4
}

func appendLengths(dst []byte, width uint8, ends []uint32) []byte {
	le := binary.LittleEndian
	start := uint32(0)
	switch width {
	case 0:
		return le.AppendUint32(dst, ends[0])
	case 1:
		for _, end := range ends {
			dst = append(dst, uint8(end-start))
			start = end
		}
	case 2:
		for _, end := range ends {
			dst = le.AppendUint16(dst, uint16(end-start))
			start = end
		}
	default:
		for _, end := range ends {
			dst = le.AppendUint32(dst, end-start)
			start = end
		}
	}
	return dst
}
