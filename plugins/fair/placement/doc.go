// Package placement gives free slots to jobs: again and again one bundle of the job that comes
// first, near its input if possible.
//
//	p.Start(shared, urgent)
//	p.Configure(heartbeat, nil)
//	p.Begin()                       // a round; then its events, then Sync
//	launches, _ := p.Assign(false)
//
// A job that cannot use the free slots is passed over for the round (PassOver notes why). One whose
// work all waits for room near its input is not looked at again before there is some, or its wait
// is over. Slots of launches count as held until the next round has their outcomes.
//
// Two parts are chosen by name: a TaskSelector picks a job's bundle, and a LoadManager says how
// much a launcher may take. When the order of jobs has decided what starts, a min-cost flow may
// place the work of all of them. For a bundle that was passed over too long, slots are collected.
package placement
