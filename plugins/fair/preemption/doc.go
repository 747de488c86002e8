// Package preemption finds the pools that are starved: below their minimum share, or too far below
// their fair share, for longer than their timeouts. It takes slots back for them (design document,
// section 4.5).
//
//	p.Start(shared, limits)
//	p.Configure()
//	p.Update()           // every update interval: shares are computed
//	sets := p.Preempt()  // every preemption interval: the victims, and for which job
//	p.Outcome(o)         // what became of a set
//
// Victims are whole launches of bundles, the newest first. No pool is left with less than the whole
// slots of its fair share. Slots on their way to a pool are counted.
package preemption
