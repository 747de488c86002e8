package launcher

import (
	"errors"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs/certstest"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
)

// endless sends a program without an end, and signals when it stopped.
type endless struct {
	rpc.UnimplementedLaunchersServer
	stopped chan error
}

func (e *endless) FetchBlob(_ *wire.BlobQuery, to grpc.ServerStreamingServer[wire.BlobChunk]) error {
	for {
		if err := to.Send(&wire.BlobChunk{Data: make([]byte, 1<<20)}); err != nil {
			e.stopped <- err
			return err
		}
	}
}

// fullDisk refuses all writes.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, unix.ENOSPC }

// A launcher that can't keep a program stops the manager from sending it. The manager limits the
// programs that it sends to a launcher at once, so an endless one would block others.
func TestAFullDiskEndsTheFetch(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	manager := &endless{stopped: make(chan error, 1)}
	server := grpc.NewServer()
	rpc.RegisterLaunchersServer(server, manager)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := fetchBlob(rpc.NewLaunchersClient(conn))(t.Context(), "hash", false, fullDisk{}); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("fetch: %v", err)
	}
	select {
	case <-manager.stopped:
	case <-time.After(time.Minute):
		t.Error("the manager still sends a program that nobody reads")
	}
}

// A certificate that the manager reports as revoked is refused at the launcher's own ports, and
// accepted again when the manager no longer reports it.
func TestWhatTheManagerRevokes(t *testing.T) {
	ca := certstest.New(t)
	s := &session{cfg: Config{Keys: ca.Keys(auth.Launcher, "l1")}}
	s.obeyAll(&wire.ToLauncher{Revocations: &wire.Revocations{Until: map[string]int64{"launcher/l2": 1000}}})
	if r := s.cfg.Keys.Revoked(); !r.Covers(auth.Worker, "l2", time.Unix(999, 0)) || r.Covers(auth.Worker, "l2", time.Unix(1000, 0)) {
		t.Errorf("revoked are %v", r)
	}
	s.obeyAll(&wire.ToLauncher{})
	if len(s.cfg.Keys.Revoked()) != 1 {
		t.Error("a message without a word of them revoked others")
	}
	s.obeyAll(&wire.ToLauncher{Revocations: &wire.Revocations{}})
	if len(s.cfg.Keys.Revoked()) != 0 {
		t.Error("nothing is revoked any more, and something is")
	}
}
