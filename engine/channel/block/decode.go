package block

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// zstdDecoders never write beyond the memory that they are given.
var zstdDecoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxMemory(rawBytesMax), zstd.IgnoreChecksum(true))
	if err != nil {
		panic(err) // only wrong options fail
	}
	return d
}}

// decode turns a block's payload into its batch, in b's memory. A payload that is
// not compressed becomes the batch's memory: the caller must not use it again.
func decode(h Header, payload []byte, b *job.Batch) error {
	if uint64(len(payload)) != uint64(h.Stored) {
		return damaged("payload of %d bytes, want %d", len(payload), h.Stored)
	}
	if got := crc32.Checksum(payload, castagnoli); got != h.sum {
		return damaged("payload has checksum %08x, want %08x", got, h.sum)
	}
	raw, err := expand(h, payload, b.Data)
	if err != nil {
		return err
	}
	b.Data = raw[:h.Data]
	b.Ends, err = ends(h, raw[h.Data:], b.Ends[:0], 0)
	return err
}

// expand undoes the compression, into memory if it is large enough.
func expand(h Header, payload, memory []byte) ([]byte, error) {
	if h.Codec == None {
		return payload, nil
	}
	switch h.Codec {
	case LZ4:
		raw := extend(memory[:0], int(h.Raw))
		n, err := lz4.UncompressBlock(payload, raw)
		if err != nil || n != len(raw) {
			return nil, damaged("lz4 payload gives %d of %d bytes (%v)", n, len(raw), err)
		}
		return raw, nil
	default: // ZSTD: Header.check accepts no other
		return expandZSTD(h, payload, memory)
	}
}

const (
	// usualRatio is the compression ratio that nearly all payloads stay below. A payload with a
	// higher ratio gets memory step by step: a few bytes can claim gigabytes.
	usualRatio = 32
	// ratioStep is the factor by which the memory grows at each try.
	ratioStep = 8
)

func expandZSTD(h Header, payload, memory []byte) ([]byte, error) {
	d := zstdDecoders.Get().(*zstd.Decoder)
	defer zstdDecoders.Put(d)
	for n := max(usualRatio*len(payload), readStep, cap(memory)); ; n *= ratioStep {
		n = min(n, int(h.Raw))
		out, err := d.DecodeAll(payload, extend(memory[:0], n)[:0:n])
		if errors.Is(err, zstd.ErrDecoderSizeExceeded) && n < int(h.Raw) {
			continue
		}
		if err != nil || len(out) != int(h.Raw) {
			return nil, damaged("zstd payload gives %d of %d bytes (%v)", len(out), h.Raw, err)
		}
		return out, nil
	}
}

// ends adds up the lengths, and checks that they fill the data exactly. It appends the ends to list;
// start is where the data begin.
func ends(h Header, lengths []byte, list []uint32, start uint64) ([]uint32, error) {
	list = slices.Grow(list, int(h.Records))[:len(list)+int(h.Records)]
	out := list[len(list)-int(h.Records):]
	le := binary.LittleEndian
	at := start
	switch h.width {
	case 0:
		n := uint64(le.Uint32(lengths))
		if n == 0 || n*uint64(h.Records) != uint64(h.Data) {
			return nil, damaged("%d records of %d bytes do not make %d", h.Records, n, h.Data)
		}
		for i := range out {
			at += n
			out[i] = uint32(at)
		}
	case 1:
		for i := range out {
			at += uint64(lengths[i])
			out[i] = uint32(at)
		}
	case 2:
		for i := range out {
			at += uint64(le.Uint16(lengths[2*i:]))
			out[i] = uint32(at)
		}
	default:
		for i := range out {
			n := le.Uint32(lengths[4*i:])
			if n > job.RecordBytesMax {
				return nil, damaged("record %d of %d bytes, at most %d", i, n, job.RecordBytesMax)
			}
			at += uint64(n)
			out[i] = uint32(at)
		}
	}
	if at-start != uint64(h.Data) || uint64(out[0])-start > job.RecordBytesMax {
		return nil, damaged("record lengths add up to %d, want %d", at-start, h.Data)
	}
	return list, nil
}
