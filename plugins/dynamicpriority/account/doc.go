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
//  1. Each queue pays for the slots that it used, up to its quota, at the rate that was in
//     force over the interval. What is used is slot-time; the charge is rate × slot-time ÷
//     length in whole micro-credits, and the part of one that remains is carried to the
//     next interval, so that after any number of them exactly what was used is paid.
//  2. The effective rate of each queue is found: its bid where it has jobs and its budget
//     covers the bid, else 0. Their sum is the price.
//  3. Effective rates divide the slots of each kind into the next interval's quotas, and
//     are the rates in force over it.
//
// A bid that changes therefore counts from the next interval on. Nobody pays more than was
// bid, nor for more than the quota, nor more than the budget: what a quota could cost is
// never more than the budget was when the interval began. A budget falls below zero only
// where an administrator takes some back.
//
// Time before Begin is nobody's: what was used while another decided is not paid for.
//
// # The store
//
// The store is the truth, and follows: each change is an Entry with a number, which the
// store applies once, in order, as State.Apply does. What it has not acknowledged stands in
// the ledger on top of what it has told, so that neither side loses what the other did.
//
// All amounts are integers, package money says of what. A Ledger belongs to one goroutine.
package account
