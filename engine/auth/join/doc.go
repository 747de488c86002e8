// Package join gives launchers their certificates. An administrator makes a token for one launcher,
// for one use. The launcher that brings it to the manager in time gets its certificate, and can
// renew it from then on.
//
//	token, err := join.Create(folder, ca, "node-7", at, 15*time.Minute, time.Now()) // beside the manager
//	server := join.Server{Folder: folder, Authority: ca, Keys: keys}            // in the manager
//	err = join.Join(ctx, "10.0.0.1:7072", token, files)                         // in the launcher
//	join.Keep(ctx, "10.0.0.1:7072", keys, files, log)                           // as long as it lives
//
// The token contains the SHA-256 of the CA (as kubeadm's do), so the launcher sends it only to a
// manager of that CA. It also contains the manager's addresses, so the launcher needs no other
// setting. The manager keeps a hash of the token's secret. The launcher's key never leaves the
// launcher: it sends a request to sign (PKCS #10), of which only the public key counts.
//
// Joining has a port of its own, since only there a caller without a certificate is heard: one
// small request, within seconds.
//
// An unused token replaces a certificate that is there already.
package join
