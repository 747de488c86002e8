package limits

import (
	"google.golang.org/grpc/encoding"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// Codec is gRPC's for protobuf, but it drops unknown fields: they would be kept with the message,
// and fill the event log.
type Codec struct{ encoding.CodecV2 }

// NewCodec returns it.
func NewCodec() Codec { return Codec{encoding.GetCodecV2(encodingproto.Name)} }

// Unmarshal implements encoding.CodecV2.
func (c Codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	b := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer b.Free()
	return proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(b.ReadOnlyData(), m)
}
