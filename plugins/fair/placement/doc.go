// Package placement gives away free slots: again and again one bundle of the job that
// comes first, near to its input when that can be had.
//
//	p.Start(shared, urgent)
//	p.Configure(heartbeat, nil)
//	p.Begin()                       // a round; then its events, then Sync
//	launches, _ := p.Assign(false)
//
// A job that cannot use what is free is passed over for the round (Visit says why).
// One whose work all waits for room near its input is not looked at again before there is
// some, or its wait is over. What launches take counts as held until the next round tells
// what became of it.
//
// Two parts are chosen by name: who picks a job's bundle (TaskSelector), and how much a
// launcher may take (LoadManager). When the order of jobs has decided what starts, a
// min-cost flow may place the work of all of them. For a bundle that was passed over
// too long, slots are collected.
package placement
