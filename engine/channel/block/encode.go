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

// scratchKeepMax is the largest scratch memory that is kept between blocks. A rare record of a
// gigabyte must not hold a gigabyte for ever.
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
//
// A block is compressed if that saves at least one byte in payShare. Else it is stored
// uncompressed, since decompression would cost its reader more than the bytes. After a block that
// did not pay, the next blocks are not tried. Their number doubles each time, up to a bound. So
// incompressible data cost next to nothing, and the channel notices when compression pays again.
type Encoder struct {
	codec   Codec
	raw     []byte // the payload before compression
	lengths []byte
	skip    int // blocks still to be stored without a try
	skipped int // how many blocks were to be skipped the last time
}

const (
	payShare = 8
	// At most skipMax blocks are skipped, or as many small ones as have skipBytes.
	skipMax   = 32
	skipBytes = 1 << 20
)

// NewEncoder makes an encoder of one codec.
func NewEncoder(c Codec) *Encoder { return &Encoder{codec: c} }

// Pieces are a block in consecutive parts. Its records may still lie in their batch. They are valid
// until the batch changes or Encode is called again.
type Pieces struct{ Head, Data, Lengths []byte }

// Len is the size of the block, and of what was in Head before it.
func (p Pieces) Len() int { return len(p.Head) + len(p.Data) + len(p.Lengths) }

// Append appends the block of a batch to dst. It does not change the batch, but may write to the
// memory behind the batch's data, up to their capacity. It fails for a batch that is empty or
// inconsistent.
func (e *Encoder) Append(dst []byte, b *job.Batch) ([]byte, error) {
	p, err := e.Encode(dst, b)
	if err != nil {
		return dst, err
	}
	dst = slices.Grow(p.Head, len(p.Data)+len(p.Lengths))
	return append(append(dst, p.Data...), p.Lengths...), nil
}

// Encode makes the block of a batch, without copying records that are stored uncompressed. Head
// begins with dst. It fails as Append does.
func (e *Encoder) Encode(dst []byte, b *job.Batch) (Pieces, error) {
	if err := channel.CheckBatch(b); err != nil {
		return Pieces{}, err
	}
	if b.Len() == 0 {
		return Pieces{}, fmt.Errorf("bad batch: a block needs at least one record")
	}
	h := Header{Records: uint32(b.Len()), Data: uint32(len(b.Data)), width: lengthWidth(b.Ends)}
	raw := h.lengthsBytes() + uint64(h.Data)
	if raw > rawBytesMax {
		return Pieces{}, fmt.Errorf("bad batch: %d records of %d bytes in all are too many for one block", b.Len(), len(b.Data))
	}
	h.Raw = uint32(raw)
	if packed, ok := e.packed(dst, h, b); ok {
		return Pieces{Head: packed}, nil
	}
	e.lengths = appendLengths(kept(e.lengths), h.width, b.Ends)
	h.Stored = h.Raw
	h.sum = crc32.Update(crc32.Checksum(b.Data, castagnoli), castagnoli, e.lengths)
	start := len(dst)
	dst = slices.Grow(dst, HeaderBytes)[:start+HeaderBytes]
	h.put(dst[start:])
	return Pieces{dst, b.Data, e.lengths}, nil
}

// kept is scratch memory for the next block, unless a rare large block made it large.
func kept(scratch []byte) []byte {
	if cap(scratch) > scratchKeepMax {
		return nil
	}
	return scratch[:0]
}

// packed appends the block in compressed form, if a try is due and compression pays.
func (e *Encoder) packed(dst []byte, h Header, b *job.Batch) ([]byte, bool) {
	if e.codec == None {
		return dst, false
	}
	if e.skip > 0 {
		e.skip--
		return dst, false
	}
	start := len(dst)
	all, at, ok := e.tried(dst, h, b)
	if !ok {
		e.skipped = min(max(2*e.skipped, 1), max(skipMax, skipBytes/max(len(b.Data), 1)))
		e.skip = e.skipped
		return dst, false
	}
	stored := len(all) - at
	e.skipped = 0
	h.Codec, h.Stored = e.codec, uint32(stored)
	h.sum = crc32.Checksum(all[at:], castagnoli)
	h.put(all[start:])
	return all, true
}

// tried compresses the payload behind dst and room for a header; the payload begins at at. For a
// large payload a sample must pay first, which saves a second copy in vain.
func (e *Encoder) tried(dst []byte, h Header, b *job.Batch) (all []byte, at int, ok bool) {
	if len(b.Data) > sampleFrom {
		dst := slices.Grow(dst, sampleBytes)
		if packed, ok := e.compress(dst, b.Data[:sampleBytes]); !ok || !pays(len(packed)-len(dst), sampleBytes) {
			return nil, 0, false
		}
	}
	raw := e.payload(h, b)
	at = len(dst) + HeaderBytes
	all, ok = e.compress(slices.Grow(dst, HeaderBytes+len(raw))[:at], raw)
	return all, at, ok && pays(len(all)-at, len(raw))
}

const (
	// sampleFrom is the size from which a sample of a batch is tried first, and sampleBytes the
	// size of the sample.
	sampleFrom  = 1 << 20
	sampleBytes = 64 << 10
)

func pays(stored, raw int) bool { return stored <= raw-raw/payShare }

// payload is records and lengths in one piece: in the batch's own memory where
// there is room behind its data.
func (e *Encoder) payload(h Header, b *job.Batch) []byte {
	if n := h.lengthsBytes(); uint64(cap(b.Data)-len(b.Data)) >= n {
		return appendLengths(b.Data, h.width, b.Ends)
	}
	e.raw = appendLengths(append(kept(e.raw), b.Data...), h.width, b.Ends)
	return e.raw
}

// compress appends the compressed form. ok is false if that is no shorter.
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
