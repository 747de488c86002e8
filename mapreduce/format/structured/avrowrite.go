package structured

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"reflect"

	"github.com/hamba/avro/v2"
	"github.com/klauspost/compress/flate"
)

// blockTarget is the size of the records at which a block is written, in bytes.
const blockTarget = 256 << 10

// AvroWriter writes values of T as an Avro container file with deflate blocks. It is for one
// goroutine. It holds a block of records in memory (256 KiB, or one larger record).
type AvroWriter[T any] struct {
	w       io.Writer
	schema  avro.Schema
	records *avro.Writer
	rule    rule // rejects values that Avro can't hold or hamba/avro writes wrong
	count   int64
	zip     *flate.Writer
	packed  bytes.Buffer
	sync    [syncBytes]byte
	err     error // the first error; nothing is written after it
}

// NewAvroWriter begins a container file in w, which should be buffered. The schema is JSON. Each
// field of T must be in the schema, with a type that holds its values, or have the tag avro:"-". A
// field that only the schema has needs a default. The file is complete after Close, which does not
// close w.
func NewAvroWriter[T any](w io.Writer, schema string) (*AvroWriter[T], error) {
	parsed, err := avro.Parse(schema)
	if err != nil {
		return nil, fmt.Errorf("the schema of an Avro output: %w", err)
	}
	if err := avroFits(parsed, reflect.TypeFor[T](), true); err != nil {
		return nil, fmt.Errorf("the schema of an Avro output: %w", err)
	}
	a := &AvroWriter[T]{w: w, schema: parsed, records: avro.NewWriter(nil, blockTarget, avro.WithWriterConfig(avroWriting()))}
	a.rule = (&avroRules{map[avroPair]*rule{}}).of(parsed, reflect.TypeFor[T]())
	if a.zip, err = flate.NewWriter(nil, flate.DefaultCompression); err != nil {
		return nil, err
	}
	if _, err := rand.Read(a.sync[:]); err != nil {
		return nil, err
	}
	head := avro.NewWriter(nil, 1<<10)
	_, _ = head.Write([]byte(avroMagic))
	head.WriteLong(2)
	head.WriteString("avro.schema")
	head.WriteString(schema)
	head.WriteString("avro.codec")
	head.WriteString("deflate")
	head.WriteLong(0)
	_, _ = head.Write(a.sync[:])
	_, err = w.Write(head.Buffer())
	return a, err
}

// Write adds a record. After an error the file is useless. Text that is not UTF-8 is an error, and
// so is a duration outside the range of a time of day.
func (a *AvroWriter[T]) Write(record T) error {
	if a.err != nil {
		return a.err
	}
	if a.rule != nil {
		now, err := a.rule(reflect.ValueOf(&record).Elem())
		if err != nil {
			a.err = unwritable("a record of the Avro output", err)
			return a.err
		}
		if now.IsValid() {
			record = now.Interface().(T)
		}
	}
	a.records.WriteVal(a.schema, record)
	if a.err = a.records.Error; a.err != nil {
		a.err = fmt.Errorf("a record does not fit the schema of the Avro output: %w", a.err)
		return a.err
	}
	a.count++
	if a.records.Buffered() >= blockTarget {
		a.err = a.flush()
	}
	return a.err
}

// avroWriting is the configuration of a writer.
func avroWriting() avro.API {
	frozen := avroLimits.Freeze()
	frozen.RegisterTypeConverters(dates, datesOfUnions)
	return frozen
}

// Close writes the held records.
func (a *AvroWriter[T]) Close() error {
	if a.err != nil {
		return a.err
	}
	err := a.flush()
	a.err = fmt.Errorf("format: the Avro file was closed")
	return err
}

// flush writes the held records as a block.
func (a *AvroWriter[T]) flush() error {
	if a.count == 0 {
		return nil
	}
	a.packed.Reset()
	a.zip.Reset(&a.packed)
	if _, err := a.zip.Write(a.records.Buffer()); err != nil {
		return err
	}
	if err := a.zip.Close(); err != nil {
		return err
	}
	head := avro.NewWriter(nil, 32)
	head.WriteLong(a.count)
	head.WriteLong(int64(a.packed.Len()))
	a.packed.Write(a.sync[:])
	if _, err := a.w.Write(head.Buffer()); err != nil {
		return err
	}
	a.records.Reset(nil)
	a.count = 0
	_, err := a.w.Write(a.packed.Bytes())
	return err
}
