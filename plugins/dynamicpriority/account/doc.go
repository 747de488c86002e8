// Package account keeps the accounts of queues: what each has, bids, uses and pays.
//
//	l := account.New(20 * time.Second)
//	l.Begin(now)
//	l.Adopt(state, now)                        // what the store has
//	l.SetSlots(map[string]int{"default": 100}, now)
//	l.JobCame("alice")
//	l.Hold("alice", "default", 1, now)         // a slot is taken from now on
//	l.Advance(later)                           // closes the intervals that ended
//	entries := l.Post()                        // what the store is to apply
//
// # An interval
//
// Time is cut into intervals of a length, at its multiples. At the end of each:
//
//  1. Each queue pays for the slots that it used, up to its quota, at the rate in force over the
//     interval. The charge is rate × slot-time ÷ length in whole micro-credits. The fraction is
//     carried to the next interval, so that in the long run exactly the use is paid.
//  2. The effective rate of each queue is found: its bid where it has jobs and its budget covers
//     the bid, else 0. Their sum is the price.
//  3. Effective rates divide the slots of each kind into the next interval's quotas, and are the
//     rates in force over it.
//
// A bid that changes therefore counts from the next interval on. No queue pays more than it bid,
// nor for more than its quota. It never pays more than its budget either: the cost of a quota is at
// most the budget at the interval's start. A budget falls below zero only where an administrator
// takes some back.
//
// Use before Begin is not charged: another policy decided then.
//
// # The store
//
// The store has the truth, and follows the ledger. Each change is an Entry with a number, which the
// store applies once, in order, as State.Apply does. Entries that it has not acknowledged are
// counted on top of its last state, so that neither side loses a change of the other.
//
// All amounts are integers in micro-credits (package money). A Ledger belongs to one goroutine.
package account
