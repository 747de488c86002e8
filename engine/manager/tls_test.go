package manager

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/auth/certs/certstest"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
)

// newClosed is a manager that nobody talks to without a certificate, and with one may do
// everything. The testbed's own
// connection is ann's.
func newClosed(t *testing.T) (*testbed, *certstest.CA) {
	t.Helper()
	return newClosedWith(t, func(*Config) {})
}

// newClosedWith is newClosed with another configuration.
func newClosedWith(t *testing.T, change func(*Config)) (*testbed, *certstest.CA) {
	t.Helper()
	ca := certstest.New(t)
	b := newTestbed(t)
	var err error
	if b.cfg.Keys, err = certs.Open(ca.Files(auth.Manager, "m"), certs.Options{Log: b.cfg.Log}); err != nil {
		t.Fatal(err)
	}
	b.cfg.Core.Access = rules(t, `roles: {administrator: {users: ["*"]}}`)
	change(&b.cfg)
	b.start()
	b.as(ca.Keys(auth.User, "ann"))
	return b, ca
}

// as has the testbed's connection show another certificate.
func (b *testbed) as(keys *certs.Keys) {
	b.t.Helper()
	b.conn.Close()
	conn, err := grpc.NewClient("passthrough:///"+b.cfg.Listen, grpc.WithTransportCredentials(credentials.NewTLS(keys.Client(auth.Manager, "m"))))
	if err != nil {
		b.t.Fatal(err)
	}
	b.conn, b.api = conn, rpc.NewManagerClient(conn)
}

// A caller without a certificate of the cluster gets no answer, and each such line in the log has
// the reason.
func TestStrangersGetNoAnswer(t *testing.T) {
	b, ca := newClosed(t)
	if _, err := b.api.Jobs(b.ctx(), &wire.JobsRequest{}); err != nil {
		t.Fatal(err)
	}
	b.as(certstest.New(t).Keys(auth.User, "ann"))
	if _, err := b.api.Jobs(b.ctx(), &wire.JobsRequest{}); status.Code(err) != codes.Unavailable {
		t.Errorf("a foreign CA: %v", err)
	}
	plain, err := http.Get("http://" + b.http + "/metrics")
	if err == nil {
		defer plain.Body.Close()
		if plain.StatusCode != http.StatusBadRequest { // Go's server says that it speaks TLS
			t.Errorf("metrics without TLS: %s", plain.Status)
		}
	}
	for name, c := range map[string]struct {
		keys *certs.Keys
		good bool
	}{
		"a user": {ca.Keys(auth.User, "prometheus"), true}, "a launcher": {ca.Keys(auth.Launcher, "l1"), false}, "a foreign CA": {certstest.New(t).Keys(auth.User, "ann"), false},
	} {
		config := c.keys.Client(auth.Manager, "")
		if !c.good {
			config.VerifyConnection = nil
		}
		web := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
		answer, err := web.Get("https://" + b.http + "/metrics")
		if got := err == nil && answer.StatusCode == http.StatusOK; got != c.good {
			t.Errorf("metrics for %s: %v, %v", name, answer, err)
		}
		if c.good {
			if text, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(text), "hamadryad_certificate_expiry_timestamp_seconds") {
				t.Errorf("metrics don't tell when the certificate ends: %v", err)
			}
		}
		if err == nil {
			answer.Body.Close()
		}
	}
	if log := b.log.String(); !strings.Contains(log, "signed by another CA") || !strings.Contains(log, "here a user is wanted") {
		t.Errorf("the log says\n%s", log)
	}
}

// The principal is that of the certificate, whatever the message says.
func TestAForgedPrincipalIsOverwritten(t *testing.T) {
	b, ca := newClosed(t)
	job := b.submit(1) // by ann, who claims to be me
	st, err := b.api.Status(b.ctx(), &wire.StatusRequest{Job: job})
	if err != nil || st.Summary.User != "ann" {
		t.Errorf("the job is that of %q (%v), want ann", st.GetSummary().GetUser(), err)
	}
	b.as(ca.Keys(auth.User, "eve"))
	if _, err := b.api.Kill(b.ctx(), &wire.JobRef{Job: job, Principal: &wire.Principal{Name: "ann", Proof: auth.Certificate, Role: "admin"}, Reason: "mine"}); err != nil {
		t.Fatal(err)
	}
	b.joinWith(ca.Keys(auth.Launcher, "l1"), "l1")
	if st := b.follow(job); !strings.Contains(st.String(), "killed by eve: mine") {
		t.Errorf("it was killed by another: %v", st)
	}
}

