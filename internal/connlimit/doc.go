// Package connlimit bounds the connections of a server. It counts them by source address until a
// connection has proved a principal, and by principal afterwards.
//
//	table := connlimit.New(limits, log)
//	listener = table.Listen(listener)
//	err := table.Prove(conn, "user ann")   // for protocols with long connections, such as gRPC
//	table.Attach(server)                   // for HTTP, with Requests around its handler
//
// # Invariants
//
// A new connection is never refused for connections of others. At an address's bound of waiting
// connections, the one of that address that waited longest is closed. At the bound of all
// addresses, it is one of the address that has most. A connection waits until its principal is
// proved, and over HTTP also between two requests. Active requests are never closed.
//
// Handshakes in a second are bounded for each address. A connection that says nothing takes none of
// them, and one beyond the bound waits for its turn.
//
// A principal at its bound of connections or requests is refused further ones. So is an address,
// for connections that prove nothing. Requests for health have a pool of their own.
//
// An idle connection to the manager is closed. docs/ACCESS.md has the settings.
package connlimit
