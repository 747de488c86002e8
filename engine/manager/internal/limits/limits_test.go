package limits

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
)

// A text is cut between two characters, and says what is missing.
func TestCut(t *testing.T) {
	text := strings.Repeat("\u00fc", 10)
	for most := range len(text) {
		got := Cut(text, most)
		kept, rest, found := strings.Cut(got, "...")
		if !found || !utf8.ValidString(got) || len(kept) > most || !strings.HasPrefix(text, kept) || !strings.Contains(rest, "bytes more") {
			t.Errorf("at %d: %q", most, got)
		}
	}
	if got := Cut(text, len(text)); got != text {
		t.Errorf("what fits is cut to %q", got)
	}
}

// A request that is too large is refused with the name of the large field, and does not reach its
// handler.
func TestTooLargeRequestsAreRefused(t *testing.T) {
	edge := Edge{Text: 10}
	handled := 0
	handle := func(context.Context, any) (any, error) { handled++; return nil, nil }
	ask := func(name string) error {
		_, err := edge.Unary(t.Context(), &wire.DrainRequest{Launcher: name}, &grpc.UnaryServerInfo{FullMethod: rpc.Manager_Drain_FullMethodName}, handle)
		return err
	}
	if err := ask("0123456789"); err != nil || handled != 1 {
		t.Errorf("what fits: %v", err)
	}
	if err := ask("0123456789a"); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "launcher has 11 bytes, at most 10") {
		t.Errorf("one byte more: %v", err)
	}
	if err := ask(strings.Repeat("x", RequestBytesMax)); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "most of them in launcher") || handled != 1 {
		t.Errorf("far more: %v", err)
	}
}
