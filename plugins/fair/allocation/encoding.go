package allocation

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"
)

// The byte order marks of the supported encodings.
var (
	markUTF8    = []byte("\xef\xbb\xbf")
	markUTF16BE = []byte("\xfe\xff")
	markUTF16LE = []byte("\xff\xfe")
)

// errUTF16 is the error for a text with bytes of 0 and no byte order mark.
var errUTF16 = errors.New("the file has bytes of 0, as UTF-16 without a byte order mark: save it as UTF-8")

// decoded returns a text as UTF-8 without its byte order mark, and whether it had one. XML
// without a mark is unchanged, because it declares its encoding itself.
func decoded(data []byte) (text []byte, marked bool, err error) {
	switch {
	case bytes.HasPrefix(data, markUTF8):
		return data[len(markUTF8):], true, nil
	case bytes.HasPrefix(data, markUTF16BE), bytes.HasPrefix(data, markUTF16LE):
		text, err = unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Bytes(data)
		return text, true, err
	case bytes.IndexByte(data, 0) >= 0:
		return nil, false, errUTF16
	}
	return data, false, nil
}

// charsetReader decodes XML in the encoding that it names.
func charsetReader(marked bool) func(label string, from io.Reader) (io.Reader, error) {
	return func(label string, from io.Reader) (io.Reader, error) {
		if marked { // already decoded by its mark
			return from, nil
		}
		to, err := charset.NewReaderLabel(label, from)
		if err != nil {
			return nil, fmt.Errorf("the encoding %q is unknown: save the file as UTF-8, and say so in its first line", label)
		}
		return to, nil
	}
}
