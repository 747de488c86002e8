// Command hamadryad-policy-smallest is a whole scheduling policy. Jobs with the least left to run
// go first, so a short job never waits behind a long one.
//
//	hamadryad policy check build/bin/hamadryad-policy-smallest
//	hamadryad local --policy smallest -- wordcount INPUT OUTPUT
package main

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler/policy"
	"github.com/hamadryad/hamadryad/sdk/scheduler/serve"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

func main() { serve.Main(smallest.New) }

var smallest = policy.Policy[policy.None, policy.None]{Name: "smallest", Version: "2", Assign: assign}

func assign(p *policy.Pass[policy.None, policy.None]) error {
	jobs := p.Jobs()
	slices.SortStableFunc(jobs, func(a, b *view.Job) int { return cmp.Compare(left(a), left(b)) })
	for _, j := range jobs {
		p.LaunchNear(j)
	}
	return nil
}

// left is how many node groups of a job have not finished.
func left(j *view.Job) (n int) {
	for _, c := range j.Counts {
		n += c.Waiting + c.Running
	}
	return n
}
