package policy

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/rpc"
)

// answering is a plug-in that answers Durable with one error after the other.
type answering struct {
	rpc.TaskSchedulerClient
	errors []codes.Code
}

func (a *answering) Durable(context.Context, *rpc.DurableRound, ...grpc.CallOption) (*rpc.DurableTaken, error) {
	code := a.errors[0]
	a.errors = a.errors[1:]
	return &rpc.DurableTaken{}, status.Error(code, "")
}

// A stalled plug-in is notified again, until it confirms; others are notified once.
func TestDurableIsToldUntilItIsTaken(t *testing.T) {
	for _, answers := range [][]codes.Code{
		{codes.OK},
		{codes.DeadlineExceeded, codes.DeadlineExceeded, codes.OK},
		{codes.Unimplemented},
		{codes.DeadlineExceeded, codes.Unavailable},
	} {
		a := &answering{errors: append(answers, codes.OK)}
		(&remote{life: newLife(false), policy: a}).Durable(t.Context(), 7)
		if n := len(a.errors); n != 1 {
			t.Errorf("of %v and one more %d answers are left, want 1", answers, n)
		}
	}
}
