// Package work keeps what there is to do of each stage, and what is being done: the view
// tells of jobs, and HFSP serves stages.
//
//	var b work.StageIndex
//	b.Start(&v) // after v.Start
//	...
//	b.Update(round.Events) // after v.Apply
//	for _, s := range b.Changed() { ... }
//	b.EndRound()
//
// A bundle belongs to the stage of its first group, and so do all slots of that stage's kind
// that its groups hold. What the groups of other kinds hold is in StageIndex.Beside.
//
// Nothing is decided here. All lists are in order of id, so that equal histories give
// equal indexes, and an index that was started from a snapshot equals one that was there.
package work
