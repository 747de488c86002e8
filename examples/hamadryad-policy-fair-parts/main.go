// Command hamadryad-policy-fair-parts is the fair policy with four parts of its own. A site
// names them in policy.settings:
//
//	allocations: {order: newest}
//	locality: {selector: largest}
//	load: {manager: half}
//	weights: {adjuster: interactive}
//
// Copy it into a module of yours, and keep the parts that you need.
package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/plugins/fair"
	"github.com/hamadryad/hamadryad/plugins/fair/allocation"
	"github.com/hamadryad/hamadryad/plugins/fair/placement"
	"github.com/hamadryad/hamadryad/plugins/fair/shares"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
	"github.com/hamadryad/hamadryad/sdk/scheduler/serve"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

func init() {
	placement.Selectors.Register("largest", func(*allocation.Config) placement.TaskSelector { return largest{} })
	placement.LoadManagers.Register("half", func(*allocation.Config) placement.LoadManager { return half{} })
	shares.WeightAdjusters.Register("interactive", func(*allocation.Config) shares.WeightAdjuster { return interactive{} })
	pooltree.Orders.Register("newest", newest{})
}

func main() { serve.Main(fair.New) }

// largest launches the bundle with the most input first, so that no long task is left to the end.
type largest struct{}

// lookMax is how many bundles of a job are compared.
const lookMax = 64

func (largest) Select(c *placement.Choice) (placement.Pick, scheduler.WaitReason) {
	var all []*view.Bundle
	for b := range c.Job.Launchable(c.Kind, c.After).All() {
		if all = append(all, b); len(all) == lookMax {
			break
		}
	}
	slices.SortStableFunc(all, func(a, b *view.Bundle) int { return cmp.Compare(input(b), input(a)) })
	reason := scheduler.WaitNoCapacity
	for _, b := range all {
		if where, ok := c.Fit(b, scheduler.Remote); ok {
			return placement.Pick{Bundle: b, Where: where}, scheduler.WaitNone
		}
		reason = max(reason, b.Unfit())
		if c.Unfit == nil {
			c.Unfit = b // if it waits for long, slots are collected for it
		}
	}
	return placement.Pick{}, reason
}

func input(b *view.Bundle) (bytes int64) {
	for i := range b.Groups {
		bytes += b.Groups[i].InputBytes
	}
	return bytes
}

// half uses at most half of the slots of each launcher.
type half struct{}

func (half) Cap(l *view.Launcher, kind scheduler.SlotKind, _ placement.Crowd) int {
	return (l.Total(kind) + 1) / 2
}

// interactive gives jobs of that name four times the weight.
type interactive struct{}

func (interactive) Adjust(j *scheduler.Job, weight float64, _ scheduler.Time) (float64, scheduler.Time) {
	if strings.HasPrefix(j.Name, "interactive") {
		weight *= 4
	}
	return weight, 0
}

// newest serves the most recently submitted job first. Pools have no time of submission and are in
// order of name.
type newest struct{}

func (newest) Less(a, b *pooltree.Schedulable) bool {
	return cmp.Or(cmp.Compare(b.Start, a.Start), cmp.Compare(b.ID, a.ID), strings.Compare(a.Path, b.Path)) < 0
}

func (newest) Enter(_, _ *pooltree.Schedulable)  {}
func (newest) Leave(_, _ *pooltree.Schedulable)  {}
func (newest) Served(_, _ *pooltree.Schedulable) {}
