package manager

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// A user learns of another user's program, and has it run, only after sending it; that survives a
// restart.
func TestAProgramIsItsSenders(t *testing.T) {
	b, ca := newClosed(t)
	has := func(user string) bool {
		t.Helper()
		b.as(ca.Keys(auth.User, user))
		a, err := b.api.HasBlob(b.ctx(), &wire.BlobQuery{Hash: sumOf("program")})
		if err != nil {
			t.Fatal(err)
		}
		return a.Present
	}
	b.submit(1)
	if !has("ann") || has("eve") {
		t.Error("ann is not told of what she sent, or eve is")
	}
	prepared, err := b.api.Prepare(b.ctx(), &wire.PrepareRequest{})
	if err != nil {
		t.Fatal(err)
	}
	spec := &wire.JobSpec{
		Name: "job", Program: sumOf("program"), Plan: b.upload("eve's plan"),
		Graph: &wire.Graph{Stages: []*wire.Stage{{Name: "work", Nodes: 1, Slots: 1, Memory: 1}}}, Fingerprint: []byte("f"),
	}
	if _, err := b.api.Submit(b.ctx(), &wire.SubmitRequest{Job: prepared.Job, Spec: spec}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("eve's job has a program of ann's: %v", err)
	}
	b.upload("program")
	if _, err := b.api.Submit(b.ctx(), &wire.SubmitRequest{Job: prepared.Job, Spec: spec}); err != nil {
		t.Errorf("eve sent it: %v", err)
	}
	b.stop()
	b.start()
	for user, want := range map[string]bool{"ann": true, "eve": true, "bob": false} {
		if has(user) != want {
			t.Errorf("after a restart %s is told: %v", user, !want)
		}
	}
}
