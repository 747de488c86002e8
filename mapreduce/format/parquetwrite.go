package format

import (
	"fmt"
	"io"
	"reflect"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// ParquetWriter writes values of T as a Parquet file. It is for one goroutine. It
// holds a row group in memory: 32,768 rows, or fewer once they come to 32 MiB,
// packed but for the pages being filled.
type ParquetWriter[T any] struct {
	writer *parquet.GenericWriter[T]
	one    [1]T
	rows   int   // of the row group at hand
	began  int64 // size of the file where it begins
	times  bool  // does a row have times that are written as nanoseconds?
	text   rule  // of columns that are text
}

const (
	// groupRows and groupBytes bound a row group, which is held in memory.
	groupRows  = 32 << 10
	groupBytes = 32 << 20
)

// NewParquetWriter begins a Parquet file in w, compressed with Snappy where no tag of
// T or option, such as parquet.Compression(&parquet.Zstd), says something else. Close
// does not close w. It is an error when no Parquet column can hold what T, or one of
// its fields, is.
func NewParquetWriter[T any](w io.Writer, options ...parquet.WriterOption) (*ParquetWriter[T], error) {
	if _, err := schemaFor[T]("an output"); err != nil {
		return nil, err
	}
	if err := writable(reflect.TypeFor[T]()); err != nil {
		return nil, fmt.Errorf("rows of a Parquet output can't be of type %s: %w", reflect.TypeFor[T](), err)
	}
	// Bounds are in the footer and in its index of pages. In the head of each page
	// they would be four more copies of a large value.
	options = append([]parquet.WriterOption{parquet.Compression(&parquet.Snappy), parquet.DataPageStatistics(false)}, options...)
	p := &ParquetWriter[T]{writer: parquet.NewGenericWriter[T](w, options...), times: hasTimes(reflect.TypeFor[T](), nil)}
	if hasText(p.writer.Schema()) {
		p.text = textRule(reflect.TypeFor[T](), textTags{})
	}
	return p, nil
}

// hasText says whether a column of a schema is text: an option may give one of its own, of
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

// Write adds a row. Text that is not UTF-8 is an error, but in columns of bytes (the tag
// bytes, or a []byte).
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

// Close writes what is held, and the footer.
func (p *ParquetWriter[T]) Close() error { return p.writer.Close() }
