package proof_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs/certstest"
	"github.com/hamadryad/hamadryad/engine/auth/proof"
	"github.com/hamadryad/hamadryad/engine/wire"
)

const secret = "s3cret.token"

// taking is an edge that accepts one token, as bob's.
func taking(until time.Time) proof.Edge {
	return proof.Edge{Required: true, Kind: func(method string) auth.Kind {
		if method == "/launchers" {
			return auth.Launcher
		}
		return auth.User
	}, Schemes: map[string]proof.Scheme{
		"bearer": func(_ context.Context, credential string) (auth.Principal, error) {
			if credential != secret {
				return auth.Principal{}, errors.New("no such token")
			}
			return auth.Principal{Kind: auth.User, Name: "bob", Proof: auth.OIDC, Until: until}, nil
		},
		"odd": func(context.Context, string) (auth.Principal, error) {
			return auth.Principal{Kind: auth.Launcher, Name: "bob", Proof: auth.OIDC}, nil
		},
	}}
}

// over is the context of a call with headers over a connection.
func over(ctx context.Context, connection credentials.AuthInfo, headers ...string) context.Context {
	ctx = peer.NewContext(ctx, &peer.Peer{AuthInfo: connection})
	return metadata.NewIncomingContext(ctx, metadata.MD{"authorization": headers})
}

// anonymous is a TLS connection without a certificate.
var anonymous = credentials.TLSInfo{}

// certified is a TLS connection with a certificate.
func certified(t *testing.T, kind auth.Kind, name string) credentials.AuthInfo {
	t.Helper()
	own, err := certstest.New(t).Keys(kind, name).Client(auth.Manager, "").GetClientCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	return credentials.TLSInfo{State: tls.ConnectionState{HandshakeComplete: true, PeerCertificates: []*x509.Certificate{own.Leaf}}}
}

// A header proves a user over TLS, without another proof, and in one spelling. Errors do not repeat
// a refused header.
func TestAHeaderProvesAUser(t *testing.T) {
	e := taking(time.Time{})
	socket := proved{who: ann}
	good := "Bearer " + secret
	for name, c := range map[string]struct {
		connection credentials.AuthInfo
		method     string
		headers    []string
		want       codes.Code
		says       string
	}{
		"a token":                      {anonymous, "/m", []string{good}, codes.OK, ""},
		"the scheme in any case":       {anonymous, "/m", []string{"bEARER  " + secret}, codes.OK, ""},
		"no header":                    {anonymous, "/m", nil, codes.Unauthenticated, "bearer, odd"},
		"another token":                {anonymous, "/m", []string{good + "x"}, codes.Unauthenticated, "no such token"},
		"two headers":                  {anonymous, "/m", []string{good, good}, codes.Unauthenticated, "2 headers"},
		"two in one":                   {anonymous, "/m", []string{good + ", " + good}, codes.Unauthenticated, "in one piece"},
		"another scheme":               {anonymous, "/m", []string{"Basic " + secret}, codes.Unauthenticated, "takes bearer, odd"},
		"no scheme":                    {anonymous, "/m", []string{secret}, codes.Unauthenticated, "in one piece"},
		"an empty one":                 {anonymous, "/m", []string{""}, codes.Unauthenticated, "in one piece"},
		"nothing in it":                {anonymous, "/m", []string{"Bearer "}, codes.Unauthenticated, "in one piece"},
		"a long one":                   {anonymous, "/m", []string{good + strings.Repeat("x", proof.CredentialBytesMax)}, codes.Unauthenticated, "at most"},
		"without TLS":                  {insecureInfo{}, "/m", []string{good}, codes.Unauthenticated, "without TLS"},
		"without anything":             {nil, "/m", []string{good}, codes.Unauthenticated, "without TLS"},
		"at the socket":                {socket, "/m", []string{good}, codes.Unauthenticated, "shown together"},
		"the socket without it":        {socket, "/m", nil, codes.OK, ""},
		"beside a certificate":         {certified(t, auth.User, "bob"), "/m", []string{good}, codes.Unauthenticated, "the certificate of user bob and a header"},
		"a launcher's method":          {anonymous, "/launchers", []string{good}, codes.PermissionDenied, "user bob"},
		"beside a launcher's":          {certified(t, auth.Launcher, "l1"), "/launchers", []string{good}, codes.Unauthenticated, "shown together"},
		"what proves nobody's user":    {anonymous, "/launchers", []string{"odd x"}, codes.Unauthenticated, "proves no user"},
		"a certificate without header": {certified(t, auth.Launcher, "l1"), "/launchers", nil, codes.OK, ""},
	} {
		forged := &wire.JobRef{Principal: &wire.Principal{Name: "root", Proof: auth.Certificate}}
		var seen auth.Principal
		_, err := e.Unary(over(t.Context(), c.connection, c.headers...), forged, &grpc.UnaryServerInfo{FullMethod: c.method}, func(ctx context.Context, _ any) (any, error) {
			seen, _ = auth.From(ctx)
			return nil, nil
		})
		if status.Code(err) != c.want || !strings.Contains(status.Convert(err).Message(), c.says) || err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v, want %v and %q", name, err, c.want, c.says)
		}
		if len(c.headers) > 0 && err == nil && (seen.Name != "bob" || !proto.Equal(forged.Principal, &wire.Principal{Name: "bob", Proof: auth.OIDC})) {
			t.Errorf("%s: %+v, the message says %v", name, seen, forged.Principal)
		}
	}
}

