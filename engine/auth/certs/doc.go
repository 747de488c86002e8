// Package certs is the cluster's certificates: who signs them, and how both ends of a
// connection look at them. TLS 1.3 is spoken and nothing older, and both ends show a
// certificate.
//
//	ca, err := certs.Init("ca", "production", time.Now())         // once
//	err = ca.Write("ca", auth.Identity{...}, time.Now(), certs.LifeDefault) // for each manager, launcher, user
//
//	keys, err := certs.Open(certs.Files{CA: ..., Certificate: ..., Key: ...}, certs.Options{})
//	listener := tls.NewListener(l, keys.Server(auth.User, auth.Launcher))
//	conn := tls.Client(c, keys.Client(auth.Manager, ""))
//
// A certificate has one URI, its auth.Identity; host names play no part. A manager's names those at
// which it is reached all the same (Authority.At), for browsers and other tools that know nothing else. The cluster's CA
// signs managers, launchers and users. A launcher signs its own workers and nothing else:
// its certificate may stand above another's, and whoever looks at a chain with a launcher
// in it takes nothing from it but a worker of that launcher's name.
//
// Keys looks at its files again when a connection begins, at most once a second. So new
// ones count without a restart. Files that can't be used change nothing: what was read
// before stays in force, and the log names the file and what is wrong with it.
//
// TLS runs without session tickets, so each connection is checked against the files that are in
// force. A refusal is logged where it happens, with its cause. The other end learns only that its
// certificate is bad. A stolen launcher certificate can sign no users.
package certs
