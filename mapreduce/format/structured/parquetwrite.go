package structured

import (
	"fmt"
	"io"
	"reflect"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// ParquetWriter writes values of T as a Parquet file. It is for one goroutine. It holds a row group
// in memory: 32,768 rows, or fewer once they reach 32 MiB. Only the pages being filled are
// uncompressed.
type ParquetWriter[T any] struct {
	writer *parquet.GenericWriter[T]
	one    [1]T
	rows   int   // of the current row group
	began  int64 // size of the file at the row group's beginning
	times  bool  // whether a row has times that are written as nanoseconds
	text   rule  // of columns that are text
}

const (
	// groupRows and groupBytes bound a row group, which is held in memory.
	groupRows  = 32 << 10
	groupBytes = 32 << 20
)

// NewParquetWriter begins a Parquet file in w. It is compressed with Snappy unless a tag of T or an
// option, such as parquet.Compression(&parquet.Zstd), says otherwise. Close does not close w. It
// returns an error if no Parquet column can hold T, or one of its fields.
func NewParquetWriter[T any](w io.Writer, options ...parquet.WriterOption) (*ParquetWriter[T], error) {
	if _, err := schemaFor[T]("an output"); err != nil {
		return nil, err
	}
	if err := writable(reflect.TypeFor[T]()); err != nil {
		return nil, fmt.Errorf("rows of a Parquet output can't be of type %s: %w", reflect.TypeFor[T](), err)
	}
	// Bounds are in the footer and in its index of pages. Each page header would add four more
	// copies of a large value.
	options = append([]parquet.WriterOption{parquet.Compression(&parquet.Snappy), parquet.DataPageStatistics(false)}, options...)
	p := &ParquetWriter[T]{writer: parquet.NewGenericWriter[T](w, options...), times: hasTimes(reflect.TypeFor[T](), nil)}
	if hasText(p.writer.Schema()) {
		p.text = textRule(reflect.TypeFor[T](), textTags{})
	}
	return p, nil
}

// hasText reports whether a column of a schema is text: an option may set a schema of its own, of
// bytes alone.
func hasText(schema *parquet.Schema) bool {
	for _, path := range schema.Columns() {
		column, _ := schema.Lookup(path...)
		if t := column.Node.Type().LogicalType(); t != nil {
			switch t.Value.(type) {
			case *format.StringType, *format.EnumType, *format.JsonType:
				return true
			}
		}
	}
	return false
}

// Write adds a row. Text that is not UTF-8 is an error, except in columns of bytes (the tag bytes,
// or a []byte).
func (p *ParquetWriter[T]) Write(row T) error {
	if p.times {
		if err := timesFit(reflect.ValueOf(row), nil); err != nil {
			return job.Permanent(fmt.Errorf("a row of the Parquet output: %w", err))
		}
	}
	if p.text != nil {
		if _, err := p.text(reflect.ValueOf(&row).Elem()); err != nil {
			return unwritable("a row of the Parquet output", err)
		}
	}
	p.one[0] = row
	if _, err := p.writer.Write(p.one[:]); err != nil {
		return err
	}
	p.rows++
	if p.rows < groupRows && p.writer.Size()-p.began < groupBytes {
		return nil
	}
	err := p.writer.Flush()
	p.rows, p.began = 0, p.writer.Size()
	return err
}

// Close writes the held rows, and the footer.
func (p *ParquetWriter[T]) Close() error { return p.writer.Close() }
