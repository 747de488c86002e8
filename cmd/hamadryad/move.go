package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/cmd/hamadryad/complete"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/internal/suggest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// move moves a job, and warns of a pool that the policy does not show: it may be a mistake.
func (c *cli) move(ctx context.Context, cl *client.Client, job uint64, pool string) error {
	pools, err := complete.PoolNames(ctx, cl)
	if err != nil {
		pools = nil // the move does not depend on what the policy shows
	}
	if err := cl.Update(ctx, job, &pool, nil); err != nil {
		return err
	}
	own := cmp.Or(c.actsFor, c.user, systemUser())
	if len(pools) == 0 || slices.Contains(pools, pool) || pool == own {
		return nil
	}
	_, err = fmt.Fprintf(c.show.Errors, "hamadryad: warning: the policy shows no pool %s%s; a policy makes such a pool, or leaves the job where it is: \"hamadryad status %s\" says which\n",
		scheduler.PrintableText(pool), suggest.Hint(pool, pools), scheduler.JobID(job))
	return err
}
