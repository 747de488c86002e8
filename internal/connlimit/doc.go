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
// A new connection is never refused because of other addresses' connections. At an address's bound
// of waiting connections, that address's longest-waiting connection is closed. At the bound of all
// addresses, a connection of the address with most connections is closed. A connection waits until
// its principal is proved, and over HTTP also between two requests. Active requests are never
// closed.
//
// Handshakes in a second are bounded for each address. A silent connection uses none of them. A
// connection beyond the bound waits for its turn.
//
// A principal at its bound of connections or requests is refused more. So is an address, for
// connections without a proved principal. Health requests have their own pool.
//
// An idle connection to the manager is closed. docs/ACCESS.md has the settings.
package connlimit
