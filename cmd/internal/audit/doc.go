// Package audit holds what the policy dynamic-priority charged against what the manager's event
// log says was used. It is for tests of processes that are killed.
//
//	books, err := audit.Read("data/manager", time.Second)
//	books.Wrong            // what must not be
//	books.Holds(put, has)  // and what was put into the store against what it has
//
// # What is checked
//
// The log is played through the core again. So the auditor hears what the policy was told, which
// policy decided, and what the policy posted for the store. It counts slots and money by itself.
//
//   - A queue is charged once for an interval, and an entry's number is never given to another.
//   - Nobody is charged more than the slot-time that was used while this policy decided, at the
//     highest rate that was bid.
//   - Each interval of constant rates and slots is charged rate × min(used, quota), to a millionth
//     of a credit, and none is left out.
//   - A policy's process that ends, or answers no more, leaves at most one interval without a
//     charge.
//
// Intervals over which something changed are held against the second rule alone.
package audit
