package manager

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/auth/certs/certstest"
	"github.com/hamadryad/hamadryad/engine/auth/oidc"
	"github.com/hamadryad/hamadryad/engine/auth/oidc/oidctest"
	"github.com/hamadryad/hamadryad/engine/auth/proof"
	"github.com/hamadryad/hamadryad/engine/manager/internal/limits"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
)

// tokened is a manager that takes tokens of an issuer, and a connection to it without a
// certificate.
type tokened struct {
	*testbed
	ca     *certstest.CA
	issuer *oidctest.Issuer
	bare   *certs.Keys
}

// newTokened starts one, in which members of staff are administrators.
func newTokened(t *testing.T) *tokened {
	t.Helper()
	b, ca := newClosed(t)
	b.stop()
	x := &tokened{b, ca, oidctest.New(t), nil}
	tokens := oidc.New(oidc.Settings{Issuer: x.issuer.URL, Audience: oidctest.Audience, CA: x.issuer.CA}, oidc.Options{Log: slog.New(slog.NewTextHandler(b.log, nil))})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { tokens.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	b.cfg.Schemes = map[string]proof.Scheme{oidc.Scheme: tokens.Prove}
	b.cfg.Core.Access = rules(t, "roles: {administrator: {groups: [staff]}}\nrevoked: {user/eve: always}")
	b.start()
	var err error
	if x.bare, err = certs.Trust(filepath.Join(ca.Folder, certs.FileCA), certs.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Prove(x.ctx(), x.issuer.Token("ann")); err != nil { // the keys are loaded from here on
		t.Fatal(err)
	}
	return x
}

// by has the requests that follow bring a token, "" for none, over a connection with a
// certificate or without.
func (x *tokened) by(keys *certs.Keys, token string) {
	x.t.Helper()
	x.conn.Close()
	o := []grpc.DialOption{grpc.WithTransportCredentials(credentials.NewTLS(keys.Client(auth.Manager, "m")))}
	if token != "" {
		o = append(o, grpc.WithPerRPCCredentials(header("Bearer "+token)))
	}
	conn, err := grpc.NewClient("passthrough:///"+x.cfg.Listen, o...)
	if err != nil {
		x.t.Fatal(err)
	}
	x.conn, x.api = conn, rpc.NewManagerClient(conn)
}

// header is the Authorization header of each call.
type header string

func (h header) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": string(h)}, nil
}
func (header) RequireTransportSecurity() bool { return true }

// jobs asks for the jobs.
func (x *tokened) jobs() error {
	_, err := x.api.Jobs(x.ctx(), &wire.JobsRequest{})
	return err
}

func (x *tokened) audit() string {
	x.t.Helper()
	text, err := os.ReadFile(filepath.Join(x.cfg.Data, "audit", "audit.jsonl"))
	if err != nil {
		x.t.Fatal(err)
	}
	return string(text)
}

// The caller with a token is the user in it, with its groups; without a token there is no answer.
func TestATokenProvesAUser(t *testing.T) {
	x := newTokened(t)
	staff := x.issuer.Token("ann", "staff")
	x.by(x.bare, staff)
	job := x.submit(1) // she says that she is me
	st, err := x.api.Status(x.ctx(), &wire.StatusRequest{Job: job})
	if err != nil || st.Summary.User != "ann" {
		t.Errorf("the job is that of %q (%v), want ann", st.GetSummary().GetUser(), err)
	}
	if text := x.audit(); !strings.Contains(text, `"who":"ann","groups":["staff"],"proof":"oidc"`) {
		t.Errorf("the audit says\n%s", text)
	}
	if _, err := x.api.Jobs(metadata.AppendToOutgoingContext(x.ctx(), "authorization", "Bearer "+staff), &wire.JobsRequest{}); status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), "2 headers") {
		t.Errorf("two tokens: %v", err)
	}
	for what, c := range map[string]struct {
		token string
		want  codes.Code
		says  string
	}{
		"no token":           {"", codes.Unauthenticated, "nothing proves who asks"},
		"a stranger's":       {oidctest.New(t).Token("ann", "staff"), codes.Unauthenticated, "provider"},
		"bob's":              {x.issuer.Token("bob"), codes.PermissionDenied, "bob"},
		"one that is stolen": {x.issuer.Token("eve", "staff"), codes.PermissionDenied, "the token of user eve is revoked"},
	} {
		x.by(x.bare, c.token)
		if err := x.jobs(); status.Code(err) != c.want || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if text := x.audit(); !strings.Contains(text, `"proof":"unproven"`) || strings.Contains(text, `"time":""`) || !strings.Contains(text, "nothing proves who asks") || strings.Contains(text, strings.Split(staff, ".")[2]) {
		t.Errorf("the audit says\n%s", text)
	}
	x.by(x.ca.KeysIn("ann", "staff"), staff)
	if err := x.jobs(); status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), "shown together") {
		t.Errorf("a token beside a certificate: %v", err)
	}
	x.by(x.ca.KeysIn("ann", "staff"), "")
	if err := x.jobs(); err != nil {
		t.Errorf("a certificate as before: %v", err)
	}
}

