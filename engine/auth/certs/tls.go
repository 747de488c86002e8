package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth"
)

// Server is the configuration of a listener that serves only peers of some kinds. A refused peer is
// logged with its address and the reason. The peer learns only that its certificate is bad.
func (k *Keys) Server(kinds ...auth.Kind) *tls.Config {
	return k.server(tls.RequireAnyClientCert, expected{kinds: kinds, usage: x509.ExtKeyUsageClientAuth})
}

// Door is as Server, but a peer may come without a certificate. The handler must check the identity
// of each connection (PeerIdentity). A connection without one may only join, or do what a header of
// the call proves that it may.
func (k *Keys) Door(kinds ...auth.Kind) *tls.Config {
	return k.server(tls.RequestClientCert, expected{kinds: kinds, usage: x509.ExtKeyUsageClientAuth})
}

func (k *Keys) server(how tls.ClientAuthType, want expected) *tls.Config {
	base := k.config()
	base.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		s := k.current()
		c := k.config()
		c.ClientAuth, c.Certificates, c.NextProtos = how, []tls.Certificate{s.own}, protocols
		c.RootCAs = s.roots
		c.VerifyConnection = func(peer tls.ConnectionState) error {
			if how == tls.RequestClientCert && len(peer.PeerCertificates) == 0 {
				return nil
			}
			err := k.admit(peer.PeerCertificates, want)
			if err != nil {
				k.wrong.Warn("a connection is refused", "from", address(hello.Conn), "to", s.identity.String(), "error", err)
			}
			return err
		}
		return c, nil
	}
	return base
}

// Client is the configuration that dials a peer of a kind and name; an empty name is any.
func (k *Keys) Client(kind auth.Kind, name string) *tls.Config {
	want := expected{kinds: []auth.Kind{kind}, name: name, usage: x509.ExtKeyUsageServerAuth}
	c := k.config()
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		own := k.current().own
		return &own, nil
	}
	c.InsecureSkipVerify = true //nolint:gosec // who it is stands in the certificate's URI, and VerifyConnection asks for that
	c.VerifyConnection = func(peer tls.ConnectionState) error {
		return k.admit(peer.PeerCertificates, want)
	}
	return c
}

// Dial opens a connection to the peer of a kind and name, over TCP.
func (k *Keys) Dial(ctx context.Context, kind auth.Kind, name, address string) (net.Conn, error) {
	d := &tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTimeout}, Config: k.Client(kind, name)}
	return d.DialContext(ctx, "tcp", address)
}

// dialTimeout bounds a connection and its handshake.
const dialTimeout = 5 * time.Second

// Listen makes a listener serve only peers of some kinds. The handshake is made with the first use
// of a connection, so the deadlines that the caller sets bound it.
func (k *Keys) Listen(l net.Listener, kinds ...auth.Kind) net.Listener {
	return tls.NewListener(l, k.Server(kinds...))
}

// protocols are those of gRPC and of pages, for clients that name any; the data channels'
// name none.
var protocols = []string{"h2", "http/1.1"}

// config is the common part of all configurations. Without tickets each connection is checked by
// the certificates in force then. Records are as long as allowed from the first on: short ones are
// for browsers that show a page by its first bytes.
func (k *Keys) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true, DynamicRecordSizingDisabled: true, Time: k.now}
}

func address(c net.Conn) string {
	if c == nil || c.RemoteAddr() == nil {
		return ""
	}
	return c.RemoteAddr().String()
}
