// Package proof is where a call's principal comes from: what the connection proved, and
// never what a message says. An Edge stands before every method of gRPC and every page
// over HTTP.
//
//	edge := proof.Edge{Required: true}
//	grpc.NewServer(grpc.Creds(...), grpc.ChainUnaryInterceptor(edge.Unary), grpc.ChainStreamInterceptor(edge.Stream))
//	http.Server{Handler: edge.Pages(mux)}
//
// # What holds
//
// The context of what follows has an auth.Principal (auth.From). Every wire.Principal of
// a message that a handler sees says the same, whatever the sender wrote there. Where
// Required is set nobody is let in who proved nothing. Where it is not, a name that a
// message claims stays, as auth.Unproven.
package proof

import (
	"context"
	"crypto/tls"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
)

// Edge proves who calls. Its zero value proves nothing and lets everybody in. Safe for
// concurrent use.
type Edge struct {
	// Required refuses those who proved nothing.
	Required bool
	// Kind is whom a method is for; nil: all are for users. A launcher and a user may have
	// the same name, so neither is ever taken for the other.
	Kind func(method string) auth.Kind
	// Open tells the methods that need no proof although it is required; nil: none.
	Open func(method string) bool
}

// Prover is what a connection's credentials say of the other end. The gRPC credentials of
// a listener without certificates have their AuthInfo implement it.
type Prover interface{ Principal() auth.Principal }

// Unary is a grpc.UnaryServerInterceptor.
func (e Edge) Unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	who, err := e.caller(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	if m, ok := request.(proto.Message); ok {
		who = settle(m, who)
	}
	return handler(auth.With(ctx, who), request)
}

// Stream is a grpc.StreamServerInterceptor.
func (e Edge) Stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	who, err := e.caller(stream.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	return handler(server, &settledStream{stream, auth.With(stream.Context(), who), who})
}

// settledStream has the principal in its context and in each message.
type settledStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // a stream has its context so
	who auth.Principal
}

func (s *settledStream) Context() context.Context { return s.ctx }

func (s *settledStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if p, ok := m.(proto.Message); ok && err == nil {
		settle(p, s.who)
	}
	return err
}

// caller is who calls, as far as the connection proves it.
func (e Edge) caller(ctx context.Context, method string) (auth.Principal, error) {
	who := unproven
	if p, ok := peer.FromContext(ctx); ok {
		switch info := p.AuthInfo.(type) {
		case credentials.TLSInfo:
			who = ofCertificate(info.State)
		case Prover:
			who = info.Principal()
		}
	}
	if e.Required && !who.Proved() && (e.Open == nil || !e.Open(method)) {
		return who, status.Error(codes.Unauthenticated, "nothing proves who asks: show a certificate of the cluster (auth.certificate, or $HAMADRYAD_AUTH_CERTIFICATE)")
	}
	if kind := e.kind(method); who.Proved() && who.Kind != kind {
		return who, status.Errorf(codes.PermissionDenied, "%s is for a %s, and the %s shown is that of %s %s", method, kind, who.Proof, who.Kind, who.Name)
	}
	return who, nil
}

func (e Edge) kind(method string) auth.Kind {
	if e.Kind == nil {
		return auth.User
	}
	return e.Kind(method)
}

// unproven is who proved nothing. It is taken for a user, as which anybody may come.
var unproven = auth.Principal{Kind: auth.User, Proof: auth.Unproven}

// ofCertificate is the principal of a connection whose handshake was made by this
// project's configurations, which refuse what is no certificate of the cluster.
func ofCertificate(s tls.ConnectionState) auth.Principal {
	id, err := certs.PeerIdentity(s)
	if err != nil {
		return unproven
	}
	who := auth.Principal{Kind: id.Kind, Name: id.Name, Proof: auth.Certificate}
	if id.Kind == auth.User {
		who.Groups = certs.PeerGroups(s)
	}
	return who
}

// Pages has the handler find the principal in its requests' contexts.
func (e Edge) Pages(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := unproven
		if r.TLS != nil {
			who = ofCertificate(*r.TLS)
		}
		if e.Required && !who.Proved() {
			http.Error(w, "nothing proves who asks: show a certificate of the cluster", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r.WithContext(auth.With(r.Context(), who)))
	})
}
