package format

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
)

// ParquetWriter writes values of T as a Parquet file. It is for one goroutine. It
// holds a row group in memory: 32,768 rows, or fewer once they come to 32 MiB,
// packed but for the pages being filled.
type ParquetWriter[T any] struct {
	writer *parquet.GenericWriter[T]
	one    [1]T
	rows   int   // of the row group at hand
	began  int64 // size of the file where it begins
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
func NewParquetWriter[T any](w io.Writer, options ...parquet.WriterOption) (_ *ParquetWriter[T], err error) {
	defer func() {
		if p := recover(); p != nil { // as the library refuses types and tags
			err = fmt.Errorf("rows of a Parquet output can't be of type %T: %v", *new(T), p)
		}
	}()
	if field := dateField(reflect.TypeFor[T](), nil); field != "" {
		return nil, fmt.Errorf("rows of a Parquet output can't be of type %T: its field %s is a time with the tag date, which parquet-go v0.32.0 writes wrong: use an int32 of days since 1970-01-01 with that tag", *new(T), field)
	}
	// Bounds are in the footer and in its index of pages. In the head of each page
	// they would be four more copies of a large value.
	options = append([]parquet.WriterOption{parquet.Compression(&parquet.Snappy), parquet.DataPageStatistics(false)}, options...)
	return &ParquetWriter[T]{writer: parquet.NewGenericWriter[T](w, options...)}, nil
}

// Write adds a row.
func (p *ParquetWriter[T]) Write(row T) error {
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

// dateField finds a field of type time.Time that is tagged as a date. The library
// reads such a field well, but writes nanoseconds where days belong.
func dateField(t reflect.Type, within []reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return dateField(t.Elem(), within)
	case reflect.Struct:
	default:
		return ""
	}
	if slices.Contains(within, t) {
		return ""
	}
	within = append(within, t)
	for i := range t.NumField() {
		f := t.Field(i)
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if of == reflect.TypeFor[time.Time]() {
			if slices.Contains(strings.Split(f.Tag.Get("parquet"), ","), "date") {
				return f.Name
			}
		} else if found := dateField(f.Type, within); found != "" {
			return f.Name + "." + found
		}
	}
	return ""
}

// Close writes what is held, and the footer.
func (p *ParquetWriter[T]) Close() error { return p.writer.Close() }
