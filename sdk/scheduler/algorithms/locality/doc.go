// Package locality has what policies share to run work near its input. Settings are the same in
// each policy. A Pass launches a job's work near its input first, and a Placer places a round's
// launches together. A Wait is for delay scheduling.
//
// # Placing a round's launches
//
// A policy chooses what starts, by its own order, shares and limits, and takes room for it in its
// view.
//
//	p := locality.Pass{View: v, Job: j, Kind: kind, Full: full, Launch: launch}
//	p.Near(scheduler.RackLocal)                    // where its input lies
//	p.Each(j.ReadyOfKind(kind, 0), v.Fit)          // then anywhere
//	placer.Place(&settings, placement.Round{View: v}, launches)
//
// With ModeFlow, Place moves the launches where they cost least. Package placement has the rules.
//
// # Delay scheduling
//
// A job that cannot start work near its input lets others use the slots for a while. It takes slots
// further away only when it has been passed over long enough.
//
//	var w locality.Wait // one for each job
//	switch level := w.Allowed(now, limits); {
//	case launchedNoFurtherThan(level):
//		w.Launched(where)
//	default:
//		w.Skip(now) // others are served; wake up at w.Next
//	}
//
// The rules are the Hadoop Fair Scheduler's (design document, section 4.8). A job starts at
// node-local. Time counts only while it is passed over: while no slot is free, a job does not wait
// for locality. At the node limit it may take rack-local slots, at the rack limit after that any.
//
// A launch ends the wait. The job may launch again at the level of its last launch without waiting.
// So a launch near its input makes it wait for such again.
//
// A Wait is plain data: save it, restore it, compare it.
package locality
