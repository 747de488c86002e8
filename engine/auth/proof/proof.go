// Package proof finds the principal of a call: from its connection, or from a header that proves
// itself, and never from a message. An Edge wraps every method of gRPC and every page over HTTP.
//
//	edge := proof.Edge{Required: true}
//	grpc.NewServer(grpc.Creds(...), grpc.InTapHandle(edge.Tap), grpc.ChainUnaryInterceptor(edge.Unary), grpc.ChainStreamInterceptor(edge.Stream))
//	http.Server{Handler: edge.Pages(mux)}
//
// # Invariants
//
// Handlers find an auth.Principal in the context (auth.From). Every wire.Principal in a message
// that a handler sees is overwritten with it. Where Required is set, unproven callers are refused.
// Otherwise the name that a message claims stays, as auth.Unproven.
//
// A call has one proof. With Schemes, the header "authorization" counts where the connection proves
// nothing and is TLS. Beside a certificate, or at a socket where the kernel names the caller, it is
// refused. So neither overrides the other unseen. Where the proof expires (auth.Principal.Until), a
// stream ends with it: its context ends, and no later message passes.
//
// Where a scheme is configured, the manager's port and pages take a bounded number of connections
// without a certificate. Headers are judged before a message of a stranger is read (Edge.Tap), and
// the audit has these refusals too. A header that comes twice is refused. A scheme never waits
// there: when it would have to, the client gets an error to retry, and does. Methods of launchers
// refuse users, and all others refuse launchers. With auth.mode off a claimed name stays, marked as
// unproven; then the manager may listen on no address that others can reach. At manager.socket the
// kernel's SO_PEERCRED is the proof, with the system's groups.
package proof

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
)

// Edge finds and proves the caller. Its zero value proves nothing and lets every caller in. Safe
// for concurrent use.
type Edge struct {
	// Required refuses unproven callers.
	Required bool
	// Kind is the kind of caller that a method is for; nil: all methods are for users. A launcher
	// and a user may have the same name, so neither is ever taken for the other.
	Kind func(method string) auth.Kind
	// Open reports the methods that need no proof even when Required is set; nil: none.
	Open func(method string) bool
	// Schemes prove users by the header "authorization". The key is the header's first word in
	// lower case, such as "bearer". None: the header is ignored. On pages a header with another
	// word is ignored, too: it may be for the server of the page.
	Schemes map[string]Scheme
	// Refused is called for each call that Tap refused, with the address it came from. Strangers
	// can cause any number of these calls; nil: no callback.
	Refused func(from, method string, why error)
	// Wrong is called with the caller of a method for another kind, before the call is refused;
	// nil: no callback.
	Wrong func(ctx context.Context, caller auth.Principal)
	// Tell answers a request for a page by an unproven caller; nil: in plain text.
	Tell func(w http.ResponseWriter, r *http.Request, code int, why string)
}

// Prover gives the principal that a connection's credentials prove. The gRPC credentials of a
// listener without certificates have their AuthInfo implement it.
type Prover interface{ Principal() auth.Principal }

// Unary is a grpc.UnaryServerInterceptor.
func (e Edge) Unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	caller, err := e.caller(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	if m, ok := request.(proto.Message); ok {
		caller = setPrincipal(m, caller)
	}
	return handler(auth.With(ctx, caller), request)
}

// caller is the caller as the connection or a header proves it. The method must be for callers of
// that kind.
func (e Edge) caller(ctx context.Context, method string) (auth.Principal, error) {
	caller, tapped := ctx.Value(tappedKey{}).(auth.Principal)
	if !tapped {
		var err error
		if caller, err = e.prove(ctx, method); err != nil {
			return caller, err
		}
	}
	if kind := e.kind(method); caller.Proved() && caller.Kind != kind {
		if e.Wrong != nil {
			e.Wrong(ctx, caller)
		}
		return caller, status.Errorf(codes.PermissionDenied, "%s is for a %s, and the %s shown is that of %s %s", method, kind, caller.Proof, caller.Kind, caller.Name)
	}
	return caller, nil
}

// prove is the caller, whatever the method. The error is a gRPC status.
func (e Edge) prove(ctx context.Context, method string) (auth.Principal, error) {
	caller, secure := ofConnection(ctx)
	if all := metadata.ValueFromIncomingContext(ctx, headerName); len(all) > 0 && len(e.Schemes) > 0 {
		var err error
		if caller, err = e.shown(ctx, all, caller, secure); err != nil {
			return caller, refusal(err)
		}
	}
	if e.Required && !caller.Proved() && (e.Open == nil || !e.Open(method)) {
		return caller, status.Error(codes.Unauthenticated, "nothing proves who asks: show a certificate of the cluster (auth.certificate, or $HAMADRYAD_AUTH_CERTIFICATE)"+e.orElse())
	}
	return caller, nil
}

// ofConnection is the caller whom the connection proves, and whether the connection is TLS.
func ofConnection(ctx context.Context) (caller auth.Principal, secure bool) {
	if p, ok := peer.FromContext(ctx); ok {
		_, secure = p.AuthInfo.(credentials.TLSInfo)
		return OfHandshake(p.AuthInfo), secure
	}
	return unproven, false
}

// OfHandshake is the caller whom the handshake of a connection proved.
func OfHandshake(info credentials.AuthInfo) auth.Principal {
	switch info := info.(type) {
	case credentials.TLSInfo:
		return ofCertificate(info.State)
	case Prover:
		return info.Principal()
	}
	return unproven
}

func (e Edge) kind(method string) auth.Kind {
	if e.Kind == nil {
		return auth.User
	}
	return e.Kind(method)
}

// unproven is a caller without a proof. It counts as a user, as which anybody may come.
var unproven = auth.Principal{Kind: auth.User, Proof: auth.Unproven}

// ofCertificate is the principal of a connection whose handshake was made by package certs'
// configurations, which refuse certificates of other CAs.
func ofCertificate(s tls.ConnectionState) auth.Principal {
	id, err := certs.PeerIdentity(s)
	if err != nil {
		return unproven
	}
	caller := auth.Principal{Kind: id.Kind, Name: id.Name, Proof: auth.Certificate, Issued: certs.PeerIssued(s)}
	if id.Kind == auth.User {
		caller.Groups = certs.PeerGroups(s)
	}
	return caller
}

// Pages puts the principal into the contexts of the handler's requests.
func (e Edge) Pages(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller := unproven
		if r.TLS != nil {
			caller = ofCertificate(*r.TLS)
		}
		var err error
		if all := r.Header.Values(headerName); e.ours(all) {
			caller, err = e.shown(r.Context(), all, caller, r.TLS != nil)
			r.Header.Del(headerName) // no handler may see it
		}
		if err == nil && e.Required && !caller.Proved() {
			err = errors.New("nothing proves who asks: show a certificate of the cluster" + e.orElse())
		}
		if err != nil {
			e.challenge(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(auth.With(r.Context(), caller)))
	})
}
