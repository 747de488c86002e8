package main

import (
	"context"
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/cmd/hamadryad-experiment/internal/workload"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/plugins/fair"
	"github.com/hamadryad/hamadryad/plugins/preemptivefair"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// preemptedWorkMax is the share of all work that preemption may throw away.
const preemptedWorkMax = 0.10

// starvationPolicies preempt as they do by default; fair, which by default takes
// nothing back, soon. often is how many times one group may be preempted, by
// default of both policies' times-max.
var starvationPolicies = []struct {
	name     string
	make     func() scheduler.TaskScheduler
	settings string
	often    int
}{
	{"fair", fair.New, "allocations: {fair-share-timeout: 10s}\n", 3},
	{"preemptive-fair", preemptivefair.New, "", 3},
}

func starvation(ctx context.Context, l *lab) error {
	fmt.Fprintf(l.log, "%d random workloads of %d pools on 40 slots, in virtual time: the manager's core with launchers on which nothing fails\n\n",
		l.workloads, workload.Pools)
	c := claims{lab: l}
	for _, p := range starvationPolicies {
		sum, worst, err := playAll(ctx, p.make, p.settings, l.workloads)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		lost := float64(sum.Lost) / float64(sum.Work)
		fmt.Fprintf(l.log, "%s: %d jobs, %d attempts, %d of them preempted; %v of work, %v of it lost\n", p.name, sum.Jobs, sum.Attempts, sum.Preempted,
			sum.Work.Round(time.Minute), sum.Lost.Round(time.Minute))
		c.that(true, "%s: every job ended", p.name)
		c.that(sum.MostOften <= p.often, "%s: no group was preempted more than %d times; at most %d", p.name, sum.MostOften, p.often)
		c.that(lost < preemptedWorkMax, "%s: %.2f %% of all work was preempted, in the worst workload %.2f %%; below %g %%", p.name, 100*lost, 100*worst, 100*preemptedWorkMax)
	}
	return c.err()
}

// playAll plays the workloads of the first seeds and sums their results. worst is
// the largest share of work that one of them lost.
func playAll(ctx context.Context, newPolicy func() scheduler.TaskScheduler, settings string, seeds uint64) (sum workload.Result, worst float64, err error) {
	for seed := uint64(1); seed <= seeds && ctx.Err() == nil; seed++ {
		r, err := workload.Play(ctx, workload.Random(seed), policy.InProcess(newPolicy()), settings)
		if err != nil {
			return sum, worst, fmt.Errorf("workload %d: %w", seed, err)
		}
		sum.Jobs += r.Jobs
		sum.Attempts += r.Attempts
		sum.Preempted += r.Preempted
		sum.MostOften = max(sum.MostOften, r.MostOften)
		sum.Work += r.Work
		sum.Lost += r.Lost
		if r.Work > 0 {
			worst = max(worst, float64(r.Lost)/float64(r.Work))
		}
	}
	return sum, worst, context.Cause(ctx)
}
