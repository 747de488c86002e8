// Package auth defines identities and principals. An Identity is a name in a certificate. A
// Principal is the caller of a request, with the way in which that was proved.
//
//	id, err := auth.ParseIdentity("hamadryad://production/launcher/node-7")
//	caller, ok := auth.From(ctx) // set by the interceptor, the only caller of auth.With
//
// It does no I/O: package certs reads certificates. There is no default principal: a context
// without one is that of an unproven caller.
//
// # Names
//
// A certificate of the cluster's CA has one name in a URI, hamadryad://CLUSTER/KIND/NAME. A
// manager, a launcher and a user of one name are three identities.
//
// # Revocation
//
// auth.revoked names identities, each with a time before which its certificates no longer count
// (Revoked). The manager refuses them at the handshake and at each request, ends streams of their
// launchers, and renews none. Launchers get the list with the welcome and at each change
// (wire.Revocations), and apply it to their own ports. A list of serial numbers would miss
// certificates that a thief renewed meanwhile; a time does not.
package auth
