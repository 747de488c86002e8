package proof

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/auth"
)

// Stream is a grpc.StreamServerInterceptor.
func (e Edge) Stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	caller, err := e.caller(stream.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	ctx := auth.With(stream.Context(), caller)
	if !caller.Until.IsZero() {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadlineCause(ctx, caller.Until, errOver)
		defer stop()
	}
	err = handler(server, &settledStream{stream, ctx, caller})
	if errors.Is(context.Cause(ctx), errOver) { // whatever the handler made of the end of its context
		return over(caller)
	}
	return err
}

// errOver ends the context of a stream whose proof has expired.
var errOver = errors.New("the proof of who asks ended")

// over is the error for a client whose proof has expired: it must get a new one.
func over(caller auth.Principal) error {
	return status.Errorf(codes.Unauthenticated, "what proved %s (%s) ended at %s, and the stream with it: get a new one, and ask again", caller.Name, caller.Proof, caller.Until.UTC().Format(time.RFC3339))
}

// settledStream has the principal in its context and in each message. No message passes after the
// proof has expired.
type settledStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // a stream has its context so
	who auth.Principal
}

func (s *settledStream) Context() context.Context { return s.ctx }

func (s *settledStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if err == nil && errors.Is(context.Cause(s.ctx), errOver) {
		return over(s.who)
	}
	if p, ok := m.(proto.Message); ok && err == nil {
		setPrincipal(p, s.who)
	}
	return err
}

func (s *settledStream) SendMsg(m any) error {
	if errors.Is(context.Cause(s.ctx), errOver) {
		return over(s.who)
	}
	return s.ServerStream.SendMsg(m)
}
