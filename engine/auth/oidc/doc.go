// Package oidc proves users by bearer tokens of an OpenID Connect issuer: JSON Web Tokens
// (RFC 7519), such as people get from their organisation's login and programs with their
// client's secret.
//
//	tokens := oidc.New(oidc.Settings{Issuer: "https://login.example.com", Audience: "hamadryad"}.Filled(), oidc.Options{})
//	go tokens.Run(ctx)
//	edge := proof.Edge{Schemes: map[string]proof.Scheme{oidc.Scheme: tokens.Prove}}
//
// # What holds
//
// A token counts when the issuer's key has signed it with an asymmetric algorithm, it is of
// the issuer and for the audience, it has an end and is within its time, give or take Leeway,
// and a claim of it gives a name that auth.CheckName takes.
//
// Whoever calls never has the issuer asked more often than the bounds say: one goroutine asks
// it, and proving waits for it at most. What is known goes on while the issuer is down, for
// keysLifeMax.
package oidc
