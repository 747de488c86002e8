// Package life is who there is: jobs, their bundles, the attempts at those and the
// launchers that they live on, with what each of them is and has, and who is on which
// list. It moves nobody by itself: the rooms beside it do.
//
// # What holds
//
// A live attempt is in the sets of its job and of its launcher, and nowhere else. A bundle
// that is ready is in its job's list of those, in the order in which they became ready. What
// is counted (nodes by phase, attempts that are suspended or speculative, files, counters) is
// what a count of everything would find: State.Check counts.
//
// A checkpoint has all of it; indexes and counts are made anew from the rest.
package state
