package client

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/hamadryad/hamadryad/engine/auth"
)

// ForVariable is the environment variable that names the user in whose name a program calls. The
// manager's configuration (auth.impersonators) says which users may do so.
const ForVariable = "HAMADRYAD_FOR"

// actsFor is the user in whose name a client calls; "": its own user.
type actsFor string

func (f actsFor) said(ctx context.Context) context.Context {
	if f == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, auth.ActsForKey, string(f))
}

func (f actsFor) unary(ctx context.Context, method string, q, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, o ...grpc.CallOption) error {
	return call(f.said(ctx), method, q, reply, conn, o...)
}

func (f actsFor) stream(ctx context.Context, d *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, o ...grpc.CallOption) (grpc.ClientStream, error) {
	return open(f.said(ctx), d, conn, method, o...)
}
