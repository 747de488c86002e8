package policy_test

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/policy"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// The most urgent job first; its main is serve.Main(urgent.New).
func Example() {
	urgent := policy.Policy[policy.None, policy.None]{
		Name: "urgent", Version: "1",
		Assign: func(p *policy.Pass[policy.None, policy.None]) error {
			jobs := p.Jobs()
			slices.SortStableFunc(jobs, func(a, b *view.Job) int { return cmp.Compare(b.Info.Priority, a.Info.Priority) })
			for _, j := range jobs {
				p.LaunchNear(j)
			}
			return nil
		},
	}
	fmt.Println(urgent.New().Check(scheduler.Config{File: "site.yaml", Line: 3, Text: []byte("fast: true")}))
	// Output: site.yaml:3: unknown setting "fast": correct its name or remove it
}