// Launchers' methods require a launcher's certificate, whatever a token says.
func TestATokenIsNoLaunchers(t *testing.T) {
	x := newTokened(t)
	for token, want := range map[string]codes.Code{x.issuer.Token("l1", "staff"): codes.PermissionDenied, "": codes.Unauthenticated} {
		x.by(x.bare, token)
		stream, err := rpc.NewLaunchersClient(x.conn).Connect(x.ctx())
		if err == nil {
			_, err = stream.Recv()
		}
		if status.Code(err) != want {
			t.Errorf("a launcher joined with the token %q: %v", token, err)
		}
	}
	if err := x.joinWith(x.ca.Keys(auth.User, "l1"), "l1"); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a user's certificate: %v", err)
	}
	if err := x.joinWith(x.ca.Keys(auth.Launcher, "l1"), "l1"); err != nil {
		t.Errorf("a launcher: %v", err)
	}
	x.by(certstest.New(t).Keys(auth.User, "ann"), x.issuer.Token("ann", "staff"))
	if err := x.jobs(); status.Code(err) != codes.Unavailable {
		t.Errorf("a token beside a foreign CA's certificate: %v", err)
	}
}

// Messages of unauthenticated callers are not read: the error says that the caller is not
// authenticated, and not that the message is too large.
func TestStrangersMessagesAreNotRead(t *testing.T) {
	x := newTokened(t)
	large := &wire.DrainRequest{Launcher: strings.Repeat("x", 2*limits.RequestBytesMax)}
	for token, want := range map[string]codes.Code{x.issuer.Token("ann", "staff"): codes.InvalidArgument, "": codes.Unauthenticated, "garbage": codes.Unauthenticated} {
		x.by(x.bare, token)
		if _, err := x.api.Drain(x.ctx(), large); status.Code(err) != want {
			t.Errorf("with the token %q: %v", token, err)
		}
	}
	x.by(x.bare, strings.Repeat("x", headersMax))
	if err := x.jobs(); err == nil || !strings.Contains(err.Error(), "header list size") {
		t.Errorf("headers without a bound: %v", err)
	}
}

// A stream ends with its token.
func TestAStreamEndsWithItsToken(t *testing.T) {
	x := newTokened(t)
	x.by(x.bare, x.issuer.Token("ann", "staff"))
	job := x.submit(1)
	ends := time.Now().Add(2 * time.Second).Truncate(time.Second)
	x.by(x.bare, oidctest.Sign(t, oidctest.RSA("rsa-1"), x.issuer.Claims("ann", map[string]any{"groups": []string{"staff"}, "exp": ends.Add(-oidc.Leeway).Unix()})))
	stream, err := x.api.Watch(x.ctx(), &wire.StatusRequest{Job: job})
	for err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), "ann (oidc) ended at") {
		t.Errorf("the stream ended with: %v", err)
	}
}

// A monitoring system may read the metrics with a token of its own.
func TestPagesByToken(t *testing.T) {
	x := newTokened(t)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(x.ca.Text())
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "m"}, DisableKeepAlives: true}} // as in Prometheus's configuration
	for what, c := range map[string]struct {
		header string
		want   int
	}{
		"staff": {"Bearer " + x.issuer.Token("prometheus", "staff"), http.StatusOK}, "no role": {"Bearer " + x.issuer.Token("prometheus"), http.StatusForbidden},
		"nobody": {"", http.StatusUnauthorized}, "garbage": {"Bearer garbage", http.StatusUnauthorized},
	} {
		q, err := http.NewRequestWithContext(x.ctx(), http.MethodGet, "https://"+x.http+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.header != "" {
			q.Header.Set("Authorization", c.header)
		}
		answer, err := web.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.want || c.want == http.StatusUnauthorized && answer.Header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: %s, %v", what, answer.Status, answer.Header)
		}
	}
	answer, err := web.Get("https://" + x.http + "/api/v1/cluster")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var p struct{ Detail string }
	if err := json.NewDecoder(answer.Body).Decode(&p); err != nil || answer.StatusCode != http.StatusUnauthorized || answer.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(p.Detail, "nothing proves who asks") {
		t.Errorf("a program is told %s, %v: %+v (%v)", answer.Status, answer.Header, p, err)
	}
}