// insecureInfo is a connection without a proof and without TLS.
type insecureInfo struct{}

func (insecureInfo) AuthType() string { return "insecure" }

// The same holds on a page. A header of another scheme is left to the page.
func TestAHeaderProvesAUserOfPages(t *testing.T) {
	e := taking(time.Time{})
	good := "Bearer " + secret
	certificate := certified(t, auth.User, "ann").(credentials.TLSInfo).State
	for name, c := range map[string]struct {
		tls     *tls.ConnectionState
		headers []string
		want    int
		seen    string // principal that the page sees, and the header left for it
	}{
		"a token":                        {&tls.ConnectionState{}, []string{good}, http.StatusOK, "bob "},
		"another token":                  {&tls.ConnectionState{}, []string{good + "x"}, http.StatusUnauthorized, ""},
		"without TLS":                    {nil, []string{good}, http.StatusUnauthorized, ""},
		"two headers":                    {&tls.ConnectionState{}, []string{"own x", good}, http.StatusUnauthorized, ""},
		"beside a certificate":           {&certificate, []string{good}, http.StatusUnauthorized, ""},
		"the page's own":                 {&certificate, []string{"own x"}, http.StatusOK, "ann own x"},
		"the page's own proves nobody":   {&tls.ConnectionState{}, []string{"own x"}, http.StatusUnauthorized, ""},
		"an empty one is not the edge's": {&certificate, []string{""}, http.StatusOK, "ann "},
	} {
		seen := ""
		page := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			caller, _ := auth.From(r.Context())
			seen = caller.Name + " " + r.Header.Get("Authorization")
		})
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.TLS, r.Header["Authorization"] = c.tls, c.headers
		answer := httptest.NewRecorder()
		e.Pages(page).ServeHTTP(answer, r)
		if answer.Code != c.want || seen != c.seen || strings.Contains(answer.Body.String(), secret) {
			t.Errorf("%s: %d %s, the page saw %q", name, answer.Code, answer.Body, seen)
		}
		if asks := answer.Header().Values("WWW-Authenticate"); (c.want == http.StatusUnauthorized) != (strings.Join(asks, ",") == "Bearer,Odd") {
			t.Errorf("%s: it is told to use %q", name, asks)
		}
	}
}

// A stream ends when its caller's proof expires, also if its handler ignores that.
func TestAStreamEndsWithItsProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := taking(time.Now().Add(time.Minute))
		s := &stream{ctx: over(t.Context(), anonymous, "Bearer "+secret)}
		ask := func(handler grpc.StreamHandler) error {
			return e.Stream(nil, s, &grpc.StreamServerInfo{FullMethod: "/m"}, handler)
		}
		if err := ask(func(_ any, s grpc.ServerStream) error { return s.SendMsg(nil) }); err != nil {
			t.Errorf("before its end: %v", err)
		}
		s.passed = 0
		began := time.Now()
		err := ask(func(_ any, s grpc.ServerStream) error { <-s.Context().Done(); return nil })
		if status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), "bob (oidc) ended at") || time.Since(began) != time.Minute {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		for name, pass := range map[string]func(grpc.ServerStream) error{
			"a message out": func(s grpc.ServerStream) error { return s.SendMsg(nil) },
			"a message in":  func(s grpc.ServerStream) error { return s.RecvMsg(nil) },
		} {
			if err := ask(func(_ any, s grpc.ServerStream) error { return pass(s) }); status.Code(err) != codes.Unauthenticated {
				t.Errorf("%s after the end: %v", name, err)
			}
		}
		if s.passed != 0 {
			t.Error("a message left after the end")
		}
	})
}

// stream counts the messages sent.
type stream struct {
	grpc.ServerStream
	ctx    context.Context
	passed int
}

