package format

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// avroCodec returns what unpacks a block. The result is new memory, or the block's.
func avroCodec(name string) (func(stored []byte) ([]byte, error), error) {
	switch name {
	case "", "null":
		return func(stored []byte) ([]byte, error) { return bytes.Clone(stored), nil }, nil
	case "deflate":
		return inflate, nil
	case "snappy":
		return unsnap, nil
	case "zstandard":
		return func(stored []byte) ([]byte, error) {
			zip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(job.RecordBytesMax))
			if err != nil {
				return nil, err
			}
			defer zip.Close()
			return zip.DecodeAll(stored, nil)
		}, nil
	}
	return nil, fmt.Errorf("blocks are compressed with %q: null, deflate, snappy and zstandard can be read", name)
}

func inflate(stored []byte) ([]byte, error) {
	from := bytes.NewReader(stored)
	plain, err := io.ReadAll(io.LimitReader(flate.NewReader(from), job.RecordBytesMax+1))
	if err == nil && len(plain) > job.RecordBytesMax {
		err = fmt.Errorf("it unpacks to more than %d bytes", job.RecordBytesMax)
	}
	if err == nil && from.Len() > 0 {
		err = errors.New("bytes follow its end")
	}
	return plain, err
}

// unsnap unpacks a snappy block and the big-endian crc32 of its plain bytes.
func unsnap(stored []byte) ([]byte, error) {
	n := len(stored) - 4
	if n < 0 {
		return nil, io.ErrUnexpectedEOF
	}
	size, err := snappy.DecodedLen(stored[:n])
	if err != nil {
		return nil, err
	}
	if size > job.RecordBytesMax {
		return nil, fmt.Errorf("it unpacks to %d bytes, and %d are allowed", size, job.RecordBytesMax)
	}
	plain, err := snappy.Decode(nil, stored[:n])
	if err == nil && crc32.ChecksumIEEE(plain) != binary.BigEndian.Uint32(stored[n:]) {
		err = errors.New("its checksum is another")
	}
	return plain, err
}
