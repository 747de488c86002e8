// Package preemption knows which pools are starved: below their minimum share, or too
// far below their fair share, and for how long. It takes slots back for those that have
// been for too long.
//
//	p.Start(shared, limits)
//	p.Configure()
//	p.Update()           // every update interval: shares are computed
//	sets := p.Preempt()  // every preemption interval: who has to leave, and for whom
//	p.Outcome(o)         // what became of a set
//
// Victims are whole bundle attempts, the newest first. No pool is left with less than
// the whole slots of its fair share. What is on its way to a pool is counted.
package preemption
