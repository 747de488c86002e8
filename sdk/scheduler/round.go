package scheduler

// Round is one exchange between manager and policy: what happened, and what is free. One round is
// in flight at a time.
type Round struct {
	// Number counts up by one from the first round of a manager's life, across restarts of the
	// policy.
	Number uint64
	// Now is the manager's time at which the round was made.
	Now Time
	// Events in the order they happened. The outcomes of the previous round's
	// decisions are among them.
	Events []Event
	// Offers that changed since the last round, ascending by launcher; all of them in the first
	// round after Start. An unlisted offer is unchanged. They are the state after the round's
	// events, net of every accepted decision.
	Offers []Offer
}

// Offer is what is free on one launcher. A launcher that is lost, draining, excluded or full offers
// nothing free. If attempts are suspended on a draining or excluded launcher, ForResume and
// ForResumeMemory are what is free there: those attempts may resume, since they can't elsewhere,
// and nothing may start.
type Offer struct {
	Launcher  LauncherID
	Free      []SlotCount   // free and not reserved, in order of kind; kinds with none are left out
	Memory    int64         // free and not reserved, bytes
	Suspended int           // attempts suspended there
	Held      int64         // their memory, bytes: in swap first, the rest in memory
	Swap      int64         // free of the launcher's swap, bytes: a suspension frees the memory that fits into it
	Reserved  []Reservation // in order of job, bundle, then kind
	Resources Resources     `json:",omitzero"` // free and not reserved

	ForResume          []SlotCount // free for attempts suspended there, as Free
	ForResumeMemory    int64       // likewise, as Memory
	ForResumeResources Resources   `json:",omitzero"` // likewise, as Resources

	// Ahead is how many bundles may be launched ahead there (Launch.Ahead), by job, then stage. Only a
	// policy with AbilityAhead gets it, and only for stages whose attempts are short.
	Ahead []AheadRoom `json:",omitempty"`
}

// AheadRoom is how many bundles of a stage a launcher may hold ahead, beside those that it holds.
type AheadRoom struct {
	Job       JobID
	Stage     StageID
	Count     int // now; it may be 0
	PerLaunch int `json:",omitzero"` // more of them for each bundle that the same round launches there before
}

// Reservation is free capacity at one launcher. A preemption reserves it for its beneficiary, or
// the manager for work that other bundles of its job wait for.
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
	Slots  int   // 0 if only memory is reserved
	Memory int64 // bytes; counted once, on the reservation's first kind
	// Resources are countable resources, counted once like Memory.
	Resources Resources `json:",omitzero"`
}
