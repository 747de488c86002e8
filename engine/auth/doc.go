// Package auth says who somebody is: an Identity is a name in a certificate, a Principal
// is who makes a call and how that was proved.
//
//	id, err := auth.ParseIdentity("hamadryad://production/launcher/node-7")
//	who, ok := auth.From(ctx) // put there by the interceptor, the only place that calls auth.With
//
// It is pure: certificates are read by engine/auth/certs. Nobody is known by default:
// a context without a principal is that of a caller whom nothing proved.
package auth
