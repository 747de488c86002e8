package structured

import (
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/mapreduce/internal/splitread"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// Parquet reads the rows of Parquet files into values of T, as parquet-go maps them (fields by the
// tag `parquet`). each gets a row's number in its file. Only the columns of T are read. Pages may
// be plain, SNAPPY, GZIP, BROTLI, ZSTD, LZ4_RAW or LZ4. A row group belongs to the split in which
// its first page begins.
//
// Values are never truncated or invented. The type of a field must be that of the file's column, or
// one that holds all of its values. Integers, floats and the precision of decimals may widen, times
// may go to finer units, and text and bytes are interchangeable. Anything else is an error that
// names both types. A field that is a pointer, or has the tag optional, may be missing from the
// file and takes nulls, as nil or as the zero value. A null for any other field is an error, but a
// null list or map is an empty one. A time before 1677 or after 2262 for a time.Time is an error
// too.
func Parquet[T any](t *mapreduce.Task, each func(row int64, value T) error) error {
	program, err := schemaFor[T]("an input")
	if err != nil {
		return err
	}
	return splitread.Splits(t, func(r *splitread.Reading) error {
		err := readParquet(r, program, each)
		if own := (splitread.CallerError{}); errors.As(err, &own) {
			return own.Err
		}
		return r.Wrap(err)
	})
}

func readParquet[T any](r *splitread.Reading, program *parquet.Schema, each func(int64, T) error) (err error) {
	streams := &streams{open: r.Open, size: r.Split.Size}
	defer streams.close()
	defer recovered(&err)
	r.At = 0
	file, err := parquet.OpenFile(streams, r.Split.Size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return whyUnopened(streams, err)
	}
	fit, err := newParquetFit(file.Schema(), program, reflect.TypeFor[T]())
	if err != nil {
		return err
	}
	if err := countRows(file); err != nil {
		return err
	}
	var row int64
	for i, group := range file.RowGroups() {
		at, err := groupOffset(file, i)
		if err != nil {
			return err
		}
		rows := group.NumRows()
		if at >= r.Split.Offset && at < r.End() {
			r.At = at
			r.Task.Read(rows)
			if err := repair(file, i); err != nil {
				return err
			}
			fit.row = row
			if err := readGroup(fit.rows(group), row, each); err != nil {
				return err
			}
		}
		row += rows
	}
	return nil
}

// parquetMagic are the first and last bytes of a Parquet file, parquetEncrypted of an encrypted
// one.
const parquetMagic, parquetEncrypted = "PAR1", "PARE"

// whyUnopened explains why a file could not be opened. It marks as permanent a file that is of
// another format, encrypted, or not written to its end: no attempt can read it.
func whyUnopened(file *streams, err error) error {
	if !splitread.HasMagic(file.size, parquetMagic) {
		return errNoParquet
	}
	head, tail := make([]byte, len(parquetMagic)), make([]byte, len(parquetMagic))
	if _, failed := file.ReadAt(head, 0); failed != nil && !errors.Is(failed, io.EOF) {
		return err
	}
	if _, failed := file.ReadAt(tail, file.size-int64(len(tail))); failed != nil && !errors.Is(failed, io.EOF) {
		return err
	}
	switch {
	case string(head) == parquetEncrypted, string(tail) == parquetEncrypted:
		return job.Permanent(errors.New("the file is encrypted, and no keys can be given: write it without encryption"))
	case string(head) != parquetMagic:
		return errNoParquet
	case string(tail) != parquetMagic:
		return job.Permanent(errors.New("the file is cut: it does not end as Parquet files do; was it written to its end?"))
	}
	return err
}

var errNoParquet = job.Permanent(errors.New("this is not a Parquet file: read it with the format that it was written in"))

// recovered turns a panic of the library over a damaged file into an error. Panics of the author's
// function go on.
func recovered(err *error) {
	p := recover()
	if own, is := p.(callerPanic); is {
		panic(own.value)
	}
	if p != nil {
		*err = fmt.Errorf("the file is damaged: %v", p)
	}
}

// callerPanic carries a panic of the author's function past recovered.
type callerPanic struct{ value any }

// countRows compares the footer's counts of rows with each other, since they have no checksum.
func countRows(file *parquet.File) error {
	left := file.NumRows()
	for i, group := range file.RowGroups() {
		rows := group.NumRows()
		if left -= rows; rows < 0 {
			return fmt.Errorf("row group %d has %d rows: the file is damaged", i, rows)
		}
	}
	if left != 0 {
		return fmt.Errorf("the row groups have %d rows less than the file: it is damaged", left)
	}
	return nil
}

// groupOffset returns the offset of a row group's first page.
func groupOffset(file *parquet.File, group int) (int64, error) {
	at := file.Size()
	for _, column := range file.Metadata().RowGroups[group].Columns {
		at = min(at, column.MetaData.DataPageOffset)
		if dictionary := column.MetaData.DictionaryPageOffset; dictionary > 0 {
			at = min(at, dictionary)
		}
	}
	if at < 0 || at >= file.Size() {
		return 0, fmt.Errorf("row group %d begins at %d of %d bytes: the file is damaged", group, at, file.Size())
	}
	return at, nil
}

// rowsAtOnce is how many rows are decoded together.
const rowsAtOnce = 128

func readGroup[T any](group parquet.RowGroup, row int64, each func(int64, T) error) error {
	in := parquet.NewGenericRowGroupReader[T](group)
	defer in.Close()
	left := group.NumRows()
	for left > 0 {
		rows := make([]T, min(rowsAtOnce, left)) // allocated anew: the author may keep them
		n, err := in.Read(rows)
		for _, value := range rows[:n] {
			if err := call(each, row, value); err != nil {
				return splitread.CallerError{Err: err}
			}
			row++
		}
		left -= int64(n)
		if errors.Is(err, encoding.ErrNotSupported) {
			return job.Permanent(err)
		}
		if err != nil && (err != io.EOF || left > 0) { //nolint:errorlint // only the bare one is the end
			return err
		}
		if n == 0 {
			return fmt.Errorf("the row group ends %d rows early: the file is damaged", left)
		}
	}
	return nil
}

// call calls the author's function, and marks its panics as the author's.
func call[T any](each func(int64, T) error, row int64, value T) error {
	defer func() {
		if p := recover(); p != nil {
			panic(callerPanic{p})
		}
	}()
	return each(row, value)
}
