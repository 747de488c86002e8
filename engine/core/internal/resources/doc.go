// Package resources counts the launchers' total, allocated and reserved resources: slots by kind,
// memory and swap. It has the reservations for the beneficiaries of preemptions, the launchers that
// the site excludes, and the load of machines. It makes the offers for the policy.
//
// Each part uses only earlier ones, in this order: Launchers, Offers, Reservations, Exclusions,
// Resources.
//
// It knows neither jobs nor attempts. A Bundle requests so much for each of its groups. An attempt
// holds an Allocation, which its owner keeps.
//
// # Invariants
//
// Of each launcher that is up, and of each kind of slot, free, allocated and reserved slots add up
// to what it has; memory likewise. None of the three is negative. Memory of allocations without
// slots goes to swap as far as there is room, and only the rest counts (scheduler.InSwap). A
// launcher that is not up has no allocations and no reservations. A reservation counts as many
// victims as there are allocations that name it. It exists while a victim is left or it keeps
// something. See Check.
//
// # Reservations
//
// What a preemption frees is reserved for its beneficiary, a job or one bundle of it. So it is
// still there when the victims have left. A bundle that was preempted is protected for a while, and
// policies know until when. Offers name the bundle that a reservation is for. So a policy does not
// start another bundle on it, is refused, and tries again in every round. The rule is
// scheduler.Reservation's; core, view and conformance kit all keep it.
//
// These are the manager's rules and not each policy's. Schedulers whose policies have to keep them
// loop: evict, lose the slot to another, evict again.
//
// # Swap
//
// A suspended attempt keeps its memory. On a launcher whose memory is all allocated, suspension
// would therefore free unusable slots. So a site may grant part of a machine's swap to suspended
// attempts (launcher.swap, default 0). Together they fill as much of it as they can, and only the
// rest counts in memory (scheduler.InSwap). What a suspension frees, what a resumption needs and
// what an end returns is the change of that sum. It depends on which attempts are suspended and not
// on their order, so a restart changes nothing. Hamadryad moves no pages: the system does, when
// memory is short.
//
// A site also bounds how many attempts are suspended on a launcher (core.suspendedMax) and how much
// of its memory and swap they hold together (core.suspendedPercent). Attempts that are about to be
// suspended count. A preemption beyond these bounds is refused as LimitReached.
//
// # Launchers that drain or are excluded
//
// They offer nothing for new work, and nothing is reserved there. Attempts that are suspended there
// can resume nowhere else. So while there are any, the offer says what is free for resuming them.
//
// # Load
//
// Slots and memory say nothing of other programs on a machine, so heartbeats carry its load. That
// is the share of processor time since the last heartbeat that was not idle, and the share of
// memory that is not available. The system's load average is not used: it lags, and counts
// processes that wait for disks. Values that the system does not give are left out, and are never a
// reason to refuse.
//
// Only a policy with AbilityLoad receives loads, since each heartbeat would otherwise be in the log
// and cause a round. A change is passed on when it is at least a twentieth, at most once a second,
// or a hundredth after ten seconds. The shell filters before the log. The core keeps the loads, and
// gives them to a policy that takes over or begins to ask.
package resources
