// Package audit compares the charges of the policy dynamic-priority with the use in the manager's
// event log. It is for tests of processes that are killed.
//
//	books, err := audit.Read("data/manager", time.Second)
//	books.Wrong            // violations
//	books.Holds(put, has)  // compares the store's deposits with its content
//
// # What is checked
//
// The log is played through the core again. So the auditor sees the policy's events, the deciding
// policy, and its notes for the store. It counts slots and money by itself.
//
//   - A queue is charged once for an interval, and an entry's number is never given to another.
//   - Nobody is charged more than the slot-time that was used while this policy decided, at the
//     highest rate that was bid.
//   - Each interval of constant rates and slots is charged rate × min(used, quota), to a millionth
//     of a credit, and none is left out.
//   - A policy's process that ends, or answers no more, leaves at most one interval without a
//     charge.
//
// Intervals in which something changed are checked by the second rule alone.
package audit
