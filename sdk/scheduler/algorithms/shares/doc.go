// Package shares divides a number of slots among sharers by weight, so that
// nobody gets more than it can use and everybody gets its guaranteed minimum.
//
//	parts := shares.Divide(60, []shares.Sharer{
//		{Weight: 1, Demand: 100},
//		{Weight: 2, Demand: 30},
//	})
//	// [30 30]: the second needs no more, the first gets the rest
//
// The algorithm is the Hadoop Fair Scheduler's (design document, section 4.6): find
// the ratio r at which the parts min(demand, max(r·weight, minimum)) add up to
// what there is. Minimums that exceed it are scaled down in proportion (section
// 3.2).
//
// Everything here is a pure function; shares are in slots and need not be whole.
package shares
