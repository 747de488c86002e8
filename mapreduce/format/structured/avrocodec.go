package structured

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// avroCodec unpacks blocks. The result of unpack is valid until its next call; hamba/avro copies
// out of it.
type avroCodec struct {
	unpack func(stored []byte) ([]byte, error)
	close  func()
}

// newAvroCodec returns the codec that a file's header names, for blocks that unpack to at most
// limit bytes.
func newAvroCodec(name string, limit int) (avroCodec, error) {
	c := avroCodec{close: func() {}}
	switch name {
	case "", "null":
		c.unpack = func(stored []byte) ([]byte, error) { return stored, nil }
	case "deflate":
		c.unpack = (&inflater{limit: limit}).unpack
	case "snappy":
		c.unpack = (&unsnapper{limit: limit}).unpack
	case "zstandard":
		zip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(uint64(limit)))
		if err != nil {
			return c, err
		}
		var plain []byte
		c.unpack = func(stored []byte) (_ []byte, err error) {
			plain, err = zip.DecodeAll(stored, plain[:0])
			if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
				err = tooLarge(limit)
			}
			return plain, err
		}
		c.close = zip.Close
	default:
		return c, job.Permanent(fmt.Errorf("blocks are compressed with %q: null, deflate, snappy and zstandard can be read; write the file with one of these", name))
	}
	return c, nil
}

// tooLarge is the error for a block of more than limit bytes, packed or not.
func tooLarge(limit int) error {
	return job.Permanent(fmt.Errorf("it is larger than %d bytes, a quarter of the task's memory or the largest record: give the task more Memory, or write smaller blocks", limit))
}

// inflateRestMax is how many bytes may follow the end of a deflate stream: fastavro strips zlib's
// frame but leaves three of the four bytes of its checksum.
const inflateRestMax = 4

type inflater struct {
	limit int
	zip   io.Reader // also a flate.Resetter
	plain bytes.Buffer
}

func (i *inflater) unpack(stored []byte) ([]byte, error) {
	from := bytes.NewReader(stored)
	if i.zip == nil {
		i.zip = flate.NewReader(from)
	} else if err := i.zip.(flate.Resetter).Reset(from, nil); err != nil {
		return nil, err
	}
	i.plain.Reset()
	n, err := io.Copy(&i.plain, io.LimitReader(i.zip, int64(i.limit)+1))
	switch {
	case err != nil:
		return nil, err
	case n > int64(i.limit):
		return nil, tooLarge(i.limit)
	case from.Len() > inflateRestMax:
		return nil, fmt.Errorf("%d bytes follow its end", from.Len())
	}
	return i.plain.Bytes(), nil
}

type unsnapper struct {
	limit int
	plain []byte
}

// unpack unpacks a snappy block and checks the big-endian crc32 of its plain bytes.
func (u *unsnapper) unpack(stored []byte) ([]byte, error) {
	n := len(stored) - 4
	if n < 0 {
		return nil, io.ErrUnexpectedEOF
	}
	size, err := snappy.DecodedLen(stored[:n])
	if err != nil {
		return nil, err
	}
	if size > u.limit {
		return nil, tooLarge(u.limit)
	}
	u.plain, err = snappy.Decode(u.plain[:cap(u.plain)], stored[:n])
	if err == nil && crc32.ChecksumIEEE(u.plain) != binary.BigEndian.Uint32(stored[n:]) {
		err = errors.New("its checksum is another")
	}
	return u.plain, err
}
