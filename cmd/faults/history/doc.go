// Package history holds the test that plays random histories on real processes. A seed draws a
// cluster, jobs of several kinds, and faults with their times; the same seed draws the same
// history. Each history is played in network namespaces and on small disks of its own, so that
// links can be cut and disks filled. At its end all faults are undone, and then these must hold:
//
//   - an output that is there is whole and exact, to the last byte, whatever happened;
//   - a client's exit code is that of its job, and a job that failed has a cause in its
//     history;
//   - every job ends within a bounded time after the last fault was undone;
//   - no temporary output, channel file, worker, attempt, slot or memory is left
//     taken, and manager and launchers agree about that;
//   - no process ended without a request;
//   - where users paid for slots, each interval was charged once, for what the event log says was used;
//   - the store of budgets has what was put into it less the charges, to a millionth of a credit.
//
// A history that fails is printed, with the output of all its processes, and
//
//	make faults SEED=17
//
// plays it again. The seed does not control threads and disks. A fault meets a job a little earlier
// or later each time, so a rare failure may need some tries.
package history
