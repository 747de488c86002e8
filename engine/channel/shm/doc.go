// Package shm hands batches from one node to another inside a process, without a
// copy. A queue holds a bounded number of bytes; a writer waits while it is full.
//
// Fork and join inside a group can wait for each other in a circle: a join that
// wants all of its left input first, while the node that feeds both sides waits
// for room on the right. So a writer waits only for a reader that moves: when a
// full queue's reader takes nothing for the stall time, what follows goes to a
// spill file, without limit of time and up to a limit of disk, until the reader
// takes again. Batches come out in the order they were written, wherever they
// were kept. The spill file has no name: it is gone with the process, whatever
// ends it.
package shm
