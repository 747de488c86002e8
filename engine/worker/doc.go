// Package worker is the process that runs node groups. It is the application's own program. A
// launcher starts it with the variable HAMADRYAD_WORKER and a socket pair as file descriptor 3. app
// calls Main there.
//
// A worker belongs to one job. It builds the job's graph from the plan, and refuses a graph that is
// not the submitted one. Then it runs one group after the other. Nodes are goroutines, and their
// channels come from engine/channel. It ends when the launcher says so, when the socket closes, or
// when no Ping came for a lease. So it never works on unseen, whatever happens to its launcher.
//
// # Structure
//
// The package keeps the process (worker), one attempt at a group (group) and its nodes (node). Each
// part of a group has fields of its own:
//
//   - wiring: the channels of its nodes,
//   - inputs: what is known of producers,
//   - files: what is created in the job's outputs,
//   - outputs: stored files that are complete,
//   - commit: the one grant, and counters of progress,
//   - finisher: for a job's last group, which publishes or cleans.
//
// Package layout is the job's graph as built, and splits is what its stages read from storage.
// Package failure tells the kind of an error and its remedy. Package ipc is the socket to the
// launcher.
package worker
