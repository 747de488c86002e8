package block

import "fmt"

// Codec is how a block's payload is compressed.
type Codec uint8

// The codecs. A block that compression would hardly make smaller is stored as None,
// whatever the channel's codec is.
const (
	None Codec = iota
	LZ4
	ZSTD
	codecs
)

// DefaultCodec is the codec of a file channel whose author names none.
const DefaultCodec = LZ4

var codecNames = [codecs]string{"none", "lz4", "zstd"}

// String returns the name that ParseCodec reads.
func (c Codec) String() string {
	if c < codecs {
		return codecNames[c]
	}
	return fmt.Sprintf("codec %d", uint8(c))
}

// ParseCodec reads none, lz4 or zstd.
func ParseCodec(name string) (Codec, error) {
	for i, n := range codecNames {
		if n == name {
			return Codec(i), nil
		}
	}
	return None, fmt.Errorf("unknown codec %q: use none, lz4 or zstd", name)
}
