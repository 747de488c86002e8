package structured

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// repair corrects faults of parquet-go v0.32.0 in the columns of an opened file, for one row group.
// It is called before that group is read.
//
// parquet-go uses the codec of the first group for all groups. If a codec returns a buffer of its
// own, as LZ4_RAW does for most large pages, parquet-go reads a different buffer. It decodes runs
// of booleans in the encoding RLE wrongly.
func repair(file *parquet.File, group int) error {
	chunks := file.Metadata().RowGroups[group].Columns
	var of func(c *parquet.Column) error
	of = func(c *parquet.Column) error {
		if c.Leaf() {
			if i := c.Index(); i < 0 || i >= len(chunks) {
				return fmt.Errorf("row group %d has no column %d: the file is damaged", group, i)
			}
			if c.Type().Kind() == parquet.Boolean {
				if err := set[parquet.Type](c, "typ", booleans{parquet.BooleanType}); err != nil {
					return err
				}
			}
			return set(c, "compression", pageCodecOf(chunks[c.Index()].MetaData.Codec))
		}
		for _, child := range c.Columns() {
			if err := of(child); err != nil {
				return err
			}
		}
		return nil
	}
	return of(file.Root())
}

// set sets a field of a column by reflection: parquet-go has no other way.
func set[T any](c *parquet.Column, name string, to T) error {
	field := reflect.ValueOf(c).Elem().FieldByName(name)
	if !field.IsValid() || field.Type() != reflect.TypeFor[T]() {
		return job.Permanent(errors.New("this program was built with a version of parquet-go that Hamadryad does not know: build it with the one that Hamadryad requires"))
	}
	*(*T)(unsafe.Pointer(field.UnsafeAddr())) = to
	return nil
}

// pageCodec unpacks pages into the given buffer. That has the length in the page's header, which is
// more than the values need if levels precede them.
type pageCodec struct {
	compress.Codec
	unpack func(into, packed []byte) (int, error)
}

// Decode implements compress.Codec.
func (p pageCodec) Decode(into, packed []byte) ([]byte, error) {
	n, err := p.unpack(into, packed)
	if err != nil {
		return nil, fmt.Errorf("compressed with %s: %w", p.CompressionCodec(), err)
	}
	return into[:n], nil
}

// pageCodecOf returns the decompressor of a codec's pages.
func pageCodecOf(codec format.CompressionCodec) compress.Codec {
	of := parquet.LookupCompressionCodec(codec)
	switch codec {
	case format.Uncompressed:
		return of
	case format.Snappy, format.Gzip, format.Brotli, format.Zstd:
		return pageCodec{of, func(into, packed []byte) (int, error) { return unpackBy(of, into, packed) }}
	case format.Lz4Raw:
		return pageCodec{of, unpackLZ4}
	case format.Lz4:
		return pageCodec{of, unpackHadoopLZ4}
	}
	return pageCodec{of, func([]byte, []byte) (int, error) {
		return 0, job.Permanent(errors.New("only UNCOMPRESSED, SNAPPY, GZIP, BROTLI, ZSTD, LZ4_RAW and LZ4 can be read: write the file with one of these"))
	}}
}

// unpackBy unpacks by a codec of the library, which may use any buffer.
func unpackBy(codec compress.Codec, into, packed []byte) (_ int, err error) {
	defer recovered(&err) // the library's gzip panics on a damaged page
	plain, err := codec.Decode(into, packed)
	if err != nil {
		return 0, err
	}
	if len(plain) > len(into) {
		return 0, fmt.Errorf("the page holds %d bytes, its header says %d: it is damaged", len(plain), len(into))
	}
	return copy(into, plain), nil
}

// unpackLZ4 unpacks one LZ4 block.
func unpackLZ4(into, packed []byte) (int, error) {
	if len(packed) == 0 {
		return 0, nil
	}
	return lz4.UncompressBlock(packed, into)
}

// unpackHadoopLZ4 unpacks a page of the deprecated codec LZ4. Hadoop's writers frame it: the plain
// length of some data, then its LZ4 blocks, each after its packed length; lengths are big-endian.
// Old Arrow writers stored one bare block.
func unpackHadoopLZ4(into, packed []byte) (int, error) {
	if n, ok := unpackFrames(into, packed); ok {
		return n, nil
	}
	return unpackLZ4(into, packed)
}

// unpackFrames unpacks Hadoop's frames; ok is false if the page has none.
func unpackFrames(into, packed []byte) (done int, ok bool) {
	length := func() (n int, ok bool) {
		if len(packed) < 4 {
			return 0, false
		}
		n, packed = int(binary.BigEndian.Uint32(packed)), packed[4:]
		return n, true
	}
	for len(packed) > 0 {
		plain, ok := length()
		if !ok || plain > len(into)-done {
			return 0, false
		}
		for end := done + plain; done < end; {
			stored, ok := length()
			if !ok || stored > len(packed) {
				return 0, false
			}
			n, err := unpackLZ4(into[done:end], packed[:stored])
			if err != nil || n == 0 {
				return 0, false
			}
			done, packed = done+n, packed[stored:]
		}
	}
	return done, true
}
