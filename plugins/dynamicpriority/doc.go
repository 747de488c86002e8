// Package dynamicpriority is the policy of the Dynamic Priority Scheduler (Sandholm and Lai,
// "Dynamic Proportional Share Scheduling in Hadoop"). Users bid for slots, and pay for those that
// they use out of a budget.
//
//	func main() { serve.Main(dynamicpriority.New, serve.WithShell(shell.New())) }
//
// The nouns are a queue with its budget and bid, the allocation interval, the price, and the quota
// of a queue. Package account has the arithmetic, and package shell keeps the budgets.
//
// # Queues and bids
//
// A queue belongs to a user of the same name. It has a budget, and a spending rate: its owner's bid
// for a slot and an allocation interval. A job pays from the queue of the user that was admitted
// with it, wherever it is moved later. A job of a user without a queue is not admitted.
//
// At the end of each interval every queue pays for the slots that it used, up to its quota, at the
// rate in force. Then the bids divide the slots of each kind into the quotas of the next interval.
// A bid counts where the queue has jobs and its budget covers the bid. Package account has the
// rules.
//
// A queue without jobs pays nothing. Use before the policy started is not charged either, so
// nothing is charged while another policy decides.
//
// # What runs next
//
//  1. Queues get slots up to their quotas, the queue furthest below its quota first. Each gets what
//     it would get if slots were given one by one.
//  2. The rest is given to any job that can use it, in order of priority and submission. It costs
//     nothing.
//
// Within a queue, work that has waited for collect-after goes first, then gangs, then work near its
// input, then the rest. Jobs come in order of priority and submission.
//
// A bundle that needs more than the quota has left waits, but one whose queue holds nothing may
// start. Slots are collected for a bundle that has waited for collect-after and does not fit. They
// come from slots that quotas leave over and, for work within its queue's quota, from all free
// ones.
//
// # Preemption
//
// With a kill-interval, slots are taken back for ready work of a queue below its quota that then
// fits. This happens at most once in an interval for each kind of slots. Queues over their quota
// lose, down to their quotas: first the queue whose newest running job was submitted last. Within a
// queue the attempts lose that have run shortest. They are killed, and their work is ready again.
//
// # Settings
//
//	alloc-interval: 20s       # 1s to 1h
//	kill-interval: 0s         # 0s: nothing is taken back
//	collect-after: 30s        # 0s: never
//	locality: {mode: nearest} # nearest, min-cost-flow, none; package locality below sdk/scheduler/algorithms has its other keys
//	simulated-budget: 1000000 # of each queue in a simulation, which has no store
//	simulated-spending: 1
//	skew: 5m                  # how far a signer's clock may be from the manager's; 1s to 1h
//	timestamps-rise: false    # true: a user's signatures come in order of their timestamps, as in the document
//	accept-sha1: true         # signatures by HMAC-SHA1, as the document has them, beside HMAC-SHA256
//	accept-proven: false      # callers that the manager has authenticated need not sign
//	poll-interval: 5s         # how often a database is read for changes by others; 100ms to 1h
//
// # The store of budgets
//
// Budgets are kept by a store in the plug-in's shell, which talks with the policy by notes. Until
// the store has sent its state, nothing is launched, and jobs wait. The notes are
//
//	dynamic-priority/from     from the store: its name, before it sends its state
//	dynamic-priority/store    from the store: its state (account.Parts)
//	dynamic-priority/applied  from the store: the number of the last entry that it applied
//	dynamic-priority/failed   from the store: why it can't be read or written, empty when it can
//	dynamic-priority/host     from the store: the name of the machine, for answers
//	dynamic-priority/entries  from the policy: what is to be applied (account.ParseEntries)
//	dynamic-priority/dropped  from the policy: how many entries are left out, because the store is a new one
//
// In a simulation there is no store, and no note: a queue is opened for each user that submits a
// job.
//
// # What a restart keeps
//
// A checkpoint holds the rates in force and the entries that the store has not acknowledged. It
// also holds when slots were last taken back, and which attempts are leaving. Use in the interval
// in flight is not paid. The checkpoint is written in pieces: an interval adds what changed in it.
// It is written whole when the sum reaches Limits.CheckpointBytes.
package dynamicpriority
