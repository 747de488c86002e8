package policy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"
)

const (
	// clientCertificateKey is the variable in which a plug-in finds the certificate
	// of its host, as go-plugin's AutoMTLS has it.
	clientCertificateKey = "PLUGIN_CLIENT_CERT"
	// certificateName is the name in the certificates of both sides.
	certificateName = "localhost"
	// certificateEarly is how long before now a certificate is valid, for clocks that step back;
	// certificateFor how long after. Each plug-in gets a new one, which must last as long as the
	// plug-in can run.
	certificateEarly = time.Minute
	certificateFor   = 30 * 365 * 24 * time.Hour
)

// newCertificate makes a key and a certificate for the life of one plug-in: the
// host's settings for TLS, and the certificate in PEM for the plug-in's environment.
// The plug-in's own certificate comes in its handshake, and go-plugin sets it as the
// only one to be trusted.
//
// go-plugin would make a key on P-521, which the TLS of gRPC in languages other than
// Go refuses (BoringSSL verifies signatures on P-256 and P-384 only). So the host
// brings its own, on P-256.
func newCertificate() (*tls.Config, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: certificateName}, DNSNames: []string{certificateName}, SerialNumber: serial,
		NotBefore: now.Add(-certificateEarly), NotAfter: now.Add(certificateFor),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		IsCA:        true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ServerName:   certificateName,
		MinVersion:   tls.VersionTLS12,
		// Until the handshake brings the plug-in's certificate no peer is trusted.
		RootCAs: x509.NewCertPool(),
	}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
