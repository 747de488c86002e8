package policy

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"

	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/rpc"
)

// newCertificate makes the host's settings for TLS with one plug-in, and its certificate in PEM for
// the plug-in's environment. The plug-in's own certificate comes in its handshake, and go-plugin
// sets it as the only one to be trusted.
func newCertificate() (*tls.Config, []byte, error) {
	own, err := rpc.NewCertificate()
	if err != nil {
		return nil, nil, err
	}
	return &tls.Config{
		Certificates: []tls.Certificate{own},
		ServerName:   rpc.CertificateName,
		MinVersion:   tls.VersionTLS12,
		// Until the handshake brings the plug-in's certificate no peer is trusted.
		RootCAs: x509.NewCertPool(),
	}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate[0]}), nil
}
