// Package join gives launchers their certificates. An administrator makes a token for one
// launcher, once; whoever brings it to the manager before it ends gets the certificate of
// that launcher, and has it renewed from then on.
//
//	token, err := join.Create(folder, ca, "node-7", at, 15*time.Minute, time.Now()) // beside the manager
//	server := join.Server{Folder: folder, Authority: ca, Keys: keys}            // in the manager
//	err = join.Join(ctx, "10.0.0.1:7072", token, files)                         // in the launcher
//	join.Keep(ctx, "10.0.0.1:7072", keys, files, log)                           // as long as it lives
//
// The token has the SHA-256 of the CA in it (as kubeadm's have), so the launcher sends it to
// nobody but a manager of that CA, and where that is, so the launcher need be told nothing else. The manager keeps a hash of the token's secret. The
// launcher's key never leaves the launcher: it sends a request to sign (PKCS #10), of which
// nothing but the public key counts.
//
// The port for this is apart from all others, because here alone somebody without a
// certificate is heard: one small request, within seconds.
//
// An unused token replaces a certificate that is there already.
package join
