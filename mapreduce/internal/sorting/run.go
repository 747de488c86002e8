package sorting

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// A run is a file of blocks. A block is its length and a checksum of its pairs, four bytes each,
// then the pairs: the lengths of key and value as uvarints, key, value. A pair lies in one block.

// runBlockBytes is the size at which a block is written. A block with a large pair is as large as
// that needs.
const runBlockBytes = 128 << 10

// blockKeepMax is the largest block buffer that is reused for the next block: a rare large pair
// must not hold its memory until the run ends.
const blockKeepMax = 1 << 20

// pairBytesMax is more than any record has.
const pairBytesMax = 1<<31 - 64

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type runWriter struct {
	f     *os.File
	block []byte
}

const blockHeader = 8

func createRun(path string) (*runWriter, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, explain(err)
	}
	return &runWriter{f: f, block: make([]byte, blockHeader, runBlockBytes+1024)}, nil
}

// explain adds the remedy for a full disk.
func explain(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG) {
		return fmt.Errorf("%w: sorting needs temporary space on the launcher's disk: free some, or give the job more memory", err)
	}
	return err
}

func (w *runWriter) add(key, value []byte) error {
	w.block = binary.AppendUvarint(w.block, uint64(len(key)))
	w.block = binary.AppendUvarint(w.block, uint64(len(value)))
	w.block = append(append(w.block, key...), value...)
	if len(w.block) >= runBlockBytes {
		return w.flush()
	}
	return nil
}

func (w *runWriter) flush() error {
	if len(w.block) == blockHeader {
		return nil
	}
	binary.LittleEndian.PutUint32(w.block, uint32(len(w.block)-blockHeader))
	binary.LittleEndian.PutUint32(w.block[4:], crc32.Checksum(w.block[blockHeader:], castagnoli))
	_, err := w.f.Write(w.block)
	if cap(w.block) > blockKeepMax {
		w.block = make([]byte, blockHeader, runBlockBytes+1024)
	}
	w.block = w.block[:blockHeader]
	return explain(err)
}

// close writes the end, an empty block: a truncated run has none.
func (w *runWriter) close() error {
	err := w.flush()
	if err == nil {
		_, err = w.f.Write(make([]byte, blockHeader))
	}
	return errors.Join(explain(err), w.f.Close())
}

func (w *runWriter) abort() error { return w.f.Close() }

// runCursor reads a run.
type runCursor struct {
	f     *os.File
	block []byte
	rest  []byte // unread bytes of block
	k, v  []byte
}

func openRuns(paths []string) ([]cursor, error) {
	var all []cursor
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			for _, c := range all {
				_ = c.close()
			}
			return nil, err
		}
		all = append(all, &runCursor{f: f})
	}
	return all, nil
}

func (c *runCursor) key() []byte   { return c.k }
func (c *runCursor) value() []byte { return c.v }
func (c *runCursor) close() error  { return c.f.Close() }

func (c *runCursor) damaged(what string) error {
	return fmt.Errorf("temporary file %s is damaged: %s", c.f.Name(), what)
}

func (c *runCursor) next() (bool, error) {
	if len(c.rest) == 0 {
		if more, err := c.read(); !more {
			return false, err
		}
	}
	keyLen, a := binary.Uvarint(c.rest)
	if a <= 0 {
		return false, c.damaged("no key length")
	}
	valueLen, b := binary.Uvarint(c.rest[a:])
	body := c.rest[a+max(b, 0):]
	if b <= 0 || keyLen > uint64(len(body)) || valueLen > uint64(len(body))-keyLen {
		return false, c.damaged("wrong lengths")
	}
	c.k, c.v, c.rest = body[:keyLen:keyLen], body[keyLen:keyLen+valueLen], body[keyLen+valueLen:]
	return true, nil
}

// end checks the empty block at the end of a complete run.
func (c *runCursor) end(header [blockHeader]byte) error {
	if header != [blockHeader]byte{} {
		return c.damaged("wrong end")
	}
	return nil
}

// read reads the next block.
func (c *runCursor) read() (bool, error) {
	var header [blockHeader]byte
	if _, err := io.ReadFull(c.f, header[:]); err != nil {
		return false, c.damaged(err.Error())
	}
	size := binary.LittleEndian.Uint32(header[:])
	if size == 0 {
		return false, c.end(header)
	}
	if size > pairBytesMax {
		return false, c.damaged("a block is too large")
	}
	if cap(c.block) < int(size) || (cap(c.block) > blockKeepMax && size <= blockKeepMax) {
		c.block = make([]byte, size)
	}
	c.block = c.block[:size]
	if _, err := io.ReadFull(c.f, c.block); err != nil {
		return false, c.damaged(err.Error())
	}
	if crc32.Checksum(c.block, castagnoli) != binary.LittleEndian.Uint32(header[4:]) {
		return false, c.damaged("wrong checksum")
	}
	c.rest = c.block
	return true, nil
}
