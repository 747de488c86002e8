// Package hfsp is the Hadoop Fair Sojourn Protocol of Pastorelli, Barbuzzi, Carra, Dell'Amico and
// Michiardi, "Practical Size-based Scheduling for MapReduce Workloads". Small work goes first, with
// sizes that are estimated while it runs, and no job waits longer than it would if all shared.
//
//	func main() { serve.Main(hfsp.New) }
//
// The nouns are a stage, its size in slot-seconds, the virtual cluster in which all stages share,
// and a stage's finish there. Package work indexes stages, package estimation estimates sizes,
// package virtual simulates the virtual cluster, and package binenc writes checkpoints. This
// package decides.
//
// # Stages
//
// Every stage of a job is what the paper calls a job. It comes when its first bundle is ready, so
// that a stage without ready work never outranks one with some. A bundle belongs to the stage of
// its first group. In a gang, stages start with groups of another stage alone. Those have no place of
// their own: their slots count for the tasks of that stage. A gang that needs more than the training
// slots runs in its turn, and is no sample on them.
//
// A stage may have ready work before all of its input is there: before the stages that it reads
// have finished. Until then it is served after all others, because its work would only wait where
// it runs.
//
// # Which stage is served
//
// For each kind of slot there is a virtual cluster of as many slots. In it all stages share fairly,
// by the weight of their priority. Slots of the real cluster go
//
//  1. to stages that were over and run again, because their output was lost;
//  2. on the training slots, to samples: the first tasks of stages that are not trained yet, in
//     order of submission;
//  3. to stages that are late: that have finished virtually, and not really;
//  4. to all others in the order in which they would finish virtually.
//
// Each may use as many as it can. The rest goes to any stage that can use it, in the same order.
//
// A kind may have fewer slots than stages that are not late. Then the virtual cluster gives a slot
// each to the stages of the highest weight, and among them to those of the fewest tasks. The others
// get nothing: the published round robin begins with small jobs. They come after the stages that
// get a slot, and have their turn as these finish virtually.
//
// With late: share, late stages share the slots by weight. So one that is much larger than it was
// estimated holds no other up. With late: plain they are served one after the other, as published.
//
// # Preemption
//
// A stage with ready work and fewer slots than are due to it takes them from stages that have more
// than are due to them. The least urgent stage loses first, and of it the youngest launches first.
// A setting of the stage that loses says how:
//
//   - wait takes nothing, and slots come as tasks end;
//   - kill throws the attempt's work away;
//   - suspend stops an attempt. It is resumed where it is once its slots are free again and its stage is
//     next, the oldest attempt first. Work that has never run takes slots elsewhere.
//
// Where too many attempts or too much memory are suspended, or a launcher can't suspend, the stage
// waits. The work of samples is never thrown away. An attempt that the manager protects is left
// alone until its protection ends.
//
// # Settings
//
//	estimator: sampling       # says how large stages are: sampling; see Parts from outside
//	xi: 1                     # factor on what past tasks suggest of a stage's size before its samples ran, 1 or more;
//	                          # .inf: the stage runs its samples only, until all trained stages are served
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
//	estimate-error: 0         # for experiments: the largest relative error of a stage's size, at random; 1: sizes from nothing to twice as large
//	estimate-seed: 1          # of these random errors
//
// One offer that is passed up is one launcher with a free slot, once in a heartbeat period at most.
//
// The default mode, attempts, is the published one. It alone has more of the work near its input
// than under fair, while small jobs end no later. On FB2009 with 100 launchers, in the mean of
// eight placements of blocks:
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
// nothing. Always local, as published, and the shortest wait of small jobs exclude each other. Of
// the 53 small jobs 49 read one block, and wait for one of three machines.
//
// # Parts from outside
//
// The estimator may come from another module. A program registers its own with
// estimation.Estimators, serves this policy with serve.Main, and takes the place of
// hamadryad-policy-hfsp. The settings and their errors then know its name. docs/POLICIES.md has
// one. Where the setting changes while jobs run, the lengths that were learnt until then are
// forgotten.
//
// # What a restart keeps
//
// A checkpoint holds how long tasks of each kind were, the state of the live stages, and the
// virtual clusters. A policy that starts from it decides as if it had gone on, to the last bit.
// Changes are appended to it in the same round, or once a second while more than a hundred stages
// change. It is written whole when the sum would exceed Limits.CheckpointBytes (1 MiB).
//
// # Limits
//
// A whole checkpoint takes three quarters of its bound, which is enough for several thousand
// stages. With more of them some are left out: of the virtual clusters first stages that have
// really finished, then those that came last. Samples are left out of the jobs that came last. A
// restart takes these stages for new: their samples are to run, and they have done nothing
// virtually. Status says how many have no room. A checkpoint of another version is ignored, and a
// note says so.
package hfsp
