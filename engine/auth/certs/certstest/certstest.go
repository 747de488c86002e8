// Package certstest makes a cluster's certificates for tests.
package certstest

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
)

// Cluster is the name of the cluster of every CA that CA makes.
const Cluster = "test"

// CA is a cluster's CA in a folder that is removed with the test.
type CA struct {
	*certs.Authority
	Folder string
	t      testing.TB
}

// New makes a CA. Each call makes another CA of the same cluster.
func New(t testing.TB) *CA { return At(t, time.Now()) }

// At makes a CA at a time.
func At(t testing.TB, now time.Time) *CA {
	t.Helper()
	folder := t.TempDir()
	a, err := certs.Init(folder, Cluster, now)
	if err != nil {
		t.Fatal(err)
	}
	return &CA{a, folder, t}
}

// Files issues a certificate that is valid for an hour, and returns where it lies.
func (c *CA) Files(kind auth.Kind, name string) certs.Files {
	return c.FilesAt(kind, name, time.Now(), time.Hour)
}

// FilesAt issues a certificate at the time now, valid for life.
func (c *CA) FilesAt(kind auth.Kind, name string, now time.Time, life time.Duration) certs.Files {
	c.t.Helper()
	cert, _, err := c.Write(filepath.Join(c.Folder, string(kind)), auth.Identity{Cluster: Cluster, Kind: kind, Name: name}, now, life)
	if err != nil {
		c.t.Fatal(err)
	}
	return certs.Files{Certificate: cert}.Filled()
}

// Keys issues a certificate and opens it.
func (c *CA) Keys(kind auth.Kind, name string) *certs.Keys {
	c.t.Helper()
	keys, err := certs.Open(c.Files(kind, name), certs.Options{})
	if err != nil {
		c.t.Fatal(err)
	}
	return keys
}

// KeysIn is Keys for a user whose certificate names groups.
func (c *CA) KeysIn(name string, groups ...string) *certs.Keys {
	c.t.Helper()
	a, err := c.In(groups)
	if err != nil {
		c.t.Fatal(err)
	}
	with := *c
	with.Authority = a
	return with.Keys(auth.User, name)
}

// Below signs a certificate with these names, or with none, with the key of another certificate.
func Below(t testing.TB, above tls.Certificate, uris ...string) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(7), NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour), Subject: pkix.Name{CommonName: "x"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}, BasicConstraintsValid: true,
	}
	for _, text := range uris {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		template.URIs = append(template.URIs, u)
	}
	key, _, err := certs.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, above.Leaf, key.Public(), above.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: append([][]byte{der}, above.Certificate...), PrivateKey: key}
}

// Named has the CA sign a certificate that it would otherwise refuse: with names of any form, or
// none.
func (c *CA) Named(uris ...string) certs.Files {
	c.t.Helper()
	root, err := tls.LoadX509KeyPair(filepath.Join(c.Folder, certs.FileCA), filepath.Join(c.Folder, certs.FileCAKey))
	if err != nil {
		c.t.Fatal(err)
	}
	made := Below(c.t, root, uris...)
	key, err := x509.MarshalPKCS8PrivateKey(made.PrivateKey)
	if err != nil {
		c.t.Fatal(err)
	}
	f := certs.Files{Certificate: filepath.Join(c.t.TempDir(), "other.pem")}.Filled()
	err = errors.Join(os.WriteFile(f.CA, c.Text(), 0o600),
		os.WriteFile(f.Certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made.Certificate[0]}), 0o600),
		os.WriteFile(f.Key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
	if err != nil {
		c.t.Fatal(err)
	}
	return f
}
