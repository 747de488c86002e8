// Package hfsp is the Hadoop Fair Sojourn Protocol of Pastorelli, Barbuzzi, Carra,
// Dell'Amico and Michiardi, "Practical Size-based Scheduling for MapReduce Workloads":
// small work first, with sizes that are found out while it runs, and nobody waits longer than
// he would if all shared.
//
// # Stages
//
// Every stage of a job is what the paper calls a job. It comes when the first bundle of it is
// ready, so that one that is not ready never outranks one that is. A bundle belongs to the stage of its
// first group. A stage of which something is ready before all that it reads has finished comes when that has; until then it is
// served after all others, because it would only wait where it runs.
//
// # Who is served
//
// Package estimation says how large a stage is, in slot-seconds. Package virtual simulates,
// for each kind of slot, a cluster of the same slots in which all stages share fairly, by
// the weight of their priority. Slots of the real cluster go
//
//  1. to what is to run again of stages that were over, because its output was lost;
//  2. on the training slots, to samples: the first tasks of stages that are not trained yet, in
//     order of submission;
//  3. to stages that are late: that have finished virtually, and not really;
//  4. to all others in the order in which they would finish virtually.
//
// Each may use as many as it can. What is then left over goes to whoever can use it, in the
// same order.
//
// Where a kind has fewer slots than stages that are not late, the virtual cluster gives a slot each
// to those of the highest weight, and among them of the fewest tasks, and nothing to the others:
// the published round robin begins with small jobs. Those that get nothing come after those that
// do, and get their turn as these finish virtually.
//
// With late: share, stages that are late share the slots by weight, so that one that was taken to be much
// smaller than it is holds nobody up. With late: plain they are served one after the
// other, as published.
//
// # Who gives way
//
// A stage that has fewer slots than are due to it, and something ready, takes them from those
// that have more than are due to them: the least urgent first, and of it the youngest launches
// first. How is set by the stage that loses: wait takes nothing, and slots come as tasks end;
// kill throws away what was done; suspend stops an attempt, which is resumed where it is
// once its slots are free again and its stage is next, the oldest first. Slots elsewhere take
// what has never run. Where too many attempts are suspended, or too much memory is, or a launcher can't suspend,
// the stage waits. The work of samples is never thrown away, and
// an attempt that the manager protects is left alone until it does no more.
//
// # Settings
//
//	estimator: sampling       # who says how large stages are: sampling; see Parts from outside
//	xi: 1                     # by how much more than past tasks suggest a stage is taken to be before its samples ran, 1 or more;
//	                          # .inf: it runs its samples only, until all that are trained are served
//	samples: 5                # how many tasks train a stage
//	distribution: uniform     # of task lengths: uniform, normal, exponential
//	delta: 1m                 # a task that shuffled counts as a sample when it has executed so long, by its progress
//	task-default: 1m          # how long a task is taken to be before any has finished
//	training-part: 0.1        # the part of the slots of each kind that samples get when they need them, at least one; 0: none
//	late: share               # share, plain
//	preempt-maps: wait        # how attempts are taken off of stages that do not shuffle: wait, kill, suspend
//	preempt-reduces: suspend  # and of those that do
//	suspended-max: 8          # attempts that are suspended on one launcher
//	suspended-memory: 0.5     # the part of a launcher's memory that they may have; the manager's bounds hold too
//	locality:                 # package locality below sdk/scheduler/algorithms has its other keys
//	  mode: attempts          # how work with located input gets a launcher near it: attempts, delay, min-cost-flow, nearest, none
//	  node-skips: auto        # attempts: offers passed up for a node-local slot; auto: as many as there are launchers
//	  rack-skips: auto        # then for a rack-local one
//	  node-delay: auto        # delay, min-cost-flow (gangs wait, too): the same as a time; auto: 1.5 heartbeats
//	  rack-delay: auto
//	priority-weight: 2        # how much more of the virtual cluster a stage has for each level of its job's priority; 1: the same
//	collect-after: 30s        # passed over for longer, large work has slots collected for it; 0s: never
//	estimate-error: 0         # for experiments: by what part of it each stage's size is wrong at most, by lot; 1: it is taken to be nothing to twice as large
//	estimate-seed: 1          # draws these lots
//
// One offer that is passed up is one launcher with a free slot, once in a heartbeat period at most.
//
// The default mode, attempts, is the published one, and the only one under which more of the work
// is near its input than under fair, while small jobs end no later. On FB2009 with 100 launchers,
// in the mean of eight placements of blocks:
//
//	                 median sojourn (s)    mean sojourn (s)
//	                 small  medium  big    small  all        near its input
//	fair             11.5   153     523    13.9   93.5       99.77 %
//	hfsp, attempts   11.3   111     286    13.8   82.4       99.92 %
//	hfsp, delay      11.5   110     292    13.5   82.1       99.68 %
//	hfsp, delay 9 s  11.8   112     305    13.8   83.1       99.83 %
//	hfsp, none       9.2    102     281    12.8   80.1       18.29 %
//
// The medians of small jobs differ by 0.3 s between placements, so that one placement decides
// nothing. Always local, as published, and the shortest wait of small jobs exclude each other: 49
// of the 53 read one block, and wait for one of three machines.
//
// # Parts from outside
//
// The estimator may come from another module: a program registers its own with
// estimation.Estimators, serves this policy with serve.Main, and takes the place of
// hamadryad-policy-hfsp; the settings and their errors then know its name. docs/POLICIES.md has
// one. Where the setting changes while jobs run, what was learnt until then is forgotten.
//
// # What a restart keeps
//
// A checkpoint holds how long tasks of each kind were, what is known of the live stages, and
// the virtual clusters. A policy that starts from it decides as if it had gone on, to the last bit. What changed is
// appended to it in the same round, or once a second while more than a hundred stages change. It is written whole
// when the sum would be too large (Limits.CheckpointBytes, 1 MiB).
//
// A whole one takes three quarters of the bound, which is enough for several thousand stages. With more of them, some
// are left out: of the virtual clusters first those that have really finished, then those that came last; of samples
// those of the jobs that came last. A restart takes these stages for new: their samples are to run, and they have done
// nothing virtually. Status says how many have no room. A checkpoint of another version is ignored, and a note says so.
//
// # Rooms
//
// Package work keeps what there is to do and what runs, by stage; package estimation says how large stages are, and
// package virtual who would finish first. This package decides with them. Package record is how all of them write
// a checkpoint.
package hfsp
