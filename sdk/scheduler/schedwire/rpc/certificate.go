package rpc

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"time"
)

const (
	// CertificateKey is the variable in which a plug-in finds the certificate of its host, in PEM, as
	// go-plugin's AutoMTLS has it.
	CertificateKey = "PLUGIN_CLIENT_CERT"
	// CertificateName is the name in the certificates of both sides.
	CertificateName = "localhost"

	// certificateEarly is how long before now a certificate is valid, for clocks that step back;
	// certificateFor how long after. Each process gets a new one, which must last as long as a plug-in
	// can run.
	certificateEarly = time.Minute
	certificateFor   = 30 * 365 * 24 * time.Hour
)

// NewCertificate makes a key and a certificate for one side of the connection between a plug-in and
// its host, for the life of the plug-in.
//
// go-plugin would make a key on P-521. The TLS of gRPC in languages other than Go refuses it
// (BoringSSL verifies signatures on P-256 and P-384 only). And each side would compute for
// milliseconds before the first round, since Go has no fast code for it.
func NewCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: CertificateName}, DNSNames: []string{CertificateName}, SerialNumber: serial,
		NotBefore: now.Add(-certificateEarly), NotAfter: now.Add(certificateFor),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		IsCA:        true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
