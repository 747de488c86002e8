// Package placing gives away free slots: again and again one bundle of the job that
// comes first, near to its input when that can be had.
//
//	p.Start(shared, urgent)
//	p.Configure(locality.Automatic(heartbeat), nil)
//	p.Begin()                       // a round; then its events, then Sync
//	launches, _ := p.Assign(false)
//
// A job that cannot use what is free is passed over for the round (Visit says why).
// One whose work all waits for room near its input is not looked at again before there is
// some, or its wait is over. What launches take counts as held until the next round tells
// what became of it.
//
// Three parts are chosen by name: who picks a job's bundle (TaskSelector), how much a
// launcher may take (LoadManager), and whether the order of jobs alone decides or a
// min-cost flow where the work of all of them goes. For a bundle that was passed over
// too long, slots are collected.
package placing
