package client

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/auth/certs/certstest"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
)

// listening is a manager that says what its callers showed: the header of a call, or why not.
// Its streams end for want of a newer token.
type listening struct{ rpc.UnimplementedManagerServer }

func headerOf(ctx context.Context) string {
	return strings.Join(metadata.ValueFromIncomingContext(ctx, "authorization"), " and ")
}

func (listening) Policy(ctx context.Context, _ *wire.PolicyQuery) (*wire.PolicyReply, error) {
	return &wire.PolicyReply{Name: headerOf(ctx)}, nil
}

func (listening) Watch(_ *wire.StatusRequest, s grpc.ServerStreamingServer[wire.JobStatus]) error {
	state := wire.JobState_JOB_STATE_RUNNING
	switch headerOf(s.Context()) {
	case "Bearer newer":
		state = wire.JobState_JOB_STATE_SUCCEEDED
	case "Bearer over":
		return status.Error(codes.Unauthenticated, "the token ended")
	}
	if err := s.Send(&wire.JobStatus{Summary: &wire.JobSummary{State: state}}); err != nil {
		return err
	}
	return status.Error(codes.Unauthenticated, "the token ended, and the stream with it")
}

// listen serves it with a certificate, nil for none.
func listen(t *testing.T, keys *certs.Keys) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var o []grpc.ServerOption
	if keys != nil {
		o = append(o, grpc.Creds(credentials.NewTLS(keys.Door(auth.User))))
	}
	s := grpc.NewServer(o...)
	rpc.RegisterManagerServer(s, listening{})
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return l.Addr().String()
}

func (b bearer) write(t *testing.T, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(string(b), []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(string(b), mode); err != nil {
		t.Fatal(err)
	}
}

// A token is shown as the file has it at each call, and to a manager of the CA alone.
func TestATokenIsShown(t *testing.T) {
	ca := certstest.New(t)
	trust := certs.Files{CA: filepath.Join(ca.Folder, certs.FileCA)}
	file := bearer(filepath.Join(t.TempDir(), "token"))
	file.write(t, "first\n", 0o600)
	c, err := Dial(listen(t, ca.Keys(auth.Manager, "m")), Options{Auth: trust, Bearer: string(file)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	shows := func(want string) {
		t.Helper()
		if p, err := c.Policy(t.Context(), true); err != nil || p.Name != want {
			t.Errorf("the manager saw %q (%v), want %q", p.GetName(), err, want)
		}
	}
	shows("Bearer first")
	file.write(t, "second", 0o600)
	shows("Bearer second")
	file.write(t, "second", 0o644)
	if _, err := c.Policy(t.Context(), true); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others may read: %v", err)
	}
	file.write(t, "third", 0o600)
	got := ""
	st, err := c.Watch(t.Context(), 7, func(s *wire.JobStatus) {
		got += s.Summary.State.String() + " "
		file.write(t, "newer", 0o600)
	})
	if err != nil || !Ended(st.Summary.State) {
		t.Errorf("a job is watched with a token that ends, and a newer one: %q %v", got, err)
	}
	file.write(t, "over", 0o600)
	if _, err := c.Watch(t.Context(), 7, nil); !hasCode(err, codes.Unauthenticated) {
		t.Errorf("with one that is over: %v", err)
	}
}

// Nothing of a token leaves for another than a manager of the cluster.
func TestATokenIsNotGivenAway(t *testing.T) {
	ca := certstest.New(t)
	trust := certs.Files{CA: filepath.Join(ca.Folder, certs.FileCA)}
	file := bearer(filepath.Join(t.TempDir(), "token"))
	file.write(t, "secret", 0o600)
	short := Options{Auth: trust, Bearer: string(file), Connect: 1}
	for what, address := range map[string]string{"without TLS": listen(t, nil), "of another CA": listen(t, certstest.New(t).Keys(auth.Manager, "m")), "that is a launcher": listen(t, ca.Keys(auth.Launcher, "m"))} {
		c, err := Dial(address, short)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := c.Policy(t.Context(), true); err == nil {
			t.Errorf("one %s was shown %q", what, p.Name)
		}
		c.Close()
	}
	for want, o := range map[string]Options{
		"--ca":                      {Bearer: string(file)},
		"takes one proof of a user": {Bearer: string(file), Auth: ca.Files(auth.User, "ann")},
		"no such file":              {Bearer: "/nowhere", Auth: trust},
		"/nowhere/ca.pem: no":       {Bearer: string(file), Auth: certs.Files{CA: "/nowhere/ca.pem"}},
	} {
		if _, err := Dial("127.0.0.1:1", o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	file.write(t, `{"access_token": "secret"}`, 0o600)
	if _, err := Dial("127.0.0.1:1", short); err == nil || !strings.Contains(err.Error(), "nothing else") || strings.Contains(err.Error(), "secret") {
		t.Errorf("an issuer's whole answer: %v", err)
	}
}

// The environment is for programs that say nothing of it themselves.
func TestATokenOfTheEnvironment(t *testing.T) {
	ca := certstest.New(t)
	file := bearer(filepath.Join(t.TempDir(), "token"))
	file.write(t, "mine", 0o600)
	t.Setenv(BearerVariable, string(file))
	t.Setenv(caVariable, filepath.Join(ca.Folder, certs.FileCA))
	c, err := Dial(listen(t, ca.Keys(auth.Manager, "m")), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if p, err := c.Policy(t.Context(), true); err != nil || p.Name != "Bearer mine" {
		t.Errorf("%v %v", p, err)
	}
	t.Setenv(ModeVariable, "off")
	if Bearer() != "" {
		t.Error("it means something where auth.mode is off")
	}
}
