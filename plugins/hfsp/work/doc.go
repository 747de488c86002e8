// Package work indexes jobs by stage: the view has jobs, and HFSP serves stages.
//
//	var b work.StageIndex
//	b.Start(&v) // after v.Start
//	...
//	b.Update(round.Events) // after v.Apply
//	for _, s := range b.Changed() { ... }
//	b.EndRound()
//
// The nouns are a Stage with its ready bundles and slots, and a Unit, which is one launch of a
// bundle. A bundle belongs to the stage of its first group, and so do all slots of that stage's
// kind that its groups hold. A stage all of whose groups are in bundles of another one follows it
// (Bound). Slots of groups of other kinds are in StageIndex.Beside.
//
// Nothing is decided here. All lists are in order of id, so that equal histories give equal
// indexes. An index that was started from a snapshot equals one that was there before.
package work
