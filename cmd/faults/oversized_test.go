package faults

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/cmd/internal/localcluster"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
)

// Requests of 70 MiB once ended "hamadryad local". Each is refused: by the client, and
// by the manager when something else asks; the field and the bound are named where the
// request could be read. Nothing dies, and a job runs afterwards.
func TestOversizedRequestsHarmNobody(t *testing.T) {
	var log strings.Builder
	c, err := localcluster.Start(t.Context(), filepath.Join(binaries, "hamadryad"), localcluster.Options{Launchers: 1, Slots: 2, Log: &log})
	if err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	defer c.Stop()
	conn, err := grpc.NewClient("passthrough:///"+c.Address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, raw := t.Context(), rpc.NewManagerClient(conn)
	for _, size := range []int{3 << 20, 70 << 20} {
		long := strings.Repeat("x", size)
		me := &wire.Principal{Name: "me"}
		for field, ask := range map[string]func() error{
			"launcher": func() error { _, err := raw.Drain(ctx, &wire.DrainRequest{Launcher: long, Principal: me}); return err },
			"reason": func() error {
				_, err := raw.Kill(ctx, &wire.JobRef{Job: 1, Principal: me, Reason: long})
				return err
			},
			"pool": func() error {
				_, err := raw.Update(ctx, &wire.UpdateRequest{Job: 1, Principal: me, Pool: &long})
				return err
			},
			"name": func() error {
				_, err := raw.Prepare(ctx, &wire.PrepareRequest{Principal: &wire.Principal{Name: long}})
				return err
			},
			"graph": func() error {
				spec := &wire.JobSpec{Name: "job", Principal: me, Graph: &wire.Graph{Stages: []*wire.Stage{{Name: long}}}}
				_, err := raw.Submit(ctx, &wire.SubmitRequest{Job: 1, Spec: spec})
				return err
			},
		} {
			err := ask()
			code := status.Code(err)
			if code != codes.InvalidArgument && code != codes.ResourceExhausted {
				t.Errorf("%d bytes in %s: %v", size, field, err)
			}
			text := status.Convert(err).Message()
			if named := strings.Contains(text, field) && strings.Contains(text, "at most"); !named && (code == codes.InvalidArgument || !strings.Contains(text, "larger than max")) {
				t.Errorf("%d bytes in %s: the bound is not named: %s", size, field, text)
			}
		}
	}
	clientRefuses(ctx, t, c.Address)

	job := exec.Command(filepath.Join(binaries, "noop"), "3")
	job.Env = append(os.Environ(), client.AddressVariable+"="+c.Address)
	if out, err := job.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\nthe cluster says:\n%s", err, out, &log)
	}
	if strings.Contains(log.String(), "started again") {
		t.Errorf("a part of the cluster ended:\n%s", &log)
	}
}

// clientRefuses makes a request as a program does: the error names the field, however large the
// field is.
func clientRefuses(ctx context.Context, t *testing.T, address string) {
	t.Helper()
	long := strings.Repeat("x", 70<<20)
	c, err := client.Dial(address, client.Options{User: "me"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	other, err := client.Dial(address, client.Options{User: long})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for field, ask := range map[string]func() error{
		"launcher": func() error { return c.Drain(ctx, long, true) },
		"reason":   func() error { return c.Kill(ctx, 1, long) },
		"pool":     func() error { return c.Update(ctx, 1, &long, nil) },
		"name":     func() error { return other.Drain(ctx, "launcher-1", true) },
	} {
		if err := ask(); err == nil || !strings.HasPrefix(err.Error(), field+" has 73400320 bytes") || !strings.Contains(err.Error(), "more than 50331648") {
			t.Errorf("%s: %.300v", field, err)
		}
	}
}
