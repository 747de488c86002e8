package manager

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
)

// copied starts another manager on a copy of a testbed's data, which is changed before, and returns the error that it ends with. A manager that
// serves is ended at once, and has none.
func (b *testbed) copied(change ...func(folder string)) error {
	b.t.Helper()
	folder := filepath.Join(b.t.TempDir(), "data")
	if out, err := exec.Command("cp", "-a", b.cfg.Data, folder).CombinedOutput(); err != nil {
		b.t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range change {
		c(folder)
	}
	ctx, cancel := context.WithCancel(b.ctx())
	defer cancel()
	cfg := b.cfg
	cfg.Data, cfg.Listen, cfg.HTTP, cfg.Log = folder, "127.0.0.1:0", "127.0.0.1:0", slog.New(slog.DiscardHandler)
	cfg.History.Folder = filepath.Join(folder, "history")
	cfg.Ready = func(string, string) { cancel() }
	return Run(ctx, cfg)
}

// A copy of a manager's data is refused while that manager serves, with TLS and without, and is taken when it has ended.
func TestACopyOfDataThatIsServed(t *testing.T) {
	plain := newTestbed(t)
	plain.start()
	closed, _ := newClosed(t)
	for name, b := range map[string]*testbed{"without TLS": plain, "with TLS": closed} {
		t.Run(name, func(t *testing.T) {
			err := b.copied()
			if !errors.Is(err, ErrServesElsewhere) || !strings.Contains(err.Error(), "the manager at "+b.cfg.Listen) {
				t.Errorf("a manager on a copy of the data ends with: %v", err)
			}
			b.stop()
			if err := b.copied(); err != nil {
				t.Errorf("a manager on a copy of the data, when the other has ended: %v", err)
			}
		})
	}
}

// A file that makes a manager not start, behind the lock of its data, is named.
func TestAKeyThatOthersReach(t *testing.T) {
	b := newTestbed(t)
	b.start()
	b.stop()
	err := b.copied(func(folder string) {
		if err := os.Chmod(filepath.Join(folder, "key"), 0o644); err != nil { //nolint:gosec // the test is about that
			t.Fatal(err)
		}
	})
	if err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("the manager ends with: %v", err)
	}
}

// The serving answer is for managers alone, and managers may call nothing else.
func TestManagersAskEachOther(t *testing.T) {
	b, ca := newClosed(t)
	if _, err := rpc.NewManagersClient(b.conn).Serving(b.ctx(), &wire.Empty{}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a user asks as a manager: %v", err)
	}
	b.as(ca.Keys(auth.Manager, "m2"))
	if r, err := rpc.NewManagersClient(b.conn).Serving(b.ctx(), &wire.Empty{}); err != nil || r.GetData() == "" || r.GetTerm() == 0 {
		t.Errorf("a manager asks: %v, %v", r, err)
	}
	if _, err := b.api.Jobs(b.ctx(), &wire.JobsRequest{}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a manager lists jobs: %v", err)
	}
}

// A manager that listens on all addresses is asked at those of its machine.
func TestWhereAManagerIsReached(t *testing.T) {
	one := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 7070}
	if got := reachedAt(one); !slices.Equal(got, []string{"10.0.0.1:7070"}) {
		t.Errorf("one address: %q", got)
	}
	if got := reachedAt(&net.TCPAddr{IP: net.IPv6unspecified, Port: 7070}); !slices.Contains(got, "127.0.0.1:7070") {
		t.Errorf("all addresses: %q", got)
	}
}
