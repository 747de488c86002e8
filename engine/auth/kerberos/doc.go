// Package kerberos proves users by Kerberos tickets, and maps a Kerberos principal to a user.
//
//	v, err := kerberos.New(kerberos.Options{Keytab: "/etc/hamadryad/manager.keytab", Realms: kerberos.Realms{"EXAMPLE.COM"}})
//	edge := proof.Edge{Schemes: map[string]proof.Scheme{kerberos.Scheme: v.Prove}}
//
//	login := kerberos.NewLogin("hamadryad/manager.example.com") // the client's side
//	credential, err := login.Credential()                       // one for each call
//
// A credential is the content of HTTP's scheme Negotiate (RFC 4559). It is a request for a service,
// KRB_AP_REQ (RFC 4120, section 5.5.1), in a token of GSS-API (RFC 4121, section 4.1). That may be
// wrapped in SPNEGO (RFC 4178), as curl sends it.
//
// # Invariants
//
// A credential is accepted once, for a service whose key is in the keytab. Its ticket must be
// valid, and the client's clock right within Skew. The KDC names the client inside the ticket,
// which only the KDC can write. Input of strangers is bounded, and nothing of it is kept unless it
// proves a user.
//
// The memory of accepted credentials is this process's own. An eavesdropper could replay a
// credential to a restarted manager. So credentials travel over TLS only (package proof).
//
// The library's own check compares the name that the client gives, and not the realm. So a user of
// another realm could claim a local name. This package takes both from the ticket. Accepted
// credentials are remembered for two windows of ten minutes, within a bound. The library's memory
// has no bound, and forgets credentials of a client whose clock is ahead while they still count.
package kerberos
