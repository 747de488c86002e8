// Package work keeps what there is to do of each stage, and what is being done: the view
// tells of jobs, and HFSP serves stages.
//
//	var b work.Book
//	b.Start(&v) // after v.Start
//	...
//	b.Update(round.Events) // after v.Apply
//	for _, s := range b.Touched() { ... }
//	b.Rest()
//
// A bundle belongs to the stage of its first group, and so do all slots of that stage's kind
// that its groups hold. What the groups of other kinds hold is in Book.Beside.
//
// Nothing is decided here. All lists are in order of id, so that equal histories give
// equal books, and a book that was started from a snapshot equals one that was there.
package work
