package scheduler

// Round is one exchange between manager and policy: what happened, and what
// there is to give. One round is in flight at a time.
type Round struct {
	// Number counts up by one from the first round of a manager's life and goes
	// on across restarts of the policy.
	Number uint64
	// Now is the manager's time at which the round was made.
	Now Time
	// Events in the order they happened. The outcomes of the previous round's
	// decisions are among them.
	Events []Event
	// Offers that changed since the last round, ascending by launcher; all of
	// them in the first round after Start. An offer that is not listed stands as
	// it was. They are the state after the round's events, net of every accepted
	// decision.
	Offers []Offer
}

// Offer is what one launcher has to give. A launcher that is lost, draining, excluded or
// full offers nothing free. Of one that is draining or excluded ForResume and ForResumeMemory tell
// instead what is free, while something is suspended there: that may go on, as nowhere
// else it can, and nothing may start.
type Offer struct {
	Launcher  LauncherID
	Free      []SlotCount   // free and not reserved, in order of kind; kinds with none are left out
	Memory    int64         // free and not reserved, bytes
	Suspended int           // attempts suspended there
	Held      int64         // their memory, bytes: in swap first, the rest in memory
	Swap      int64         // free of the launcher's swap, bytes: to suspend frees as much memory as goes there
	Reserved  []Reservation // in order of job, bundle, then kind
	Resources Resources     `json:",omitzero"` // free and not reserved

	ForResume          []SlotCount // free for what is suspended there, as Free
	ForResumeMemory    int64       // likewise, as Memory
	ForResumeResources Resources   `json:",omitzero"` // likewise, as Resources
}

// Reservation is free capacity at one launcher. A preemption keeps it for its beneficiary, or the
// manager for work that others of its job wait for.
//
// Where Bundle is set, only a launch or resumption of that bundle may draw on it. Where it is 0, a
// launch of any bundle of the job may. A launch draws first on the reservations for its bundle,
// then on those for its job, then on free capacity. A resumption draws on the reservations for its
// bundle, then on free capacity. Nothing else draws on it.
//
// A reservation ends, and what is left of it is free for all, when
//
//   - its bundle is launched, wherever that is, or resumed;
//   - its bundle is neither ready nor suspended any more: an attempt of it ended, or is to;
//   - where no bundle is named, a launch has left the job without a ready bundle;
//   - Environment.ReserveMax has passed since the preemption, and the grace of a soft kill;
//   - the launcher drains, is excluded or is lost, for what is kept there;
//   - the job ends;
//   - another policy takes over, or this one is started anew.
type Reservation struct {
	Job    JobID
	Bundle BundleID // the one bundle that may draw on it; 0: any of the job's that starts
	Kind   SlotKind
	Slots  int   // 0 where only memory is kept
	Memory int64 // bytes; counted once, on the reservation's first kind
	// Resources are countable resources, counted once like Memory.
	Resources Resources `json:",omitzero"`
}
