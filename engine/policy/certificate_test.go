package policy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"testing"
)

// The TLS of gRPC in other languages verifies signatures of keys on P-256 and P-384
// only; docs/PLUGINS.md, whose policy in Python runs in the tests of cmd/hamadryad, is
// where this is held against it.
func TestTheHostsKeyIsOneThatOtherLanguagesVerify(t *testing.T) {
	_, text, err := newCertificate()
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if key, ok := c.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() {
		t.Errorf("a key of type %T; want one on P-256", c.PublicKey)
	}
}

// Both sides trust each other's certificate of this one start, and no other.
func TestOnlyTheOtherSideIsTrusted(t *testing.T) {
	host, hostText, err := newCertificate()
	if err != nil {
		t.Fatal(err)
	}
	plugin, _, err := newCertificate() // a plug-in's is made the same way
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := newCertificate()
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(hostText)
	server := &tls.Config{Certificates: plugin.Certificates, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted, MinVersion: tls.VersionTLS12}

	known := host.Clone() // as go-plugin sets it from the handshake
	known.RootCAs = x509.NewCertPool()
	leaf, err := x509.ParseCertificate(plugin.Certificates[0].Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	known.RootCAs.AddCert(leaf)
	stranger := known.Clone()
	stranger.Certificates = other.Certificates
	for name, c := range map[string]struct {
		client *tls.Config
		ok     bool
	}{
		"the host":                           {known, true},
		"a plug-in that sent no certificate": {host, false},
		"another process":                    {stranger, false},
	} {
		if err := shake(t, c.client, server); (err == nil) != c.ok {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// shake is the first error of either side of a TLS connection.
func shake(t *testing.T, client, server *tls.Config) error {
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	done := make(chan error, 1)
	go func() {
		err := tls.Server(far, server).HandshakeContext(t.Context())
		if err != nil {
			far.Close()
		}
		done <- err
	}()
	if err := tls.Client(near, client).HandshakeContext(t.Context()); err != nil {
		near.Close()
		<-done
		return err
	}
	// Without a reader the server could not send its tickets.
	go func() { _, _ = near.Read(make([]byte, 1<<16)) }()
	return <-done
}
