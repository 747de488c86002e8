// Package launcher is the agent on a machine. It registers slots and memory with the manager. It
// starts, stops, suspends and ends workers, keeps their stored channel files, serves these to
// readers, and keeps the attempts' logs.
//
//	err := launcher.Run(ctx, launcher.Config{Manager: "127.0.0.1:7070", Data: "/var/lib/hamadryad"})
//
// Run returns when ctx ends. Commands carry the manager's term and this launcher's incarnation. A
// launcher without contact to its manager for the lease ends its workers, deletes what it stored,
// and joins again as a new incarnation. A goroutine that holds a lock never waits for a disk or a
// network.
//
// Workers end with the launcher: by parent-death signal, closed socket and lease. A start removes
// what an earlier life left in the data folder.
//
// # Structure
//
// The agent starts and ends attempts: commands in, reports out. The session talks with the manager,
// and pages show the state; both use the agent, which knows nothing of them. One lock guards
// attempts and workers. Nothing waits while it holds the lock, and the packages below never take
// it.
//
// # Fencing
//
// Commands and reports carry the manager's term, the launcher's incarnation and the attempt's id,
// and are idempotent. A launcher sends a report again until the manager's answer comes. The core
// sends a command again until a report confirms it. A joining launcher reports its inventory, and
// the core adopts or ends each attempt. The manager makes a launcher that it gave up join as a new
// incarnation.
//
// The manager is tried at least every tenth of the lease, so its work is still there when it comes
// back. A refused redial is a loss at once; a connection that was reset is only a suspicion.
//
// # Workers of one job and one user
//
// A warm worker runs attempts of the same job and the same user only. With isolation, logs, cache
// and identity are readable by the launcher alone (0700). The data folder lets others pass and not
// list (0711). In it each worker's folder and each job's stored files belong to the user (0700).
// Without isolation everything belongs to the launcher's user.
//
// # Certificates of workers
//
// A worker runs a user's program, so it never has its launcher's key. The launcher signs a key for
// each worker, and sends it by the socket that they share. The key is in no file, no environment
// and no log. These credentials end with the launcher's certificate. When that is renewed, the
// launcher sends new ones to live workers. Open connections stay.
//
// With each address the manager sends the name of its launcher (Source.launcher_name,
// Peer.launcher_name). A dialling worker accepts only that launcher, or a worker of it. So a stolen
// certificate of one launcher serves no data in the place of another.
package launcher
