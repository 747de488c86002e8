// Package shares divides a number of slots among sharers by weight. No sharer gets more than it can
// use, and each gets its guaranteed minimum.
//
//	parts := shares.Divide(60, []shares.Sharer{
//		{Weight: 1, Demand: 100},
//		{Weight: 2, Demand: 30},
//	})
//	// [30 30]: the second needs no more, the first gets the rest
//
// The algorithm is the Hadoop Fair Scheduler's (design document, section 4.6). It finds the ratio r
// at which the parts min(demand, max(r·weight, minimum)) add up to the slots. Minimums that exceed
// the slots are scaled down in proportion (section 3.2).
//
// Everything here is a pure function. Shares are in slots and need not be whole.
package shares
