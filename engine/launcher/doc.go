// Package launcher is the agent on a machine. It registers slots and memory with
// the manager, starts, stops, freezes and ends workers, keeps their stored channel
// files and serves them to readers, and keeps the attempts' logs.
//
//	err := launcher.Run(ctx, launcher.Config{Manager: "127.0.0.1:7070", Data: "/var/lib/hamadryad"})
//
// Run returns when ctx ends. Everything is fenced: commands carry the manager's
// term and this launcher's incarnation, and a launcher that has not heard from
// its manager for the lease ends its workers, deletes what it stored, and joins
// again as a new incarnation. What holds a lock never waits for a disk or a network.
//
// The agent is the life of attempts; the session talks with the manager, and has the agent
// obey. What they stand on are the packages below: outbox, lease, process, suspend,
// freezer, keeper, memory, shelf, logs, cache, folder and load.
//
// Workers die with the launcher (parent-death signal, closed socket, lease), and
// what is left of an earlier life in the data folder is removed at the start.
package launcher
