package serve

import (
	"context"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/rpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// register registers the service. A round does not become a protobuf message on its
// way: package schedwire reads it from the bytes, and makes the answer's.
func register(g *grpc.Server, s *server) {
	desc := rpc.Policy_ServiceDesc
	desc.Methods = slices.Clone(desc.Methods)
	for i := range desc.Methods {
		if m := &desc.Methods[i]; m.MethodName == "AssignTasks" {
			m.Handler = assignTasks
		}
	}
	g.RegisterService(&desc, s)
}

// assignTasks is the handler of AssignTasks.
func assignTasks(srv any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	var m roundMessage
	if err := decode(&m); err != nil {
		return nil, err
	}
	if m.err != nil {
		return nil, breach(m.err)
	}
	s := srv.(*server)
	s.unknown.add(&m.unknown)
	return s.assignTasks(ctx, m.round)
}

type (
	// roundMessage is a round that was received.
	roundMessage struct {
		round   scheduler.Round
		unknown schedwire.Unknown // what was skipped of it
		err     error             // it does not keep the format
	}
	// answerMessage is an answer to it, encoded.
	answerMessage []byte
)

// codec is protobuf's, but for these two.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(proto.Name)} }

// Marshal encodes any message.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.(answerMessage); ok {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// Unmarshal decodes any message.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*roundMessage)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	b := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer b.Free()
	m.round, m.err = schedwire.ReadRound(b.ReadOnlyData(), &m.unknown) // which keeps nothing of the bytes
	return nil
}
