// Package worker is the process that runs node groups: the application's own
// program, started by a launcher with the variable HAMADRYAD_WORKER and a socket
// pair as file descriptor 3. app calls Main there.
//
// A worker belongs to one job. It builds the job's graph from the plan, refuses
// if that is not the graph that was submitted, and then runs one group after the
// other: the nodes are goroutines, their channels come from engine/channel. It
// ends when the launcher says so, when the socket closes, or when no Ping came
// for a lease: whatever happens to its launcher, it never works on unseen.
package worker
