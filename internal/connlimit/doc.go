// Package connlimit bounds the connections of a server by who opens them: by source address until
// a connection has proved a principal, and by principal afterwards.
//
//	table := connlimit.New(limits, log)
//	listener = table.Listen(listener)
//	err := table.Prove(conn, "user ann")   // for protocols with long connections, such as gRPC
//	table.Attach(server)                   // for HTTP, with Requests around its handler
//
// # Invariants
//
// A new connection is never refused for what others opened. Where a bound of waiting connections is
// reached, the one that waited longest of the same address is closed; at the bound of all addresses
// it is one of the address that has most. A connection waits until its principal is proved, and over
// HTTP also between two requests. What is under way is never closed.
//
// An address makes so many handshakes in a second. A connection that says nothing takes none of them,
// and one beyond waits for its turn.
//
// A principal that has as many connections or requests as it may is refused further ones, and so is
// an address with connections that prove nothing. Requests for health have a pool of their own.
//
// An idle connection to the manager is closed. docs/ACCESS.md has the settings.
package connlimit
