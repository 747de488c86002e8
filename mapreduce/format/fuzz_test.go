package format

import (
	"bytes"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// FuzzBinary reads any bytes as a Binary file: pairs or an error, never a panic,
// and the whole file is read without one.
func FuzzBinary(f *testing.F) {
	var whole bytes.Buffer
	w, err := NewBinaryWriter(&whole)
	if err != nil {
		f.Fatal(err)
	}
	for _, pair := range []string{"a", "", "bc"} {
		if err := w.Write([]byte(pair), bytes.Repeat([]byte(pair), 100)); err != nil {
			f.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(whole.Bytes(), 0, whole.Len())
	f.Add(whole.Bytes(), 30, 10)
	f.Add([]byte(binaryMagic), 0, 8)
	zip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(blockMax))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte, offset, length int) {
		if offset < 0 || length < 0 || offset > len(data) || length > len(data)-offset {
			return
		}
		var at int64
		b := binaryReader{size: int64(len(data)), zip: zip, at: &at, open: func(offset int64) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(data[min(offset, int64(len(data))):])), nil
		}}
		err := b.split(int64(offset), int64(offset+length), func(block []byte, count uint32) error {
			return b.each(block, count, func(_, _ []byte) error { return nil })
		})
		if bytes.Equal(data, whole.Bytes()) && err != nil {
			t.Fatal(err)
		}
	})
}
