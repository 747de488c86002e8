package client

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// gated is a manager with an authenticator that follows a test's script, try by try: "down", "lost"
// for a missing answer, "denied". Then it accepts unseen signatures.
type gated struct {
	*fake
	script  []string
	seen    []string // accepted signatures
	changes int
}

func (g *gated) judge(signature string) error {
	does := "judge"
	if len(g.script) > 0 {
		does, g.script = g.script[0], g.script[1:]
	}
	switch {
	case does == "down":
		s, _ := status.New(codes.Unavailable, "the authenticator is down").WithDetails(&wire.Failure{Message: "the authenticator is down"})
		return s.Err()
	case does == "denied", slices.Contains(g.seen, signature):
		return errDenied
	}
	g.seen = append(g.seen, signature)
	g.changes++
	if does == "lost" {
		return status.Error(codes.Unavailable, "the connection broke")
	}
	return nil
}

var errDenied = status.Error(codes.PermissionDenied, "denied")

func (g *gated) Submit(_ context.Context, r *wire.SubmitRequest) (*wire.SubmitReply, error) {
	for _, p := range r.Spec.Properties {
		if p.Name == scheduler.ProofSignature {
			return &wire.SubmitReply{}, g.judge(p.Value)
		}
	}
	return nil, errDenied
}

func (g *gated) PolicyPage(_ context.Context, r *wire.PageRequest) (*wire.PageReply, error) {
	err := g.judge(r.Authorization)
	if errors.Is(err, errDenied) {
		return &wire.PageReply{Status: http.StatusUnauthorized}, nil
	}
	return &wire.PageReply{Status: http.StatusOK}, err
}

// with is a client of such a manager, and the reasons of its waits.
func (g *gated) with(t *testing.T, o Options) (c *Client, told *[]string) {
	t.Helper()
	key := t.TempDir() + "/key"
	if err := os.WriteFile(key, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(KeyVariable, key)
	g.fake = newFake()
	address, _ := serve(t, g, "127.0.0.1:0")
	told = new([]string)
	o.Waiting = func(why string) { *told = append(*told, why) }
	c, err := Dial(address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, told
}

// An authenticator that is down does not count as an absent manager: it is reported at once, once,
// in the manager's words.
func TestAGateThatIsDownIsSaid(t *testing.T) {
	g := &gated{script: []string{"down", "down"}}
	c, told := g.with(t, Options{Connect: time.Minute, Reconnect: time.Minute})
	if _, err := c.Submit(t.Context(), submission(t)); err != nil || g.changes != 1 || !slices.Equal(*told, []string{"the authenticator is down"}) {
		t.Errorf("%d jobs, told %q: %v", g.changes, *told, err)
	}
	g = &gated{script: slices.Repeat([]string{"down"}, 100)}
	c, told = g.with(t, Options{Connect: time.Nanosecond, Reconnect: time.Second})
	out := t.TempDir()
	_, err := c.Submit(t.Context(), submission(t, out+"/out"))
	if err == nil || errors.Is(err, ErrUnreachable) || err.Error() != "the authenticator is down" || len(*told) != 1 || len(g.script) > 98 {
		t.Errorf("told %q: %v", *told, err)
	}
	if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A change is made once, however its answer is lost; a question is asked again.
func TestAChangeWhoseAnswerIsLost(t *testing.T) {
	for _, test := range []struct {
		script  []string
		changes bool
		made    int
		want    error
	}{
		{[]string{"lost"}, true, 1, ErrUnknown},
		{[]string{"down", "down"}, true, 1, nil}, // which says that nothing was done
		{[]string{"down", "lost", "down"}, true, 1, ErrUnknown},
		{[]string{"lost"}, false, 2, nil},
		{[]string{"denied", "denied"}, true, 1, nil},
	} {
		g := &gated{script: test.script}
		c, _ := g.with(t, Options{Connect: time.Minute, Reconnect: time.Minute})
		answer, err := c.PolicyPage(t.Context(), "addBudget=5&queue=a", "", test.changes)
		if g.changes != test.made || !errors.Is(err, test.want) || err == nil && answer.GetStatus() != http.StatusOK {
			t.Errorf("%q: made %d times, %v, %v", test.script, g.changes, answer, err)
		}
	}
}

// A refused client signs again, since another command may have had the same signature, but not for
// ever.
func TestWhoIsRefusedSignsAgain(t *testing.T) {
	g := &gated{script: []string{"denied", "denied"}}
	c, _ := g.with(t, Options{Connect: time.Minute})
	if _, err := c.Submit(t.Context(), submission(t)); err != nil || g.changes != 1 {
		t.Errorf("%d jobs: %v", g.changes, err)
	}
	g.script = slices.Repeat([]string{"denied"}, 10)
	if _, err := c.Submit(t.Context(), submission(t)); err == nil || !strings.Contains(err.Error(), "denied") || len(g.script) != 10-signTriesMax {
		t.Errorf("%d tries left: %v", len(g.script), err)
	}
	if a, err := c.PolicyPage(t.Context(), "info", "", false); err != nil || a.GetStatus() != http.StatusUnauthorized || len(g.script) != 10-2*signTriesMax {
		t.Errorf("%d tries left: %v, %v", len(g.script), a, err)
	}
}