// Users are no launchers, launchers no users, and each launcher has the name in its certificate.
func TestKindsAndNamesAreKeptApart(t *testing.T) {
	b, ca := newClosed(t)
	if err := b.joinWith(ca.Keys(auth.User, "l1"), "l1"); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a user joined as a launcher: %v", err)
	}
	if err := b.joinWith(ca.Keys(auth.Launcher, "l1"), "l2"); err == nil || !strings.Contains(err.Error(), `the certificate is that of launcher "l1", and it joins as "l2"`) {
		t.Errorf("a launcher joined under another name: %v", err)
	}
	if err := b.joinWith(ca.Keys(auth.Launcher, "l1"), "l1"); err != nil {
		t.Errorf("a launcher under its own name: %v", err)
	}
	stream, err := rpc.NewLaunchersClient(b.conn).FetchBlob(b.ctx(), &wire.BlobQuery{Hash: b.upload("program")})
	if err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.PermissionDenied {
		t.Errorf("a user fetched a program: %v", err)
	}
	b.as(ca.Keys(auth.Launcher, "ann"))
	if _, err := b.api.Jobs(b.ctx(), &wire.JobsRequest{}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("launcher ann was taken for user ann: %v", err)
	}
}

// joinWith joins with a certificate, and says how that went.
func (b *testbed) joinWith(keys *certs.Keys, name string) error {
	b.t.Helper()
	_, err := b.streamWith(keys, name)
	return err
}

// launcherStream is a launcher's, behind the answer to its join.
type launcherStream = grpc.BidiStreamingClient[wire.FromLauncher, wire.ToLauncher]

func (b *testbed) streamWith(keys *certs.Keys, name string) (launcherStream, error) {
	b.t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+b.cfg.Listen, grpc.WithTransportCredentials(credentials.NewTLS(keys.Client(auth.Manager, "m"))))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { conn.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), waitMax)
	b.t.Cleanup(cancel)
	stream, err := rpc.NewLaunchersClient(conn).Connect(ctx)
	if err != nil {
		return nil, err
	}
	join := &wire.Join{Name: name, Identity: name, Incarnation: uint64(time.Now().UnixNano()), Host: name, Slots: []*wire.Slots{{Kind: "default", Count: 1}}, Memory: 1 << 30}
	if err := stream.Send(&wire.FromLauncher{Join: join}); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	first, err := stream.Recv()
	if err == nil && first.GetWelcome().GetRefused() != "" {
		return nil, errors.New(first.Welcome.Refused)
	}
	return stream, err
}

// At the socket the kernel identifies the caller, and no certificate is needed.
func TestTheSocketProvesTheSystemsUser(t *testing.T) {
	b, _ := newClosed(t)
	b.stop()
	b.cfg.Socket = filepath.Join(t.TempDir(), "socket")
	b.start()
	b.conn.Close()
	conn, err := grpc.NewClient("unix:"+b.cfg.Socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	b.conn, b.api = conn, rpc.NewManagerClient(conn)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	job := b.submit(1) // it says that it is me
	st, err := b.api.Status(b.ctx(), &wire.StatusRequest{Job: job})
	if err != nil || st.Summary.User != me.Username {
		t.Errorf("the job is that of %q (%v), want %s", st.GetSummary().GetUser(), err, me.Username)
	}
}

// A client that speaks no TLS to a manager with certificates is told to look into the manager's log:
// that has the connection, and why it was refused.
func TestTheLogSaysWhatIsRefused(t *testing.T) {
	b, _ := newClosed(t)
	conn, err := grpc.NewClient(b.conn.Target(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := rpc.NewManagerClient(conn).Jobs(b.ctx(), &wire.JobsRequest{}); err == nil {
		t.Error("a client without TLS is answered")
	}
	eventually(t, "the log has the refusal", func() bool {
		log := b.log.String()
		return strings.Contains(log, "a connection is refused") && strings.Contains(log, "first record does not look like a TLS handshake")
	})
}
