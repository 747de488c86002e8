package serve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/direct"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/rpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// register registers the service. Rounds and answers bypass protobuf messages: package schedwire
// decodes and encodes their bytes.
func register(g *grpc.Server, s *server) {
	desc := rpc.TaskScheduler_ServiceDesc
	desc.Methods = slices.Clone(desc.Methods)
	for i := range desc.Methods {
		if m := &desc.Methods[i]; m.MethodName == "AssignTasks" {
			m.Handler = assignTasks
		}
	}
	desc.Streams = slices.Clone(desc.Streams)
	for i := range desc.Streams {
		if m := &desc.Streams[i]; m.StreamName == "Rounds" {
			m.Handler = rounds
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
	return srv.(*server).answer(ctx, &m)
}

// rounds is the handler of Rounds.
func rounds(srv any, stream grpc.ServerStream) error {
	s := srv.(*server)
	for {
		var m roundMessage
		if err := stream.RecvMsg(&m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		answer, err := s.answer(stream.Context(), &m)
		if err != nil {
			return err
		}
		if err := stream.SendMsg(answer); err != nil {
			return err
		}
	}
}

// takeRounds takes rounds on the socket that the manager made for them, if it did.
func (s *server) takeRounds() {
	c, err := direct.Inherited()
	if err != nil {
		slog.Warn("rounds come by gRPC", "err", err)
	}
	if c == nil {
		return
	}
	go func() {
		defer c.Close()
		if err := c.Serve(schedwire.MessageBytesMax, s.answerBytes); err != nil {
			slog.Warn("the manager's socket of rounds", "err", err)
		}
	}()
}

// answerBytes is answer for an encoded round.
func (s *server) answerBytes(round []byte) ([]byte, *direct.Fault) {
	var m roundMessage
	m.round, m.err = schedwire.ReadRound(round, &m.unknown) // it keeps no reference to the bytes
	answer, err := s.answer(context.Background(), &m)
	if err != nil {
		why := status.Convert(err)
		return nil, &direct.Fault{Code: uint32(why.Code()), Text: why.Message()}
	}
	return answer, nil
}

// answer passes a received round to the policy and returns its answer.
func (s *server) answer(ctx context.Context, m *roundMessage) (answerMessage, error) {
	if m.err != nil {
		return nil, breach(m.err)
	}
	s.unknown.add(&m.unknown)
	return s.assignTasks(ctx, m.round)
}

type (
	// roundMessage is a received round.
	roundMessage struct {
		round   scheduler.Round
		unknown schedwire.Unknown // unknown parts that were skipped
		err     error             // it violates the format
	}
	// answerMessage is an encoded answer to a round.
	answerMessage []byte
)

// codec is protobuf's, except for roundMessage and answerMessage.
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
	m.round, m.err = schedwire.ReadRound(b.ReadOnlyData(), &m.unknown) // it keeps no reference to the bytes
	return nil
}
