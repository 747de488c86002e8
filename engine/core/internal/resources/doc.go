// Package capacity is what launchers have, what is held of it, and what is reserved:
// slots by kind, memory, reservations for those for whom somebody was preempted, the
// launchers that the site avoids, and how busy machines are. It makes the offers for the
// policy.
//
// It knows neither jobs nor attempts. A bundle is what takes so many demands; an attempt
// is a Holding, which its owner keeps.
//
// # What holds
//
// Of each launcher that is up, and of each kind: what is free, what holdings hold and
// what reservations keep are together what it has; memory likewise. None of the three is
// negative. Of the memory of holdings that gave back their slots, swap takes what it can,
// and only the rest counts (scheduler.InSwap). A launcher that is not up has no holdings and nothing is reserved there.
// A reservation counts as many victims as there are holdings that name it, and is there
// only while one of them is left or it keeps something. See Check.
package resources
