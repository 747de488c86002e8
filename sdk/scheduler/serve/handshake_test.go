package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/rpc"
)

// The certificate in the line is the one that is served with, and its key is on a fast curve.
func TestTheHandshakeHasTheServedCertificate(t *testing.T) {
	host, err := rpc.NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(rpc.CertificateKey, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: host.Certificate[0]})))
	var h handshake
	c, err := h.security()
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"", "|true"} {
		line := h.complete("1|1|unix|/tmp/socket|grpc|" + end)
		text, found := strings.CutPrefix(line, "1|1|unix|/tmp/socket|grpc|")
		text, ended := strings.CutSuffix(text, end)
		der, err := base64.RawStdEncoding.DecodeString(text)
		if !found || !ended || err != nil || string(der) != string(c.Certificates[0].Certificate[0]) {
			t.Errorf("the line is %q, %v", line, err)
		}
		x, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		if key, is := x.PublicKey.(*ecdsa.PublicKey); !is || key.Curve != elliptic.P256() {
			t.Errorf("the key is %T", x.PublicKey)
		}
	}
}

func TestHostsWithoutACertificate(t *testing.T) {
	t.Setenv(rpc.CertificateKey, "")
	var h handshake
	if c, err := h.security(); c != nil || err != nil {
		t.Errorf("without a host's certificate: %v, %v", c, err)
	}
	if line := h.complete("1|1|unix|/tmp/socket|grpc|"); line != "1|1|unix|/tmp/socket|grpc|" {
		t.Errorf("the line is %q", line)
	}
	t.Setenv(rpc.CertificateKey, "no PEM")
	if _, err := h.security(); err == nil || !strings.Contains(err.Error(), rpc.CertificateKey) {
		t.Errorf("with what is no certificate: %v", err)
	}
}
