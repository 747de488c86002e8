package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// policyRuns waits until a policy decides. It warns if the policy gives way to the fallback at once.
func (c *Cluster) policyRuns(ctx context.Context, warn io.Writer) error {
	cl, err := client.Dial(c.Address, client.Options{})
	if err != nil {
		return err
	}
	defer cl.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.parts.whole, func() { cancel(context.Cause(c.parts.whole)) })()
	return policyDecides(ctx, warn, func() (*wire.PolicyReply, error) { return cl.Policy(ctx, true) })
}

// askPolicyMax is the longest time between two questions whether the policy decides.
const askPolicyMax = 16 * time.Millisecond

// policyDecides polls until a policy decides, or ctx ends. If a process ended meanwhile, that is
// the reported cause, whether ctx ended in a call or between two.
func policyDecides(ctx context.Context, warn io.Writer, ask func() (*wire.PolicyReply, error)) error {
	last := &wire.PolicyReply{}
	for wait := time.Millisecond; ; wait = min(2*wait, askPolicyMax) {
		r, err := ask()
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, context.DeadlineExceeded):
			return fmt.Errorf("the policy does not run after %v: %s", ReadyMax, problemText(last))
		case cause != nil:
			return cause
		case err != nil:
			return err
		case r.State == "running":
			return nil
		case r.State == "fallback":
			fmt.Fprintf(warn, "hamadryad: the policy %s can't run, the fallback decides: %s\n", r.Policy, problemText(r))
			return nil
		}
		last = r
		select {
		case <-ctx.Done(): // the next question finds out why
		case <-time.After(wait):
		}
	}
}

// problemText is the newest problem that a manager reports of its policy.
func problemText(r *wire.PolicyReply) string {
	if len(r.Problems) == 0 {
		return "it gives no reason"
	}
	return r.Problems[0].Text
}
