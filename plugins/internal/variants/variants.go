// Package variants has, for each policy of the project, the settings with which the kit's random
// games are played. They are each choice that a policy has, and short times: a policy collects and
// preempts all the time then. The policies' own tests play each variant. make idle and make policies
// play them in turn, over many more games.
package variants

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Variant is settings of a policy: YAML.
type Variant struct{ Name, Settings string }

// Config is the variant's settings as a policy receives them.
func (v Variant) Config() scheduler.Config { return scheduler.Config{Text: []byte(v.Settings)} }

// Default is the variant without settings, but for the pools of the games' jobs.
const Default = "default"

// Of returns a policy's variants. Default is the first.
func Of(policy string) []Variant { return slices.Clone(all[policy]) }

// For is the variant that a policy plays with a seed.
func For(policy string, seed uint64) Variant { return all[policy][seed%uint64(len(all[policy]))] }

// Named is a policy's variant of a name. It panics where there is none.
func Named(policy, name string) Variant {
	for _, v := range all[policy] {
		if v.Name == name {
			return v
		}
	}
	panic("policy " + policy + " has no variant " + name)
}

// Properties are those of the games' jobs that a policy looks at.
var Properties = []scheduler.Property{
	{Name: "preempt", Value: "true"}, {Name: "preempt", Value: "false"}, {Name: "preempt", Value: "maybe"}, {Name: "preemptible", Value: "false"},
}

// pools has fair make the pools of the games' jobs.
const pools = "placement: {undeclared: create}\n"

