package format

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// A Binary file is a header, blocks, and an end block without pairs:
//
//	header: magic (8 bytes), sync (16, chosen by chance for the file), crc32c of both
//	block:  sync (16), kind (1), bytes stored (4), bytes of pairs (4), pairs (4),
//	        crc32c of what is stored (4), crc32c of the block's header so far (4),
//	        and what is stored
//
// Numbers are little-endian. What is stored is pairs (uvarint length of key and of
// value, key, value), as they are or as a Zstandard frame. The end block tells a
// whole file from one that was cut between blocks.
const (
	binaryMagic = "HMDKV\x01\r\n"
	// binaryVersionAt is the index of the format's version in the magic bytes.
	binaryVersionAt = 5
	syncBytes       = 16
	fileHead        = len(binaryMagic) + syncBytes + 4
	blockHead       = syncBytes + 1 + 4*5
	blockTarget     = 256 << 10          // bytes of pairs at which a block is written
	blockMax        = job.RecordBytesMax // bytes of pairs in a block, of one huge pair at most
	pairOverhead    = 2 * binary.MaxVarintLen32
)

// Kinds of blocks.
const (
	kindPlain byte = iota
	kindZstd
	kindEnd
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// BinaryWriter writes a Binary file. It is for one goroutine. It holds up to a block of pairs in
// memory (256 KiB, or one larger pair).
type BinaryWriter struct {
	w      io.Writer
	sync   [syncBytes]byte
	pairs  []byte
	packed []byte
	count  uint32
	zip    *zstd.Encoder
	err    error // the first error; nothing is written after it
}

// NewBinaryWriter begins a Binary file in w, which should be buffered. The file is complete after
// Close, which does not close w.
func NewBinaryWriter(w io.Writer) (*BinaryWriter, error) {
	b := &BinaryWriter{w: w}
	if _, err := rand.Read(b.sync[:]); err != nil {
		return nil, err
	}
	zip, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, err
	}
	b.zip = zip
	head := append([]byte(binaryMagic), b.sync[:]...)
	_, err = w.Write(binary.LittleEndian.AppendUint32(head, crc32.Checksum(head, castagnoli)))
	return b, err
}

// Write adds a copy of a pair. A pair must be below 1 GiB.
func (b *BinaryWriter) Write(key, value []byte) error {
	if b.err != nil {
		return b.err
	}
	if len(key)+len(value) > blockMax-pairOverhead {
		return job.Permanent(fmt.Errorf("a pair of %d bytes is larger than %d", len(key)+len(value), blockMax-pairOverhead))
	}
	if len(b.pairs) > 0 && len(b.pairs)+len(key)+len(value) > blockTarget {
		if b.err = b.flush(); b.err != nil {
			return b.err
		}
	}
	b.pairs = binary.AppendUvarint(b.pairs, uint64(len(key)))
	b.pairs = binary.AppendUvarint(b.pairs, uint64(len(value)))
	b.pairs = append(append(b.pairs, key...), value...)
	b.count++
	return nil
}

// Close writes the held pairs, and the end block.
func (b *BinaryWriter) Close() error {
	if b.err != nil {
		return b.err
	}
	err := b.flush()
	if err == nil {
		err = b.block(kindEnd, nil, 0)
	}
	b.err = errors.New("format: the Binary file was closed")
	return errors.Join(err, b.zip.Close())
}

// flush writes the held pairs as a block, compressed if that makes it smaller.
func (b *BinaryWriter) flush() error {
	if b.count == 0 {
		return nil
	}
	kind, stored := kindPlain, b.pairs
	if b.packed = b.zip.EncodeAll(b.pairs, b.packed[:0]); len(b.packed) < len(b.pairs) {
		kind, stored = kindZstd, b.packed
	}
	err := b.block(kind, stored, len(b.pairs))
	b.pairs, b.count = b.pairs[:0], 0
	return err
}

func (b *BinaryWriter) block(kind byte, stored []byte, plain int) error {
	head := append(make([]byte, 0, blockHead), b.sync[:]...)
	head = append(head, kind)
	for _, n := range []uint32{uint32(len(stored)), uint32(plain), b.count, crc32.Checksum(stored, castagnoli)} {
		head = binary.LittleEndian.AppendUint32(head, n)
	}
	head = binary.LittleEndian.AppendUint32(head, crc32.Checksum(head, castagnoli))
	if _, err := b.w.Write(head); err != nil {
		return err
	}
	_, err := b.w.Write(stored)
	return err
}
