// Package fifo is the default policy: jobs in order of priority, then time of
// submission, then id.
//
// # What runs next
//
// The queue is walked from its head. A job with nothing ready lets the next one
// use the slots. Within a job, gangs (bundles of several groups) come first, as
// they are the hardest to place; then each launcher with room gets work whose
// input it holds, then work whose input its rack holds, then anything, lowest
// bundle id first. With locality mode min-cost-flow the launches of the round are then
// placed together, at the least cost.
//
// # Gangs and other large work
//
// A bundle that does not fit now is passed over, and smaller work behind it uses
// the slots. So that it is not postponed for ever, its slots are collected once
// it has waited collect-after, counted from when it became ready or, if that is
// later, from when its job last got a slot: from then on nothing behind it in
// the queue starts that needs a kind of slot it needs; and when there are
// enough slots but not enough memory, or not on the right launchers, nothing
// behind it starts at all. It starts at the latest when what runs now has ended.
// Slots are not collected for a bundle that would not fit an empty cluster, nor
// for second attempts of stragglers. Work of jobs ahead of it still goes first.
//
// # Settings
//
//	collect-after: 30s   # how long smaller work may pass; 0s: never
//	locality: {mode: nearest} # nearest, min-cost-flow, none; package locality below sdk/scheduler/algorithms has its other keys
//
// The policy takes nothing back from running work and has no abilities beyond
// the plain contract.
package fifo
