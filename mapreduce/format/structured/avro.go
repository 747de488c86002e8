package structured

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"

	"github.com/hamba/avro/v2"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/mapreduce/internal/splitread"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// Avro reads the records of Avro object container files into values of T, as hamba/avro maps them
// (fields by the tag `avro`). each gets the offset of a record's block. The type of a field must
// hold all values of the file's type; otherwise the error names both. Only a pointer may be missing
// from the file, and is then nil. A block belongs to the split in which the sync marker before it
// begins. Blocks may be plain, deflate, snappy or zstandard. Avro can't detect a file that was cut
// exactly between two blocks, and only its snappy blocks have checksums.
func Avro[T any](t *mapreduce.Task, each func(block int64, record T) error) error {
	return splitread.Splits(t, func(r *splitread.Reading) error {
		err := readAvro(r, each)
		if own := (splitread.CallerError{}); errors.As(err, &own) {
			return own.Err
		}
		return r.Wrap(err)
	})
}

// avroHeader is the header of a container file.
type avroHeader struct {
	schema avro.Schema
	codec  string
	sync   [syncBytes]byte
	bytes  int64
}

func readAvro[T any](r *splitread.Reading, each func(int64, T) error) (err error) {
	defer recovered(&err)
	h, err := readAvroHeader(r)
	if err != nil {
		return err
	}
	limit := job.RecordLimit(r.Task.Node().Info().Memory)
	codec, err := newAvroCodec(h.codec, limit)
	if err != nil {
		return err
	}
	defer codec.close()
	if err := avroFits(h.schema, reflect.TypeFor[T](), false); err != nil {
		return err
	}
	marker := h.bytes - syncBytes // offset of the header's sync marker
	r.At = max(r.Split.Offset, marker)
	f, err := r.Open(r.At)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, splitread.ReadBytes)
	found, err := splitread.Seek(in, h.sync[:], &r.At, r.End())
	if err != nil || !found {
		return err
	}
	if _, err := in.Discard(syncBytes); err != nil {
		return err
	}
	b := avroBlocks{in: in, at: r.At + syncBytes, size: r.Split.Size, sync: h.sync, limit: limit}
	values := avro.NewReader(nil, 0, avro.WithReaderConfig(avroLimits.Freeze()))
	for b.at-syncBytes < r.End() && b.at < b.size {
		r.At = b.at
		count, stored, err := b.next()
		if err != nil {
			return err
		}
		plain, err := codec.unpack(stored)
		if err != nil {
			return fmt.Errorf("the block can't be unpacked: %w", err)
		}
		if count > int64(len(plain)) && count > emptyRecordsMax {
			return fmt.Errorf("a block of %d records in %d bytes: the file is damaged", count, len(plain))
		}
		r.Task.Read(count)
		values.Error = nil
		if err := avroRecords(values.Reset(plain), h.schema, count, func(v T) error { return call(each, r.At, v) }); err != nil {
			return err
		}
	}
	return nil
}

// avroLimits bound what a damaged block may make the decoder allocate. The decoder's own default
// would also refuse strings of more than 1 MiB. Each reader freezes them anew, since some of the
// decoders that hamba caches with them are for one goroutine.
var avroLimits = avro.Config{MaxByteSliceSize: job.RecordBytesMax, MaxSliceAllocSize: itemsMax}

const (
	// itemsMax bounds the items of an array: the decoder allocates the claimed number before it
	// reads them.
	itemsMax = 64 << 20
	// emptyRecordsMax bounds the zero-byte records of a block, as those of a schema without fields.
	// The block's bytes bound all other records.
	emptyRecordsMax = 1 << 20
)

// avroRecords decodes the records of a block, which must use all its bytes.
func avroRecords[T any](values *avro.Reader, schema avro.Schema, count int64, each func(T) error) error {
	for range count {
		var record T
		values.ReadVal(schema, &record)
		if values.Error != nil {
			return fmt.Errorf("the record can't be read as %T: %w", record, values.Error)
		}
		if err := each(record); err != nil {
			return splitread.CallerError{Err: err}
		}
	}
	if values.Peek(); !errors.Is(values.Error, io.EOF) {
		return fmt.Errorf("the block holds more than its %d records: it is damaged", count)
	}
	return nil
}

// avroBlocks reads block after block.
type avroBlocks struct {
	in   *bufio.Reader
	at   int64 // offset of the next block
	size int64 // of the file
	sync [syncBytes]byte
	held []byte

	limit int // of a block, in bytes
}

