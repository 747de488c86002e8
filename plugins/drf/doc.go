// Package drf is dominant resource fairness. Pools share slots, memory and countable resources such as
// GPUs. What counts is a pool's largest share of any of them.
//
//	func main() { serve.Main(drf.New) }
//
// The source is Ghodsi, Zaharia, Hindman, Konwinski, Shenker and Stoica, "Dominant Resource Fairness:
// Fair Allocation of Multiple Resource Types", NSDI 2011. A pool's share of a resource is what its
// attempts hold of it, divided by what the launchers have. Its dominant share is the largest of these.
// Each kind of slot counts as a resource, as do memory and each countable kind.
//
// # What runs next
//
// Progressive filling, section 4.1: again and again, the pool with the lowest dominant share gets its
// next bundle, if that fits. Section 4.3 divides the share by the pool's weight. Of equal pools the
// first by name comes first. A pool for which nothing fits is passed over, so that no slot idles.
//
// Within a pool, jobs go by priority, then by time of submission. Within a job, gangs come first. Then
// each launcher with room gets work whose input it holds, then work whose input its rack holds, then
// the rest. Second attempts come last.
//
// # Large work
//
// A bundle that needs several units at once is passed over while it does not fit. After collect-after
// what it needs is held back for it, as package gangs below sdk/scheduler/algorithms says.
//
// # Settings
//
//	collect-after: 30s   # how long smaller work may pass; 0s: never
//	pools:               # others have weight 1
//	  research: {weight: 2}
//
// # Limits
//
// The policy takes nothing back from running work. So a pool that comes late gets its share as attempts
// end. A suspended attempt counts with all that it asked for. Jobs that name no pool share the pool
// "default".
package drf
