package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/internal/atomicfile"
)

// ShowCA makes a server show its CA behind its own certificate, for clients that know only the CA's
// pin.
func ShowCA(server *tls.Config) {
	plain := server.GetConfigForClient
	server.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		c, err := plain(hello)
		if err != nil {
			return nil, err
		}
		own := c.Certificates[0]
		chains, err := own.Leaf.Verify(x509.VerifyOptions{Roots: c.RootCAs, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, CurrentTime: c.Time()})
		if err != nil {
			return nil, err
		}
		top := chains[0][len(chains[0])-1]
		own.Certificate = append(own.Certificate[:len(own.Certificate):len(own.Certificate)], top.Raw)
		c.Certificates = []tls.Certificate{own}
		return c, nil
	}
}

// Pinned is the configuration of a client without a certificate. It trusts only a manager whose CA
// has this pin.
func Pinned(pin string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true,
		InsecureSkipVerify: true, //nolint:gosec // the CA is known by its pin, and VerifyConnection asks for that
		VerifyConnection:   func(s tls.ConnectionState) error { return pinned(s.PeerCertificates, pin, time.Now()) },
	}
}

func pinned(shown []*x509.Certificate, pin string, now time.Time) error {
	if len(shown) < 2 || pinOf(shown[len(shown)-1]) != pin {
		return fmt.Errorf("%w: the manager's CA is not the one of the token (SHA-256 %s): somebody else answers there, or the CA was replaced since: make another token", ErrCertificate, pin)
	}
	s := &state{roots: x509.NewCertPool(), files: Files{CA: "the token"}}
	ca := shown[len(shown)-1]
	s.anchors = []*x509.Certificate{ca}
	s.roots.AddCert(ca)
	s.identity = auth.Identity{Cluster: ca.Subject.CommonName, Kind: auth.Launcher, Name: "joining"}
	_, err := s.admit(shown[:len(shown)-1], expected{kinds: []auth.Kind{auth.Manager}, usage: x509.ExtKeyUsageServerAuth}, now)
	return err
}

// WriteFiles puts a key and its certificate in place, and the CA where there is none. Files that
// don't fit each other change nothing.
func WriteFiles(f Files, ca, cert, key []byte) error {
	f = f.Filled()
	if _, err := newState(f, ca, cert, key, time.Now()); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.Certificate), 0o700); err != nil {
		return err
	}
	if _, err := os.Stat(f.CA); errors.Is(err, os.ErrNotExist) {
		if err := atomicfile.Replace(f.CA, ca); err != nil {
			return err
		}
	}
	return write(f.Certificate, cert, f.Key, key)
}

// Replace puts a new certificate of the same key in place. No crash separates the two.
func Replace(f Files, cert []byte) error {
	f = f.Filled()
	ca, err := readFile(f.CA, false)
	if err != nil {
		return err
	}
	key, err := readFile(f.Key, true)
	if err != nil {
		return err
	}
	if _, err := newState(f, ca, cert, key, time.Now()); err != nil {
		return err
	}
	return atomicfile.Replace(f.Certificate, cert)
}
