// Package fair is the fair-sharing policy. Jobs are grouped into pools, and each pool gets its part
// of the slots by weight, its guaranteed minimum first.
//
//	func main() { serve.Main(fair.New) }
//
// It is the Hadoop Fair Scheduler: "document" here means its design document. It adds nested pools,
// gangs and several kinds of slot, as in Hammr, and the orders of Disco. Its algorithms are public,
// in packages shares, locality, gangs and preemption below sdk/scheduler/algorithms.
//
// The nouns are a pool with its weight, shares and order of jobs, and a starved pool, which takes
// slots back. Package allocation reads settings and pools. Package shares has slots, pools and
// jobs. Package placement gives free slots to jobs, and package preemption takes slots back. This
// package has the order of a round, checkpoints and explanations.
//
// # What runs next
//
// Each kind of slot is served in order of name, as long as slots are free. The pool is asked that
// is furthest below its minimum share, then the pool with the fewest running slots by weight. In it
// the job is asked that its inner order has first. A job that cannot use the free slots is passed
// over for the round.
//
// With locality mode min-cost-flow, the order and the delays decide what starts. Then all launches
// of the round are placed together. Work that waits for its input may start on slots that no job
// takes, where moving other launches makes room near its input.
//
// # Settings
//
//	allocation-file: pools.yaml   # one of policy.files; YAML or Hadoop's XML; read again when it changes; one without
//	                              # allocations is refused, and what was in force before stays
//	allocations: {}               # or the same here
//	update-interval: 500ms        # how often shares are computed and starvation is looked at
//	collect-after: 30s            # passed over for longer, a gang has slots collected for it; 0s: never
//	locality:
//	  mode: delay                 # delay, min-cost-flow, nearest, none; package locality below sdk/scheduler/algorithms has its other keys
//	  node-delay: auto            # wait for a node-local slot; auto: 1.5 heartbeats
//	  rack-delay: auto            # then for a rack-local one
//	  selector: default           # picks a job's tasks: default
//	  cap: remote                 # located work never goes further: node-local, rack-local, remote
//	placement:
//	  rules: [explicit, user, default]  # explicit, property, user, group, default; the first that has a pool
//	  property: pool.name         # of the rule property, which needs it; none when left out
//	  property-defaults: {pool.name: "${user.name}"}  # may refer to other properties
//	  group-property: group.name
//	  undeclared: own             # create, own, refuse: what becomes of a job for a pool that is not declared; create with Hadoop's XML; see Allocations
//	preemption:
//	  mode: kill                  # off, kill, soft (asked to end first), suspend (where launchers can, else kill; what forbids it is spared, but for a minimum share)
//	  interval: 5s                # how often slots are taken back; shares are computed then, too
//	  fair-share-threshold: 0.5   # starved below this part of the fair share; Hammr has 0.67
//	  grace: 10s                  # of a soft kill
//	  protect: 1m                 # a bundle is not taken again before, but for a minimum share; 0s: at once
//	  times-max: 3                # nor more often than this, but for a minimum share; 0: no bound
//	  sets-max: 1000              # sets of victims, each for one bundle, that one pass names, 1 to 1000; the rest waits an interval; Hammr has 1
//	  dry-run: false              # only report what would be taken, in notes and the trace
//	weights:
//	  size-based: false           # jobs weigh log2(1+demand)
//	  adjuster: none              # new-job-boost, none; new-job-boost: heavier for a while after submission
//	  boost-factor: 3
//	  boost-duration: 5m
//	load:
//	  manager: slots              # level-slots, load, memory, slots; level-slots: all launchers about equally full; memory: that,
//	                              # and none over nine tenths of its memory; load: none whose machine is busier than cpu-max or memory-max
//	  max-difference: 0           # level-slots: how much fuller than the cluster a launcher may be, 0 to 1
//	  cpu-max: 0.9                # load: part of all processors' time that is in use, above 0 to 1
//	  memory-max: 0.9             # load: part of the machine's memory that is in use, above 0 to 1
//	trace:
//	  enabled: false              # one JSON object a line, into the file that policy.trace grants
//	  dump-interval: 1m           # how often all pools are written
//	  size-max: 1073741824        # bytes; then the file is put aside, over the one before
//
// # Allocations
//
//	pools:
//	  production:
//	    weight: 2                     # above 0; default 1
//	    order: fifo                   # deficit, disco-fair, fair, fifo; default below
//	    min-share: {map: 10, reduce: 5}  # slots by kind; a number is of kind default
//	    max-share: {map: 40}
//	    running-jobs-max: 5
//	    min-share-timeout: 1m         # below its minimum for longer: takes slots back; default: never
//	    fair-share-timeout: 10m
//	    pools: {}                     # pools in it, which jobs name as production/etl; it then takes no jobs itself: they go to its pool "default"
//	    parent: other                 # another way to say where it lies
//	users: {ann: {running-jobs-max: 3}}
//	order: fair                       # of pools that say nothing
//	top-order: fair                   # of the pools at the top among each other; default: order; fair where that is fifo
//	pool-running-jobs-max: 10
//	user-running-jobs-max: 5
//	min-share-timeout: 1m             # of pools that say nothing
//	fair-share-timeout: 10m
//
// A key that is unknown, stands twice or has an impossible value is a problem with its line, and
// the settings before it stay.
//
// Minimums may exceed the cluster, or the share of the pool that they lie in. They are then scaled
// down in proportion, and a pool is guaranteed the whole slots of the rest of its minimum. A pool
// that is not declared goes with its last job, and asking never makes one.
//
// With undeclared: own, a job that names a pool which is not declared is refused: the name is most
// likely a mistake. The refusal names the declared pool that is nearest by spelling. The default
// pool, and pools called after the job's user, such as ann or users/ann, are made for jobs that
// need them. So are pools that the rules user and group choose. With create, every pool is made
// that a job names. With refuse, none is. Hadoop's XML means create where the settings say nothing,
// since mapred.fairscheduler.allow.undeclared.pools is true by default in Hadoop.
//
// undeclared may be changed while jobs run, as all settings. From then on new jobs for undeclared
// pools are refused, and no job can be moved to one: it stays where it is. Jobs in such pools stay
// there to their end, also those whose pool is declared no more. The policy's explanation of a job
// says both.
//
// With own, the policy's verdict is advice: while it is down, the manager lets jobs in, and the
// pools that they name are made. With refuse, and with another rule of placement before explicit,
// the manager lets no job in while the policy is down. Its setting admitWithoutPolicy overrides
// that. It must ask the policy where each job goes, to judge whether its user may submit there.
//
// The orders disco-fair and deficit treat pools as they treat jobs. So with one pool a user and the
// site-wide order disco-fair, users take turns. A site-wide fifo is for jobs: pools share fairly
// then. In each order, pools below the guaranteed part of their minimum shares come first.
//
// # Parts from outside
//
// Four parts are chosen by name and may come from another module:
//
//   - placement.Selectors pick a job's tasks;
//   - placement.LoadManagers say how much a launcher may take;
//   - shares.WeightAdjusters say how much a job weighs;
//   - pooltree.Orders order pools and jobs.
//
// A program registers its own, serves this policy with serve.Main, and takes the place of
// hamadryad-policy-fair. Its settings and their errors then know the names. A part has no settings
// of its own: register it under several names. docs/POLICIES.md has one of each.
//
// # Preemption
//
// A pool is starved that has been below its minimum share, or below the threshold's part of its
// fair share, for longer than its timeout. It takes slots back for the bundle it would start next,
// newest attempts first. All victims for a bundle are one set.
//
// No pool is left with fewer than the whole slots of its fair share. No attempt is taken for work
// that would not fit, nor while its bundle is protected. Slots on their way are counted. Unlike the
// original, shares of less than two slots are defended too, and so are pools inside each other.
//
// In a pool at its maximum share, a starved one takes slots back from its siblings there only, even
// where slots are free elsewhere. These victims are killed where others are suspended. The manager
// resumes a suspended attempt as soon as its slot is free, and the pool would then exceed its
// maximum. No other pool in it may use that room.
//
// A minimum share is a guarantee. For a pool below it protect and times-max spare no attempt, and
// attempts that cannot be suspended are killed. What they would spare is taken after all else. Only
// the manager's own protection (its setting protectFor) holds: so each launch runs for a while.
//
// With constant demand preemptions end: each brings a pool nearer to its guarantee, and none takes
// a pool below that. Explain says why nothing is taken for a starved pool.
//
// # Gangs and other large work
//
// With locality mode min-cost-flow, a gang waits for launchers near the input of its groups as long
// as a single bundle does. In the other modes it goes where it fits, to launchers near its input
// where it can.
//
// A bundle that does not fit is passed over, and smaller work uses the slots. After collect-after,
// slots of the kinds it needs are kept for it until it fits, for one bundle at a time. All slots
// are kept where slots are not what it lacks. A bundle larger than its pool's maximum share never
// starts. Explain says so.
//
// # Busy machines
//
// The load manager "load" gives nothing to a launcher whose machine is over one of its limits. It
// does not matter which program keeps it so, or whether the launcher holds anything. Attempts there
// go on. An unknown load is over no limit. When all machines are over, nothing starts until one is
// not. Explain says which are. Slots that were taken back for a pool are used all the same, because
// the victim kept the machine as busy. Slots are collected for a gang only where our own work is in
// its way.
//
// The policy learns a load a moment after it changed. So a slot on a machine that our work kept
// over a limit is given again only after the next heartbeat or two. This load manager is for
// machines that run other programs too. A limit of 1 is none.
//
// # Limits of running jobs
//
// Jobs may run in order of priority and submission, as many as the limits of their pools and users
// let. The others hold no slots and are in no queue. A job that loses its place to a more urgent
// one keeps what it runs and gets nothing more.
//
// # What a restart keeps
//
// A checkpoint holds what no snapshot has: how long a job waited for locality, since when a pool is
// starved, and deficits. It is written in the round in which it changed as long as it is small, and
// once an update interval when it is large.
//
// # Trace
//
// Events: "job added", "job moved", "job removed", "assigned" (with locality), "ahead", "starved"
// (preemption variables), "preempt" (victims), "round", and at each dump "pool" and "waiting".
package fair
