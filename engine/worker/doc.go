// Package worker is the process that runs node groups. It is the application's own program. A
// launcher starts it with the variable HAMADRYAD_WORKER and a socket pair as file descriptor 3. app
// calls Main there.
//
// A worker belongs to one job. It builds the job's graph from the plan, and refuses a graph that is
// not the submitted one. Then it runs one group after the other. Nodes are goroutines, and their
// channels come from engine/channel. A worker ends at the launcher's command, when the socket
// closes, or when no Ping came for a lease. So it never runs unsupervised, whatever happens to its
// launcher.
//
// # Structure
//
// The package holds the process (worker), one attempt of a group (group) and its nodes (node). Each
// part of a group has fields of its own:
//
//   - wiring: the channels of its nodes,
//   - inputs: the known sources of producers,
//   - files: files created in the job's outputs,
//   - outputs: complete stored files,
//   - commit: the single grant, and counters of progress,
//   - finisher: for a job's last group, which publishes or cleans up.
//
// Package layout is the job's graph as built, and splits is what its stages read from storage.
// Package failure determines the kind of an error and its remedy. Package ipc is the socket to the
// launcher.
package worker
