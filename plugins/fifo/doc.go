// Package fifo is the default policy: jobs in order of priority, then time of submission, then id.
//
//	func main() { serve.Main(fifo.New) }
//
// The nouns are a queue of live jobs, the bundles that a job may launch, and gangs, which are
// bundles of several groups.
//
// # What runs next
//
// The queue is walked from its head. A job with nothing ready lets the next one use the slots.
//
// Within a job, gangs come first, as they are the hardest to place. Then each launcher with room
// gets work whose input it holds, then work whose input its rack holds. The rest follows, lowest
// bundle id first. With locality mode min-cost-flow the launches of the round are then placed
// together, at the least cost.
//
// # Gangs and other large work
//
// A bundle that does not fit now is passed over, and smaller work behind it uses the slots. So that
// it does not wait for ever, its slots are collected after collect-after. That time counts from
// when the bundle became ready or, if that is later, from when its job last got a slot.
//
// From then on, nothing behind it starts that needs a kind of slot it needs. Where there are enough
// slots, but not enough memory or not on the right launchers, nothing behind it starts at all. It
// starts at the latest when what runs now has ended.
//
// Slots are not collected for a bundle that would not fit an empty cluster, nor for second attempts
// of stragglers. Work of jobs ahead of it still goes first.
//
// # Launches ahead
//
// The first job of the queue that has something ready gets the next slots. So bundles of its short
// stages are launched ahead (scheduler.Launch), also while other jobs wait.
//
// # Settings
//
//	collect-after: 30s   # how long smaller work may pass; 0s: never
//	locality: {mode: nearest} # nearest, min-cost-flow, none; package locality below sdk/scheduler/algorithms has its other keys
//
// # Limits
//
// The policy takes nothing back from running work, and keeps nothing in a checkpoint: its order follows
// from the jobs.
package fifo
