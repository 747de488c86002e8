package format

import (
	"io"

	"github.com/hamadryad/hamadryad/mapreduce"
)

// BinaryOutput writes pairs of bytes as Binary files.
func BinaryOutput() mapreduce.Output[[]byte, []byte] {
	return mapreduce.Output[[]byte, []byte]{Suffix: ".kv", Open: func(w io.Writer) (mapreduce.RecordWriter[[]byte, []byte], error) {
		return NewBinaryWriter(w)
	}}
}
