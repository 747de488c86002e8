package structured

import (
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/hamadryad/hamadryad/mapreduce"
)

// AvroOutput writes Avro container files of a schema in JSON. The function record makes each record
// of a key and a value.
func AvroOutput[K, V, R any](schema string, record func(key K, value V) R) mapreduce.Output[K, V] {
	return mapreduce.Output[K, V]{Suffix: ".avro", Open: func(w io.Writer) (mapreduce.RecordWriter[K, V], error) {
		to, err := NewAvroWriter[R](w, schema)
		return made[K, V, R]{to, record}, err
	}}
}

// ParquetOutput writes Parquet files, with the options of NewParquetWriter. The function row makes
// each row of a key and a value.
func ParquetOutput[K, V, R any](row func(key K, value V) R, options ...parquet.WriterOption) mapreduce.Output[K, V] {
	return mapreduce.Output[K, V]{Suffix: ".parquet", Open: func(w io.Writer) (mapreduce.RecordWriter[K, V], error) {
		to, err := NewParquetWriter[R](w, options...)
		return made[K, V, R]{to, row}, err
	}}
}

// recordsTo is a writer of whole records.
type recordsTo[R any] interface {
	Write(record R) error
	Close() error
}

// made converts keys and values to records and writes these.
type made[K, V, R any] struct {
	to     recordsTo[R]
	record func(K, V) R
}

func (m made[K, V, R]) Write(key K, value V) error { return m.to.Write(m.record(key, value)) }
func (m made[K, V, R]) Close() error               { return m.to.Close() }