// next returns the number of records of the next block and its stored bytes, which are valid until
// the next call.
func (b *avroBlocks) next() (int64, []byte, error) {
	count, n, err := avroLong(b.in)
	if err != nil {
		return 0, nil, err
	}
	size, m, err := avroLong(b.in)
	if err != nil {
		return 0, nil, err
	}
	b.at += int64(n + m)
	switch {
	case count < 0 || size < 0:
		return 0, nil, fmt.Errorf("a block of %d records in %d bytes: the file is damaged", count, size)
	case size > b.size-b.at-syncBytes:
		return 0, nil, io.EOF
	case size > int64(b.limit):
		return 0, nil, fmt.Errorf("the block can't be read: %w", tooLarge(b.limit))
	}
	if int64(cap(b.held)) < size+syncBytes {
		b.held = make([]byte, max(size+syncBytes, splitread.ReadBytes))
	}
	b.held = b.held[:size+syncBytes]
	if _, err := io.ReadFull(b.in, b.held); err != nil {
		return 0, nil, err
	}
	b.at += size + syncBytes
	if !bytes.Equal(b.held[size:], b.sync[:]) {
		return 0, nil, errors.New("the block does not end with the file's sync marker: the file is damaged")
	}
	return count, b.held[:size:size], nil
}

// avroLong reads a number, and returns its length too.
func avroLong(in io.ByteReader) (int64, int, error) {
	var u uint64
	for n := range binary.MaxVarintLen64 {
		c, err := in.ReadByte()
		if err != nil {
			return 0, 0, err
		}
		u |= uint64(c&0x7f) << (7 * n)
		if c < 0x80 {
			return int64(u>>1) ^ -int64(u&1), n + 1, nil
		}
	}
	return 0, 0, errors.New("a number does not end: the file is damaged")
}

// syncBytes is the length of a sync marker.
const syncBytes = 16

// avroMagic begins each container file.
const avroMagic = "Obj\x01"

var errNoAvro = job.Permanent(errors.New("this is not an Avro container file: read it with the format that it was written in"))

// readAvroHeader reads the header of the file.
func readAvroHeader(r *splitread.Reading) (avroHeader, error) {
	r.At = 0
	if !splitread.HasMagic(r.Split.Size, avroMagic) {
		return avroHeader{}, errNoAvro
	}
	f, err := r.Open(0)
	if err != nil {
		return avroHeader{}, err
	}
	defer f.Close()
	limited := &io.LimitedReader{R: f, N: splitread.HeaderMax}
	in := bufio.NewReader(limited)
	magic := make([]byte, len(avroMagic))
	if _, err := io.ReadFull(in, magic); err != nil {
		return avroHeader{}, err
	}
	if string(magic) != avroMagic {
		return avroHeader{}, errNoAvro
	}
	meta, err := avroMeta(in)
	if err != nil {
		if limited.N == 0 {
			err = fmt.Errorf("the file's header is larger than %d bytes: is it damaged?", splitread.HeaderMax)
		}
		return avroHeader{}, err
	}
	h := avroHeader{codec: string(meta["avro.codec"])}
	if _, err := io.ReadFull(in, h.sync[:]); err != nil {
		return h, err
	}
	h.bytes = splitread.HeaderMax - limited.N - int64(in.Buffered())
	if h.schema, err = avro.ParseBytes(meta["avro.schema"]); err != nil {
		return h, job.Permanent(fmt.Errorf("the file's schema: %w", err))
	}
	return h, nil
}

// avroMeta reads the map of a header.
func avroMeta(in *bufio.Reader) (map[string][]byte, error) {
	meta := map[string][]byte{}
	for {
		count, _, err := avroLong(in)
		if err != nil || count == 0 {
			return meta, err
		}
		if count == math.MinInt64 {
			return nil, errors.New("the file's header is damaged")
		}
		if count < 0 { // then its size in bytes follows
			count = -count
			if _, _, err := avroLong(in); err != nil {
				return nil, err
			}
		}
		for range count {
			key, err := avroBytes(in)
			if err != nil {
				return nil, err
			}
			if meta[string(key)], err = avroBytes(in); err != nil {
				return nil, err
			}
		}
	}
}

func avroBytes(in *bufio.Reader) ([]byte, error) {
	size, _, err := avroLong(in)
	if err != nil {
		return nil, err
	}
	if size < 0 || size > splitread.HeaderMax {
		return nil, errors.New("the file's header is damaged")
	}
	b := make([]byte, size)
	_, err = io.ReadFull(in, b)
	return b, err
}