var all = map[string][]Variant{
	"fifo": {
		{Default, ""},
		{"collect", "collect-after: 500ms\n"},
		{"collect in 1s", "collect-after: 1s\n"},
		{"collect in 4s", "collect-after: 4s\n"},
		{"flow", "locality: {mode: min-cost-flow, neighbour-bytes: 1000}\ncollect-after: 500ms\n"},
		{"over", "locality: {mode: min-cost-flow, bundles-max: 3, steps-max: 20}\n"},
		{"blind", "locality: {mode: none}\n"},
	},
	"drf": {
		{Default, ""},
		{"weights", "collect-after: 500ms\npools: {pool-1: {weight: 3}}\n"},
		{"collect in 1s", "collect-after: 1s\n"},
		{"collect in 4s", "collect-after: 4s\n"},
		{"collect in 9s", "collect-after: 9s\n"},
	},
	"dynamic-priority": {
		{Default, ""},
		{"preempting", "alloc-interval: 1s\nkill-interval: 1s\n"},
		{"slowly", "alloc-interval: 3s\nkill-interval: 10s\ncollect-after: 0s\n"},
		{"collecting", "alloc-interval: 2s\nkill-interval: 500ms\ncollect-after: 300ms\n"},
		{"collect in 4s", "collect-after: 4s\nlocality: {mode: min-cost-flow}\n"},
		{"nobody", "simulated-spending: 0\ncollect-after: 300ms\n"},
		{"flow", "alloc-interval: 2s\nkill-interval: 500ms\nlocality: {mode: min-cost-flow, neighbour-bytes: 1000}\n"},
		{"blind", "alloc-interval: 2s\nlocality: {mode: none}\n"},
	},
	"preemptive-fair": {
		{Default, ""},
		{"paper", "attempt-loses: random\nhold: all\nhold-max: 0s\nwork-conserving: false\ntimes-max: 0\n"},
		{"priority", "only-higher-priority: true\njob-loses: lowest-priority\nattempt-loses: newest\nhold-max: 200ms\n"},
		{"soft", "mode: soft\ngrace: 2s\njob-loses: furthest-over-share\nattempt-loses: newest-in-cluster\nhold: all\nhold-max: 2s\n"},
		{"suspend", "mode: suspend\nattempt-loses: least-progress\nhold: none\n"},
		{"data", "attempt-loses: newcomer-data\nwork-conserving: false\n"},
		{"asked", "preemption: asked\nhold-max: 30s\n"},
		{"none", "preemption: none\n"},
		{"once", "times-max: 1\n"},
		{"collect in 4s", "collect-after: 4s\nlocality: {mode: min-cost-flow}\n"},
		{"flow", "locality: {mode: min-cost-flow, neighbour-bytes: 1000}\ncollect-after: 500ms\n"},
		{"blind", "locality: {mode: none}\nmode: suspend\n"},
	},
	"hfsp": {
		{Default, ""},
		{"suspend", "preempt-maps: suspend\npreempt-reduces: suspend\nsamples: 1\ntask-default: 1s\n"},
		{"kill", "preempt-maps: kill\npreempt-reduces: kill\nsamples: 2\ntask-default: 1s\n"},
		{"wait", "preempt-reduces: wait\ntask-default: 500ms\nlocality: {mode: nearest}\n"},
		{"infinite", "xi: .inf\ndelta: 0s\ntraining-part: 0.5\npreempt-maps: suspend\n"},
		{"plain", "late: plain\ntask-default: 100ms\ndistribution: exponential\npreempt-maps: kill\n"},
		{"bound", "suspended-max: 1\nsuspended-memory: 0.1\npreempt-maps: suspend\ndistribution: normal\n"},
		{"delay", "locality: {mode: delay, node-delay: 3s, rack-delay: 1s}\npriority-weight: 1\n"},
		{"skips", "locality: {node-skips: 20, rack-skips: 3}\ntraining-part: 0\n"},
		{"flow", "locality: {mode: min-cost-flow, node-delay: 3s, rack-delay: 1s, neighbour-bytes: 1000}\npreempt-maps: suspend\n"},
		{"flow at once", "locality: {mode: min-cost-flow, node-delay: 0s, rack-delay: 0s}\n"},
		{"blind", "locality: {mode: none}\n"},
		{"collect", "collect-after: 300ms\npreempt-maps: suspend\ntask-default: 0s\n"},
		{"collect in 4s", "collect-after: 4s\nlocality: {mode: min-cost-flow}\n"},
		{"errors", "preempt-maps: suspend\ntask-default: 2s\nsamples: 2\ncollect-after: 300ms\nestimate-error: 0.5\n"},
	},
	"fair": {
		{Default, pools},
		{"kill", pools + "allocations: {min-share-timeout: 200ms, fair-share-timeout: 500ms, pools: {pool-0: {min-share: 3, weight: 2}, pool-1: {order: fifo, max-share: 6}}}\nupdate-interval: 100ms\npreemption: {interval: 300ms, fair-share-threshold: 1, protect: 25s}\n"},
		{"unprotected", pools + "allocations: {fair-share-timeout: 200ms, order: disco-fair}\nupdate-interval: 100ms\npreemption: {interval: 300ms, fair-share-threshold: 1, protect: 0s}\n"},
		{"soft", pools + "allocations: {fair-share-timeout: 1s, order: deficit, pools: {pool-0: {min-share: {default: 2, special: 1}}}}\npreemption: {mode: soft, grace: 2s, interval: 1s}\nlocality: {node-delay: 3s, rack-delay: 1s}\n"},
		{"suspend", pools + "allocations: {fair-share-timeout: 0s, order: disco-fair}\npreemption: {mode: suspend, interval: 1s}\nweights: {size-based: true, adjuster: new-job-boost, boost-duration: 5s}\nload: {manager: level-slots, max-difference: 0.2}\n"},
		{"collect", pools + "collect-after: 300ms\nallocations: {order: deficit, fair-share-timeout: 3s}\n"},
		{"collect in 4s", pools + "collect-after: 4s\nlocality: {mode: min-cost-flow}\n"},
		{"flow", pools + "collect-after: 2s\nlocality: {mode: min-cost-flow, neighbour-bytes: 1000}\nallocations: {order: disco-fair, fair-share-timeout: 2s, pools: {pool-0: {max-share: 6}}}\n"},
		{"flow at once", pools + "collect-after: 1s\nlocality: {mode: min-cost-flow, node-delay: 0s, rack-delay: 0s}\nallocations: {pools: {pool-0: {max-share: 6}}}\n"},
		{"limits", "allocations: {pool-running-jobs-max: 2, user-running-jobs-max: 1, order: disco-fair}\nplacement: {rules: [explicit, user, default], undeclared: create}\nlocality: {mode: none}\n"},
		{"nested", pools + "allocations: {pools: {pool-0: {pools: {a: {}, default: {order: deficit}}}, pool-1: {parent: pool-0, min-share: 2}}, fair-share-timeout: 2s}\npreemption: {dry-run: true}\n"},
		{"load", pools + "load: {manager: load, cpu-max: 0.6, memory-max: 0.8}\ncollect-after: 1s\nallocations: {min-share-timeout: 1s, fair-share-timeout: 2s, pools: {pool-0: {min-share: 3}}}\n"},
		{"flow by load", pools + "load: {manager: load, cpu-max: 0.3}\nlocality: {mode: min-cost-flow}\ncollect-after: 0s\nallocations: {order: deficit}\n"},
		{"own", "allocations: {pools: {pool-0: {}}}\n"}, // other pools are refused by default
		{"refuse", "allocations: {pools: {pool-0: {}}}\nplacement: {rules: [explicit, default], undeclared: refuse}\n"},
	},
}
