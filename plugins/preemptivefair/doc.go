// Package preemptivefair is the policy of Souza and Garcia, "A Preemptive Fair
// Scheduler Policy for Disco MapReduce Framework", section 3: all jobs get the
// same share, a new job gets it at once, and slots wait for a job between its
// stages.
//
// # Shares
//
// A job's share of a kind of slot is what there is of it, divided by the jobs
// that still have work of that kind. A new job's first share is that, rounded,
// and no more than the job needs. A job that is alone has none: it can have
// everything.
//
// # A new job comes
//
// As soon as a bundle of the job is ready, running attempts of other jobs are
// preempted for it: only as many slots as its first share lacks after what is
// free, reserved for it or on its way, in all no more than its first share (a
// first bundle that needs more is the exception) and no more than its share is
// by then, and only where the work that is to run would then fit. A job that
// loses slots stays at its own share, half a slot less for rounding.
//
// A bundle that was preempted times-max times loses only where nothing else can, and never as the
// last one of its job: newcomers get their first share however many come, and where there are
// more jobs than slots each job ends all the same. Explain says when nobody can lose to a
// newcomer.
//
// job-loses says which job loses: each of those over their share in turn
// (evenly; of those that hold the same, the one whose attempt attempt-loses
// names first), the one furthest over its share, or the one of lowest priority.
// attempt-loses says which attempt of it: the newest, any (at random, from the
// site's seed), the one with least progress, or one where the newcomer's input
// lies; of equals the newest. newest-in-cluster takes the newest attempts
// wherever they are and looks at no job, so that shares may be missed for a
// while (Cheng et al., Global Preemption). The newest is the default because it
// has least to lose, and nobody has to report progress: of 200 random workloads
// that ask for more than there is, 8.9 % of all work is lost, and 13.0 % by lot,
// as published.
//
// # A slot is free
//
//  1. While a job that has run is between stages (unfinished, nothing of it
//     ready or running, some stage not ready yet), free slots are held for it, for
//     hold-max from when it began: as many as its share, or all.
//  2. A recent job that lacks part of its first share gets it.
//  3. The job with the fewest slots gets it, if it has less than its share.
//  4. Else the job with the fewest slots, or nobody when work-conserving is false.
//
// Free slots come one by one, so that a bundle that needs several at once
// would always be passed by smaller work. Once it was passed over for
// collect-after, and its job is below its share, free slots are collected for
// it.
//
// Slots that a preemption reserved for a job are the job's whatever is held.
//
// # A job ends
//
// Nothing of it remains.
//
// # Settings
//
//	preemption: all               # who takes slots back: all, asked (jobs with the property preempt=true), none
//	only-higher-priority: false   # and only from jobs of lower priority
//	job-loses: evenly             # evenly, furthest-over-share, lowest-priority
//	attempt-loses: newest         # newest, random, newest-in-cluster, least-progress, newcomer-data
//	mode: kill                    # kill, soft, suspend (what forbids that is left alone)
//	grace: 5s                     # of a soft kill
//	hold: share                   # share, all, none
//	hold-max: 5s                  # 0s: no bound
//	work-conserving: true
//	collect-after: 30s            # 0s: never
//	times-max: 3                  # preempted so often, a bundle loses after all others; 0: no bound
//	locality: {mode: nearest}     # nearest, min-cost-flow, none; package locality below sdk/scheduler/algorithms has its other keys
//
// A job opts out with properties of its own: preempt=false takes nothing from
// others, preemptible=false gives nothing to them. Another value counts as not
// given, and Explain says so.
//
// The published policy is
//
//	attempt-loses: random
//	hold: all
//	hold-max: 0s
//	work-conserving: false
//	times-max: 0
//
// # What a restart keeps
//
// A checkpoint holds which jobs still lack their first share, how much of it
// they got, since when jobs are between stages, and how often bundles were
// preempted. Without one, every job counts as new until it was given its share.
// How far attempts are is in the manager's snapshot, so that with
// least-progress the same lose after a restart as without it.
package preemptivefair
