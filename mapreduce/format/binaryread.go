package format

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/mapreduce/internal/splitread"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// Binary reads the pairs of files that a BinaryWriter wrote. Key and value are valid until the call
// of each returns. Over all splits, every byte of the file is verified.
func Binary(t *mapreduce.Task, each func(key, value []byte) error) error {
	zip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(blockMax))
	if err != nil {
		return err
	}
	defer zip.Close()
	return splitread.Splits(t, func(r *splitread.Reading) error {
		b := binaryReader{open: r.Open, size: r.Split.Size, zip: zip, at: &r.At, memory: t.Node().Info().Memory}
		err := b.split(r.Split.Offset, r.End(), func(pairs []byte, count uint32) error {
			r.Task.Read(int64(count))
			return b.each(pairs, count, each)
		})
		if own := (splitread.CallerError{}); errors.As(err, &own) {
			return own.Err
		}
		return r.Wrap(err)
	})
}

// binaryReader reads splits of one file. To detect loss, after each block its reader checks that
// the next block begins where it must, even if that block belongs to another split.
type binaryReader struct {
	open   func(offset int64) (io.ReadCloser, error)
	size   int64
	zip    *zstd.Decoder
	at     *int64 // offset of the current block
	memory int64  // of the task; 0 when unknown
	sync   [syncBytes]byte
	stored []byte
	plain  []byte
}

// blockInfo is the header of a block.
type blockInfo struct {
	kind                      byte
	stored, plain, pairs, sum uint32
}

// split calls each for the pairs of every block that begins from offset to end.
func (b *binaryReader) split(offset, end int64, each func(pairs []byte, count uint32) error) error {
	if err := b.header(); err != nil {
		return err
	}
	first := int64(fileHead)
	if end <= first && offset > 0 {
		return nil // the first block belongs to the split that ends after the header, or holds it
	}
	*b.at = max(offset, first)
	f, err := b.open(*b.at)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, splitread.ReadBytes)
	if *b.at > first {
		if found, err := splitread.Seek(in, b.sync[:], b.at, end); err != nil || !found {
			return err
		}
	}
	for {
		info, err := b.info(in)
		if err != nil {
			return err
		}
		if info.kind == kindEnd {
			return b.over()
		}
		if *b.at >= end {
			return nil
		}
		pairs, err := b.load(in, info)
		if err != nil {
			return err
		}
		if err := each(pairs, info.pairs); err != nil {
			return err
		}
		*b.at += blockHead + int64(info.stored)
	}
}

var errNoBinary = job.Permanent(errors.New("this is not a Binary file: read it with the format that it was written in"))

// header reads the file's header.
func (b *binaryReader) header() error {
	*b.at = 0
	if !splitread.HasMagic(b.size, binaryMagic) {
		return errNoBinary
	}
	f, err := b.open(0)
	if err != nil {
		return err
	}
	defer f.Close()
	var head [fileHead]byte
	if _, err := io.ReadFull(f, head[:]); err != nil {
		return err
	}
	body := head[:fileHead-4]
	switch {
	case bytes.HasPrefix(body, []byte(binaryMagic)):
	case bytes.HasPrefix(body, []byte(binaryMagic[:binaryVersionAt])):
		return job.Permanent(fmt.Errorf("this Binary file has version %d, and this program reads version %d: read it with the version of Hamadryad that wrote it, or a newer one", body[binaryVersionAt], binaryMagic[binaryVersionAt]))
	default:
		return errNoBinary
	}
	switch {
	case crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(head[fileHead-4:]):
		return errors.New("the file's header is damaged")
	}
	copy(b.sync[:], body[len(binaryMagic):])
	return nil
}

// info reads the header of the block at the current position.
func (b *binaryReader) info(in io.Reader) (blockInfo, error) {
	var head [blockHead]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return blockInfo{}, err
	}
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(head[syncBytes+1+4*i:]) }
	info := blockInfo{kind: head[syncBytes], stored: word(0), plain: word(1), pairs: word(2), sum: word(3)}
	if !bytes.Equal(head[:syncBytes], b.sync[:]) || crc32.Checksum(head[:blockHead-4], castagnoli) != word(4) {
		return info, errors.New("the file is damaged: no block begins here")
	}
	rest := b.size - *b.at - blockHead
	if int64(info.stored) > rest {
		return info, io.EOF
	}
	if info.kind > kindEnd || info.stored > blockMax || info.plain > blockMax || (info.kind == kindPlain && info.plain != info.stored) {
		return info, errors.New("the block's header makes no sense: the file was written by a newer version, or is damaged")
	}
	if info.plain > 2*blockTarget { // then the block is one pair
		return info, job.CheckRecord(int64(info.plain), b.memory)
	}
	return info, nil
}

// over checks that the end block is at the end of the file.
func (b *binaryReader) over() error {
	if rest := b.size - *b.at - blockHead; rest != 0 {
		return fmt.Errorf("%d bytes follow the file's end", rest)
	}
	return nil
}

// load reads and unpacks a block's stored bytes.
func (b *binaryReader) load(in io.Reader, info blockInfo) ([]byte, error) {
	if cap(b.stored) < int(info.stored) {
		b.stored = make([]byte, max(int(info.stored), 2*blockTarget))
	}
	b.stored = b.stored[:info.stored]
	if _, err := io.ReadFull(in, b.stored); err != nil {
		return nil, err
	}
	if crc32.Checksum(b.stored, castagnoli) != info.sum {
		return nil, errors.New("the block is damaged: its checksum is another")
	}
	if info.kind == kindPlain {
		return b.stored, nil
	}
	plain, err := b.zip.DecodeAll(b.stored, b.plain[:0])
	if err != nil {
		return nil, fmt.Errorf("the block is damaged: %w", err)
	}
	b.plain = plain
	if len(plain) != int(info.plain) {
		return nil, fmt.Errorf("the block holds %d bytes of pairs, not %d: it is damaged", len(plain), info.plain)
	}
	return plain, nil
}

// each calls each for the pairs of a block.
func (b *binaryReader) each(pairs []byte, count uint32, each func(key, value []byte) error) error {
	bad := errors.New("the block's pairs do not add up: it is damaged")
	for range count {
		k, n := binary.Uvarint(pairs)
		v, m := binary.Uvarint(pairs[max(n, 0):])
		if n <= 0 || m <= 0 || k > blockMax || v > blockMax || k+v > uint64(len(pairs)-n-m) {
			return bad
		}
		pairs = pairs[n+m:]
		if err := each(pairs[:k:k], pairs[k:k+v:k+v]); err != nil {
			return splitread.CallerError{Err: err}
		}
		pairs = pairs[k+v:]
	}
	if len(pairs) > 0 {
		return bad
	}
	return nil
}
