// Package oidc proves users by bearer tokens of an OpenID Connect issuer, which are JSON Web Tokens
// (RFC 7519). People get them from their organisation's login, programs with their client's secret.
//
//	tokens := oidc.New(oidc.Settings{Issuer: "https://login.example.com", Audience: "hamadryad"}.Filled(), oidc.Options{})
//	go tokens.Run(ctx)
//	edge := proof.Edge{Schemes: map[string]proof.Scheme{oidc.Scheme: tokens.Prove}}
//
// # Invariants
//
// A token is accepted when all of this holds. It is signed by a key of the issuer, with an
// asymmetric algorithm. Its issuer and audience are the configured ones. It has an expiry, and is
// within its time, give or take Leeway. One of its claims is a name that auth.CheckName accepts.
//
// Callers can't cause more requests to the issuer than the bounds allow. One goroutine asks it, and
// proving waits for that at most. Known keys stay in force while the issuer is down, for
// keysLifeMax.
//
// # Keys
//
// One goroutine fetches the issuer's keys every 5 minutes. A token that no known key has signed has
// them fetched within 10 s. Many such tokens cause no more fetches. A revoked key counts for those
// 5 minutes at most; a new one counts at once. While the issuer is down the known keys count for a
// day. The list of algorithms is fixed here: neither the token nor the issuer chooses.
package oidc