func (s *stream) Context() context.Context { return s.ctx }
func (s *stream) RecvMsg(any) error        { return nil }
func (s *stream) SendMsg(any) error        { s.passed++; return nil }

// Connections without a certificate take none from callers with one. Each connection that closes
// makes room again.
func TestConnectionsOfStrangersAreBounded(t *testing.T) {
	shown := &handshakes{info: anonymous}
	c := proof.WithStrangers(shown, 2).Clone()
	connect := func() (net.Conn, error) {
		conn, _, err := c.ServerHandshake(&counted{})
		return conn, err
	}
	first, err1 := connect()
	_, err2 := connect()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if _, err := connect(); err == nil || !strings.Contains(err.Error(), "2 connections without a certificate") {
		t.Errorf("the third: %v", err)
	}
	shown.info = certified(t, auth.Launcher, "l1")
	if _, err := connect(); err != nil {
		t.Errorf("a launcher beside them: %v", err)
	}
	shown.info = anonymous
	for range 2 { // a connection may be closed twice
		if err := first.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := connect(); err != nil {
		t.Errorf("when one has gone: %v", err)
	}
	if _, err := connect(); err == nil {
		t.Error("one that was closed twice made room for two")
	}
}

// handshakes are a server's, in which the peer shows what the test says.
type handshakes struct {
	credentials.TransportCredentials
	info credentials.AuthInfo
}

func (h *handshakes) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c, h.info, nil
}
func (h *handshakes) Clone() credentials.TransportCredentials { return h }

// counted is a connection that can only be closed.
type counted struct{ net.Conn }

func (*counted) Close() error { return nil }

// A proof that can't be checked yet leads to a retry, and counts as no refusal.
func TestWhatCantBeToldYet(t *testing.T) {
	waits := 0
	e := proof.Edge{Required: true, Schemes: map[string]proof.Scheme{"bearer": func(ctx context.Context, _ string) (auth.Principal, error) {
		if ctx.Err() != nil {
			return auth.Principal{}, fmt.Errorf("not known yet: %w", auth.ErrLater)
		}
		waits++
		return auth.Principal{Kind: auth.User, Name: "bob", Proof: auth.OIDC}, nil
	}}, Refused: func(string, string, error) { t.Error("it is told as refused") }}
	ctx := over(t.Context(), anonymous, "Bearer "+secret)
	_, err := e.Tap(ctx, &tap.Info{FullMethodName: "/m"})
	details := status.Convert(err).Details()
	if status.Code(err) != codes.Unavailable || len(details) != 1 || details[0].(*wire.Failure).GetMessage() == "" {
		t.Errorf("at the headers: %v %v", err, details)
	}
	if _, err := e.Unary(ctx, &wire.Empty{}, &grpc.UnaryServerInfo{FullMethod: "/m"}, func(context.Context, any) (any, error) { return nil, nil }); err != nil || waits != 1 {
		t.Errorf("where it may wait: %v", err)
	}
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil).WithContext(ended(t))
	r.TLS, r.Header = &tls.ConnectionState{}, http.Header{"Authorization": {"Bearer " + secret}}
	answer := httptest.NewRecorder()
	if e.Pages(http.NotFoundHandler()).ServeHTTP(answer, r); answer.Code != http.StatusServiceUnavailable {
		t.Errorf("a page: %d", answer.Code)
	}
}

func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// A caller proven by Tap is not proven again, and a refusal by Tap is reported once.
func TestTheTapProvesBeforeAMessage(t *testing.T) {
	e := taking(time.Time{})
	var told []string
	e.Refused = func(_, method string, why error) { told = append(told, method+": "+why.Error()) }
	if _, err := e.Tap(over(t.Context(), anonymous, "Bearer x"), &tap.Info{FullMethodName: "/m"}); status.Code(err) != codes.Unauthenticated || len(told) != 1 || !strings.Contains(told[0], "no such token") {
		t.Errorf("%v, told %q", err, told)
	}
	ctx, err := e.Tap(over(t.Context(), anonymous, "Bearer "+secret), &tap.Info{FullMethodName: "/m"})
	if err != nil {
		t.Fatal(err)
	}
	e.Schemes["bearer"] = func(context.Context, string) (auth.Principal, error) { return auth.Principal{}, errors.New("again") }
	if _, err := e.Unary(ctx, &wire.Empty{}, &grpc.UnaryServerInfo{FullMethod: "/m"}, func(ctx context.Context, _ any) (any, error) {
		if caller, _ := auth.From(ctx); caller.Name != "bob" {
			t.Errorf("the handler sees %+v", caller)
		}
		return nil, nil
	}); err != nil {
		t.Error(err)
	}
}
