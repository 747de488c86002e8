package text

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// begins refuses a file whose first bytes do not match the format that its name promises. Hadoop's
// blocks, in lz4 and snappy, have no magic bytes.
func begins(held *bufio.Reader, suffix string) error {
	head, err := held.Peek(xz.HeaderLen)
	if err != nil && err != io.EOF { // check a short file as far as it goes
		return err
	}
	if len(head) < 4 {
		return nil // the decompressor will report that the file is cut
	}
	is := true
	switch suffix {
	case ".gz":
		is = bytes.HasPrefix(head, []byte{0x1f, 0x8b, 8})
	case ".bz2":
		is = bytes.HasPrefix(head, []byte("BZh"))
	case ".xz":
		is = bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")[:min(6, len(head))])
	case ".zst":
		m := binary.LittleEndian.Uint32(head)
		is = m == zstdFrame || m&^15 == lz4Skip // both formats skip the same frames
	case ".deflate":
		is = head[0]&15 == 8 && binary.BigEndian.Uint16(head)%31 == 0
	}
	if !is {
		return job.Permanent(fmt.Errorf("the file is not compressed as the end of its name, %s, says: it begins with the bytes %x; give it another name", suffix, head[:4]))
	}
	return nil
}

// zstdFrame is the magic number of Zstandard's frames.
const zstdFrame = 0xFD2FB528

// members reads concatenated streams, with or without zeros after them: tape blocks are padded with
// zeros, and gzip skips them.
type members struct {
	held  *bufio.Reader
	open  func() (io.Reader, error) // the next one
	plain io.Reader
}

func newMembers(held *bufio.Reader, open func() (io.Reader, error)) (*members, error) {
	plain, err := open()
	return &members{held, open, plain}, err
}

// Read implements io.Reader.
func (m *members) Read(p []byte) (int, error) {
	for {
		n, err := m.plain.Read(p)
		if err != io.EOF || n > 0 { //nolint:errorlint // only the bare one is the end: a failure may wrap it
			if err == io.EOF { //nolint:errorlint // it comes again
				err = nil
			}
			return n, err
		}
		if err := skipZeros(m.held); err != nil {
			return 0, err
		}
		if m.plain, err = m.open(); err != nil {
			return 0, unexpected(err)
		}
	}
}

// skipZeros passes over zeros. io.EOF is the end of the file.
func skipZeros(held *bufio.Reader) error {
	for {
		b, err := held.ReadByte()
		if err != nil {
			return err
		}
		if b != 0 {
			return held.UnreadByte()
		}
	}
}

// unexpected turns io.EOF into io.ErrUnexpectedEOF where more must come.
func unexpected(err error) error {
	if err == io.EOF { //nolint:errorlint // only the bare one is the end
		return io.ErrUnexpectedEOF
	}
	return err
}

// newXZ reads xz. It checks the dictionary size in the first block first: the library would
// allocate that much at once.
func newXZ(held *bufio.Reader) (io.Reader, error) {
	head, err := held.Peek(xz.HeaderLen + xzBlockHeadMax)
	if err != nil && err != io.EOF { // a short file is judged below
		return nil, err
	}
	if size := xzDictionary(head); size > windowMax {
		return nil, job.Permanent(fmt.Errorf("it wants %d bytes to decompress, at most %d are given: compress it with xz -9 or less", size, windowMax))
	}
	return xz.NewReader(held)
}

// xzBlockHeadMax is the longest head of a block.
const xzBlockHeadMax = 1024

// xzDictionary returns the dictionary's size in the first block's header, 0 if it is not found:
// then the library reports the error.
func xzDictionary(head []byte) uint64 {
	if len(head) < xz.HeaderLen+3 || head[xz.HeaderLen] == 0 {
		return 0
	}
	flags, rest := head[xz.HeaderLen+1], head[xz.HeaderLen+2:]
	for _, flag := range []byte{0x40, 0x80} { // sizes of the block, packed and plain
		if flags&flag != 0 {
			_, n := binary.Uvarint(rest)
			if n <= 0 {
				return 0
			}
			rest = rest[n:]
		}
	}
	if len(rest) < 3 || rest[0] != 0x21 || rest[2] > 40 { // LZMA2, with one byte
		return 0
	}
	bits := uint(rest[2])
	return uint64(2|bits&1) << (bits/2 + 11)
}

