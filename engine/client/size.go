package client

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// checkSize refuses a request that is larger than a manager reads. The manager could only answer
// that the message was too large; here the field is known.
func checkSize(ctx context.Context, method string, q, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, o ...grpc.CallOption) error {
	if m, ok := q.(proto.Message); ok && proto.Size(m) > wire.LauncherMessageBytesMax {
		field, n := wire.LargestField(m)
		return status.Errorf(codes.InvalidArgument, "%s has %d bytes, and no request may have more than %d: shorten it", field, n, wire.LauncherMessageBytesMax)
	}
	return call(ctx, method, q, reply, conn, o...)
}
