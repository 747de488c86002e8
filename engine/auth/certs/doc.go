// Package certs makes and checks the cluster's certificates. Connections use TLS 1.3 only, and both
// ends show a certificate.
//
//	ca, err := certs.Init("ca", "production", time.Now())         // once
//	err = ca.Write("ca", auth.Identity{...}, time.Now(), certs.LifeDefault) // for each manager, launcher, user
//
//	keys, err := certs.Open(certs.Files{CA: ..., Certificate: ..., Key: ...}, certs.Options{})
//	listener := tls.NewListener(l, keys.Server(auth.User, auth.Launcher))
//	conn := tls.Client(c, keys.Client(auth.Manager, ""))
//
// A certificate has one URI, its auth.Identity; host names play no part. A manager's certificate
// also has the names at which it is reached (Authority.At), for browsers and tools that know
// nothing else. The cluster's CA signs managers, launchers and users. A launcher signs its own
// workers and nothing else. In a chain with a launcher, only a worker of that launcher's name is
// accepted.
//
// Keys checks its files when a connection begins, at most once a second, so new ones take effect
// without a restart. Files that can't be used change nothing: the earlier ones stay in force, and
// the log names the file and its problem.
//
// TLS runs without session tickets, so each connection is checked against the files that are in
// force. A refusal is logged where it happens, with its cause. The other end learns only that its
// certificate is bad. A stolen launcher certificate can sign no users.
package certs