// Magic numbers of lz4: of frames, of legacy frames, and of frames to skip.
const (
	lz4Frame  = 0x184D2204
	lz4Legacy = 0x184C2102
	lz4Skip   = 0x184D2A50 // and the 15 that follow
)

// newLZ4 reads lz4: frames, which begin with a magic number, or Hadoop's blocks.
func newLZ4(held *bufio.Reader) (io.Reader, error) {
	head, err := held.Peek(4)
	if err != nil {
		return nil, unexpected(err)
	}
	switch m := binary.LittleEndian.Uint32(head); {
	case m == lz4Frame, m == lz4Legacy, m&^15 == lz4Skip:
		return lz4.NewReader(held), nil
	}
	return &hadoopBlocks{held: held, unpack: lz4.UncompressBlock}, nil
}

// snappyMagic begins a framed file.
const snappyMagic = "\xff\x06\x00\x00sNaPpY"

// newSnappy reads snappy: frames, or Hadoop's blocks.
func newSnappy(held *bufio.Reader) io.Reader {
	if head, _ := held.Peek(len(snappyMagic)); string(head) == snappyMagic {
		return snappy.NewReader(held)
	}
	return &hadoopBlocks{held: held, unpack: func(stored, plain []byte) (int, error) {
		n, err := snappy.DecodedLen(stored)
		if err == nil && n > len(plain) {
			err = errors.New("a chunk is larger than its block")
		}
		if err != nil {
			return 0, err
		}
		_, err = snappy.Decode(plain, stored)
		return n, err
	}}
}

// hadoopBlocks reads what Hadoop's BlockCompressorStream writes. A block is its plain size, then
// chunks until it is full. A chunk is its packed size, then its bytes. Sizes have four bytes,
// big-endian.
type hadoopBlocks struct {
	held   *bufio.Reader
	unpack func(stored, plain []byte) (int, error)
	left   int // plain bytes of the current block not yet read
	stored []byte
	buf    []byte
	plain  []byte // bytes not yet returned
}

// chunkMax bounds a chunk, packed or not: Hadoop's have 256 KiB by default.
const chunkMax = 16 << 20

// Read implements io.Reader.
func (h *hadoopBlocks) Read(p []byte) (int, error) {
	for len(h.plain) == 0 {
		if err := h.chunk(); err != nil {
			return 0, err
		}
	}
	n := copy(p, h.plain)
	h.plain = h.plain[n:]
	return n, nil
}

// chunk unpacks the next chunk.
func (h *hadoopBlocks) chunk() error {
	for h.left == 0 { // empty files hold empty blocks
		var err error
		if h.left, err = h.size(1<<31 - 1); err != nil {
			return err
		}
	}
	size, err := h.size(chunkMax)
	if err != nil {
		return unexpected(err)
	}
	h.stored = sized(h.stored, size)
	if _, err := io.ReadFull(h.held, h.stored); err != nil {
		return unexpected(err)
	}
	h.buf = sized(h.buf, min(h.left, chunkMax))
	n, err := h.unpack(h.stored, h.buf)
	switch {
	case err != nil:
		return err
	case n == 0:
		return errors.New("a chunk of a block is empty")
	}
	h.plain, h.left = h.buf[:n], h.left-n
	return nil
}

// size reads a size. It returns io.EOF at an end before its first byte.
func (h *hadoopBlocks) size(most uint32) (int, error) {
	var b [4]byte
	if _, err := io.ReadFull(h.held, b[:]); err != nil {
		return 0, err
	}
	n := binary.BigEndian.Uint32(b[:])
	if n > most {
		return 0, fmt.Errorf("a block or chunk of %d bytes, at most %d are read: it is neither framed nor in Hadoop's blocks", n, most)
	}
	return int(n), nil
}

// sized returns a buffer of n bytes, and reuses b if that is large enough.
func sized(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}
