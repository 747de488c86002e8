// Package dynamicpriority is the policy of the Dynamic Priority Scheduler (Sandholm and Lai,
// "Dynamic Proportional Share Scheduling in Hadoop"): users bid for slots, and pay for what
// they use out of a budget.
//
// # Queues and bids
//
// A queue belongs to a user of the same name. It has a budget, and a spending rate: what its
// owner bids for a slot and an allocation interval. A job pays from the queue of the user who
// was admitted with it, wherever it is moved later. Who has no queue is not admitted.
//
// At the end of each interval every queue pays for the slots that it used, up to its quota, at
// the rate that was in force; then the bids of those who have jobs, and whose budget covers
// the bid, divide the slots of each kind into the quotas of the next interval. Package account
// has the rules. Who has no jobs pays nothing, nor does anybody for what was used before the
// policy started: so nobody is charged while another policy decides.
//
// # What runs next
//
//  1. Queues get slots up to their quotas: those furthest below them first, each what it
//     would get if slots were given one by one.
//  2. What is left goes to whoever can use it, job by job in order of priority and
//     submission. Nobody pays for it.
//
// Within a queue, work goes first that has waited for collect-after, then gangs, then what is
// near its input, then the rest; jobs in order of priority and submission. A bundle
// that needs more than the quota has left waits, but one whose queue holds nothing may
// start. Slots are collected for what has waited for collect-after and does not fit: of
// those that are left, and for work within its queue's quota of all that are free.
//
// # Preemption
//
// With a kill-interval, slots are taken back for ready work of a queue below its quota that
// then fits, at most once in an interval for each kind of slots. Queues over their quota
// lose, those whose newest running job was submitted last first, down to their quotas; within a
// queue the attempts that have run shortest. They are killed, and their work is ready again.
//
// # Settings
//
//	alloc-interval: 20s       # 1s to 1h
//	kill-interval: 0s         # 0s: nothing is taken back
//	collect-after: 30s        # 0s: never
//	locality: {mode: nearest} # nearest, min-cost-flow, none; package locality below sdk/scheduler/algorithms has its other keys
//	simulated-budget: 1000000 # of each queue in a simulation, which has no store
//	simulated-spending: 1
//	skew: 5m                  # how far the clock of who signs may be from the manager's; 1s to 1h
//	timestamps-rise: false    # true: a user's signatures come in order of their timestamps, as in the document
//	accept-sha1: true         # signatures by HMAC-SHA1, as the document has them, beside HMAC-SHA256
//	accept-proven: false      # who the manager has proved need not sign
//	poll-interval: 5s         # how often a database is looked at for changes of others; 100ms to 1h
//
// # The store of budgets
//
// Budgets are kept by a store in the plug-in's shell, which talks with the policy by notes.
// Until the store has told what it has, nothing is launched, and jobs wait for it. The notes
// are
//
//	dynamic-priority/from     from the store: its name, before it tells what it has
//	dynamic-priority/store    from the store: what it has (account.Parts)
//	dynamic-priority/applied  from the store: the number of the last entry that it applied
//	dynamic-priority/failed   from the store: why it can't be read or written, empty when it can
//	dynamic-priority/host     from the store: the name of the machine, for answers
//	dynamic-priority/entries  from the policy: what is to be applied (account.ParseEntries)
//	dynamic-priority/dropped  from the policy: how many entries are left out, because the store is a new one
//
// In a simulation there is no store, and no note: a queue is opened for each user who submits.
//
// # What a restart keeps
//
// A checkpoint holds the rates in force, what the store has not acknowledged, since when slots
// are not taken back again, and what is leaving. What was used of the interval in flight is
// not paid. It is written by pieces: an interval adds what changed in it, and it is written
// whole when the sum reaches Limits.CheckpointBytes.
package dynamicpriority
