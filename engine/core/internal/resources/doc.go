// Package resources is what launchers have, what is allocated of it, and what is reserved: slots
// by kind, memory and swap; reservations for the beneficiaries of preemptions; the launchers that
// the site excludes; and the load of machines. It makes the offers for the policy.
//
// It knows neither jobs nor attempts. A Bundle requests so much for each of its groups. An attempt
// holds an Allocation, which its owner keeps.
//
// # Invariants
//
// Of each launcher that is up, and of each kind of slot, free, allocated and reserved slots add up
// to what it has; memory likewise. None of the three is negative. Memory of allocations that gave
// back their slots goes to swap as far as there is room, and only the rest counts
// (scheduler.InSwap). A launcher that is not up has no allocations and no reservations. A
// reservation counts as many victims as there are allocations that name it. It exists while a
// victim is left or it keeps something. See Check.
package resources
