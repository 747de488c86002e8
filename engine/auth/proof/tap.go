package proof

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/wire"
)

type tappedKey struct{}

// Tap is a tap.ServerInHandle. It refuses unproven callers by the headers alone, before their
// message is read: for unary methods the interceptors run after that. It is needed with Schemes;
// without them such connections were refused before.
func (e Edge) Tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	atOnce, end := context.WithCancel(ctx)
	end() // the connection's other calls wait meanwhile
	caller, err := e.prove(atOnce, info.FullMethodName)
	if err != nil {
		from := ""
		if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
			from = p.Addr.String()
		}
		if e.Refused != nil && status.Code(err) != codes.Unavailable {
			e.Refused(from, info.FullMethodName, err)
		}
		return ctx, err
	}
	return context.WithValue(ctx, tappedKey{}, caller), nil
}

// refusal is the gRPC status for an error about a header. If the proof can't be checked yet, the
// client shall retry, as after every answer by which a manager makes calls wait.
func refusal(err error) error {
	if !errors.Is(err, auth.ErrLater) {
		return status.Error(codes.Unauthenticated, err.Error())
	}
	later := status.New(codes.Unavailable, err.Error())
	if full, detailed := later.WithDetails(&wire.Failure{Message: err.Error()}); detailed == nil {
		later = full
	}
	return later.Err()
}

// WithStrangers makes TLS server credentials take at most so many connections without a certificate
// at a time. So they take none from others.
func WithStrangers(secure credentials.TransportCredentials, most int64) credentials.TransportCredentials {
	return strangers{secure, most, &atomic.Int64{}}
}

type strangers struct {
	credentials.TransportCredentials
	most int64
	open *atomic.Int64
}

// ServerHandshake implements credentials.TransportCredentials.
func (s strangers) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := s.TransportCredentials.ServerHandshake(raw)
	if t, ok := info.(credentials.TLSInfo); err != nil || !ok || len(t.State.PeerCertificates) > 0 {
		return conn, info, err
	}
	if s.open.Add(1) > s.most {
		s.open.Add(-1)
		return nil, nil, errors.Join(fmt.Errorf("there are %d connections without a certificate already", s.most), conn.Close())
	}
	return &stranger{Conn: conn, gone: sync.OnceFunc(func() { s.open.Add(-1) })}, info, nil
}

// Clone implements credentials.TransportCredentials.
func (s strangers) Clone() credentials.TransportCredentials {
	return strangers{s.TransportCredentials.Clone(), s.most, s.open}
}

// stranger is a connection that is counted until it is closed.
type stranger struct {
	net.Conn
	gone func()
}

// Close implements net.Conn.
func (s *stranger) Close() error {
	s.gone()
	return s.Conn.Close()
}
