package plan

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// graphMagic begins the blob of a graph, whose layout is otherwise a plan's.
const graphMagic = "HGRF"

// EncodeGraph writes a graph as a blob. Equal graphs give equal bytes.
func EncodeGraph(g *wire.Graph) ([]byte, error) {
	message, err := proto.MarshalOptions{Deterministic: true}.Marshal(g)
	if err != nil {
		return nil, fmt.Errorf("encode graph: %w", err)
	}
	if len(message) > wire.GraphBytesMax {
		return nil, fmt.Errorf("the graph takes %d bytes, more than %d: use larger splits (job.Files.SplitBytes)", len(message), wire.GraphBytesMax)
	}
	return seal(graphMagic, message)
}

// DecodeGraph reads a blob that EncodeGraph wrote. Whatever the blob holds, it takes no more memory
// than a graph of wire.GraphBytesMax bytes.
func DecodeGraph(blob []byte) (*wire.Graph, error) {
	message, err := unseal(graphMagic, blob, wire.GraphBytesMax)
	if err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	g := &wire.Graph{}
	if err := proto.Unmarshal(message, g); err != nil {
		return nil, fmt.Errorf("graph: %w: %w", ErrDamaged, err)
	}
	shareNames(g)
	return g, nil
}

// shareNames keeps one string for each host and rack: a large graph names a few of them millions of
// times.
func shareNames(g *wire.Graph) {
	names := map[string]string{}
	share := func(s *string) {
		if one, ok := names[*s]; ok {
			*s = one
			return
		}
		names[*s] = *s
	}
	for _, s := range g.Stages {
		for _, in := range s.GetInputs() {
			for _, p := range in.GetPlaces() {
				share(&p.Host)
				share(&p.Rack)
			}
		}
	}
}

// seal makes a blob of a message: magic, version and the checksum of the rest, then the message in
// one zstd frame.
func seal(magic string, message []byte) ([]byte, error) {
	compress, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	defer compress.Close()
	blob := make([]byte, headerSize, headerSize+len(message)/4)
	blob = compress.EncodeAll(message, blob)
	copy(blob, magic)
	blob[len(magic)] = version
	binary.LittleEndian.PutUint32(blob[len(magic)+1:], crc32.Checksum(blob[headerSize:], castagnoli))
	return blob, nil
}

// unseal returns the message of a blob.
func unseal(magic string, blob []byte, most int) ([]byte, error) {
	packed, err := opened(magic, blob)
	if err != nil {
		return nil, err
	}
	expand, err := expander(packed)
	if err != nil {
		return nil, err
	}
	defer expand.Close()
	var message bytes.Buffer
	var head zstd.Header
	if head.Decode(packed) == nil && head.HasFCS && head.FrameContentSize <= uint64(most) {
		// A growing buffer takes three times as much memory. Grow itself takes twice as much under
		// the race detector.
		message = *bytes.NewBuffer(make([]byte, 0, int(head.FrameContentSize)+bytes.MinRead))
	}
	if n, err := io.Copy(&message, io.LimitReader(expand, int64(most)+1)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	} else if n > int64(most) {
		return nil, fmt.Errorf("it takes more than %d bytes when it is expanded", most)
	}
	return message.Bytes(), nil
}

// opened checks a blob's header and returns the frame behind it.
func opened(magic string, blob []byte) ([]byte, error) {
	if len(blob) < headerSize || string(blob[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: it does not begin as it should", ErrDamaged)
	}
	if v := blob[len(magic)]; v != version {
		return nil, fmt.Errorf("it has version %d and this program reads version %d: start the version of Hamadryad that the program was built with, or build the program with this one", v, version)
	}
	packed := blob[headerSize:]
	if binary.LittleEndian.Uint32(blob[len(magic)+1:]) != crc32.Checksum(packed, castagnoli) {
		return nil, fmt.Errorf("%w: wrong checksum", ErrDamaged)
	}
	return packed, nil
}

// expander reads the message of a frame.
func expander(packed []byte) (*zstd.Decoder, error) {
	expand, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("expand: %w", err)
	}
	return expand, nil
}
