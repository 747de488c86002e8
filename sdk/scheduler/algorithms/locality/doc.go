// Package locality is what policies share to run work near its input: Settings, which are the same
// in each policy, a Placer of a round's launches, and delay scheduling.
//
// # Placing a round's launches
//
// A policy chooses what starts, by its own order, shares and limits, and takes room for it in its
// view. Then
//
//	placer.Place(&settings, placement.Round{View: v}, launches)
//
// moves the launches where they cost least, with ModeFlow. Package placement has the rules.
//
// # Delay scheduling
//
// A job that cannot start work near its input
// lets others use the slots for a while, and takes slots further away only when it
// has been passed over long enough.
//
//	var w locality.Wait // one for each job
//	switch level := w.Allowed(now, limits); {
//	case launchedNoFurtherThan(level):
//		w.Launched(where)
//	default:
//		w.Skip(now) // others are asked; wake up at w.Next
//	}
//
// The rules are the Hadoop Fair Scheduler's (design document, section 4.8). A job
// starts at node-local. Time counts while it is passed over, and only then: a job
// that was not even asked because no slot was free does not wait for locality. At
// the node limit it may take rack-local slots, at the rack limit after that any. A
// launch ends the wait; the job may launch again at the level of its last launch
// without waiting, so a launch near its input makes it wait for such again.
//
// A Wait is plain data: save it, restore it, compare it.
package locality
