package certs

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/internal/atomicfile"
)

const (
	// LifeDefault is the validity of a certificate that is issued by hand, and LifeMax the longest.
	LifeDefault = 365 * 24 * time.Hour
	LifeMax     = 10 * 365 * 24 * time.Hour
	// lifeCA is the validity of a CA.
	lifeCA = 10 * 365 * 24 * time.Hour
	// skew is how far the clock of a peer that checks a new certificate may be behind the issuer's.
	skew = 5 * time.Minute
	// organization is the part of the subject that marks our CAs.
	organization = "hamadryad"
)

// Names of files in a folder of certificates.
const (
	FileCA    = "ca.pem"
	FileCAKey = "ca.key"
)

// Authority is the cluster's CA: the certificate that every member trusts, and its key. Only the
// administrator has the key, or the manager that lets launchers join.
type Authority struct {
	cert *x509.Certificate
	text []byte // PEM
	key  crypto.Signer

	groups []string // of the users whose certificates it signs, see In
	hosts  []string // of the managers whose certificates it signs, see At
}

// Init makes a cluster's CA in a folder, as ca.pem and ca.key. It never replaces a CA.
func Init(folder, cluster string, now time.Time) (*Authority, error) {
	if err := auth.CheckCluster(cluster); err != nil {
		return nil, fmt.Errorf("the cluster's name: %w", err)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	for _, name := range []string{FileCA, FileCAKey} {
		if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
			return nil, fmt.Errorf("%s is there already: a cluster has one CA, and what it signed would count no more; choose another folder", filepath.Join(folder, name))
		}
	}
	key, keyText, err := NewKey()
	if err != nil {
		return nil, err
	}
	serial, err := serialNumber()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{Organization: []string{organization}, CommonName: cluster},
		NotBefore: now.Add(-skew), NotAfter: now.Add(lifeCA),
		IsCA: true, BasicConstraintsValid: true, MaxPathLen: 1, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	text := encode(der)
	if err := write(filepath.Join(folder, FileCA), text, filepath.Join(folder, FileCAKey), keyText); err != nil {
		return nil, err
	}
	return newAuthority(text, key)
}

// OpenAuthority reads a CA from its two files. It refuses a key that others may read, and a key
// that does not belong to the certificate.
func OpenAuthority(certFile, keyFile string) (*Authority, error) {
	text, err := readFile(certFile, false)
	if err != nil {
		return nil, err
	}
	keyText, err := readFile(keyFile, true)
	if err != nil {
		return nil, err
	}
	key, err := parseKey(keyFile, keyText)
	if err != nil {
		return nil, err
	}
	a, err := newAuthority(text, key)
	if err != nil {
		return nil, fmt.Errorf("%s, with the key in %s: %w", certFile, keyFile, err)
	}
	return a, nil
}

func newAuthority(text []byte, key crypto.Signer) (*Authority, error) {
	all, err := parseCertificates(text)
	if err != nil {
		return nil, err
	}
	for _, c := range all { // several while the CA is being replaced
		if public, ok := key.Public().(*ecdsa.PublicKey); ok && c.IsCA && public.Equal(c.PublicKey) {
			if err := auth.CheckCluster(c.Subject.CommonName); err != nil {
				return nil, fmt.Errorf("the CA's cluster: %w", err)
			}
			return &Authority{cert: c, text: text, key: key}, nil
		}
	}
	return nil, errors.New("the key is of none of the CA's certificates: name the two files that \"hamadryad ca init\" made together")
}

// Cluster is the name of the CA's cluster.
func (a *Authority) Cluster() string { return a.cert.Subject.CommonName }

// Text is the CA's certificate as PEM, to be handed out.
func (a *Authority) Text() []byte { return a.text }

// Pin identifies the CA: the SHA-256 of its certificate.
func (a *Authority) Pin() string { return pinOf(a.cert) }

func pinOf(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}

// Issue signs a certificate for an identity of this cluster. Its validity is at most LifeMax, and
// never beyond the CA's own. The result is PEM.
func (a *Authority) Issue(id auth.Identity, public crypto.PublicKey, now time.Time, life time.Duration) ([]byte, error) {
	switch {
	case id.Cluster != a.Cluster():
		return nil, fmt.Errorf("%s is of another cluster than this CA, which is that of %s", id, a.Cluster())
	case id.Kind == auth.Worker:
		return nil, errors.New("certificates of workers are made by their launchers")
	case life <= 0 || life > LifeMax:
		return nil, fmt.Errorf("a certificate for %v: it is good for more than 0 and at most %v", life, LifeMax)
	case !now.Before(a.cert.NotAfter):
		return nil, fmt.Errorf("the CA's certificate ended at %s, and this machine's clock says %s: set the clock right, or make a new CA with \"hamadryad ca init\"", stamp(a.cert.NotAfter), stamp(now))
	}
	return a.sign(id, public, now, life)
}

// groupsMax bounds the groups in a certificate.
const groupsMax = 64

// In returns a CA that names groups in its users' certificates. The error names a group that is
// invalid.
func (a *Authority) In(groups []string) (*Authority, error) {
	if len(groups) > groupsMax {
		return nil, fmt.Errorf("a certificate names at most %d groups", groupsMax)
	}
	for _, g := range groups {
		if err := auth.CheckGroup(g); err != nil || g == organization {
			return nil, fmt.Errorf("%.200q can be no group in a certificate: %w", g, cmp.Or(err, fmt.Errorf("all certificates have that name")))
		}
	}
	with := *a
	with.groups = groups
	return &with, nil
}

// sign makes a certificate with this one as issuer: the CA's, or a launcher's for its workers.
func (a *Authority) sign(id auth.Identity, public crypto.PublicKey, now time.Time, life time.Duration) ([]byte, error) {
	uri, err := url.Parse(id.String())
	if err != nil {
		return nil, err
	}
	serial, err := serialNumber()
	if err != nil {
		return nil, err
	}
	end := now.Add(life)
	if end.After(a.cert.NotAfter) {
		end = a.cert.NotAfter
	}
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{Organization: organizations(id, a.groups), CommonName: commonName(id)}, URIs: []*url.URL{uri},
		NotBefore: now.Add(-skew), NotAfter: end, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if id.Kind != auth.User {
		t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		if !strings.ContainsAny(id.Name, "+@") { // for tools that check host names alone, such as Prometheus with server_name
			t.DNSNames = []string{id.Name}
		}
	}
	if id.Kind == auth.Manager {
		a.name(t)
	}
	if id.Kind == auth.Launcher { // it issues its workers' certificates
		t.IsCA, t.MaxPathLenZero = true, true
		t.KeyUsage |= x509.KeyUsageCertSign
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, public, a.key)
	if err != nil {
		return nil, err
	}
	return encode(der), nil
}

// organizations are the subject's organizations: ours, and a user's groups.
func organizations(id auth.Identity, groups []string) []string {
	if id.Kind != auth.User {
		return []string{organization}
	}
	return append([]string{organization}, groups...)
}

// commonNameMax is the limit of X.509 (RFC 5280, appendix A.1, ub-common-name).
const commonNameMax = 64

// commonName is for people who look at a certificate; no decision depends on it.
func commonName(id auth.Identity) string {
	name := string(id.Kind) + " " + id.Name
	return name[:min(len(name), commonNameMax)]
}

// Write issues a certificate with a new key, and puts both into a folder as NAME.pem and
// NAME.key, beside the CA's certificate. It returns the paths of both.
func (a *Authority) Write(folder string, id auth.Identity, now time.Time, life time.Duration) (cert, key string, err error) {
	signer, keyText, err := NewKey()
	if err != nil {
		return "", "", err
	}
	text, err := a.Issue(id, signer.Public(), now, life)
	if err != nil {
		return "", "", err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", "", err
	}
	ca := filepath.Join(folder, FileCA)
	if _, err := os.Lstat(ca); os.IsNotExist(err) {
		if err := atomicfile.Replace(ca, a.text); err != nil {
			return "", "", err
		}
	}
	cert, key = filepath.Join(folder, id.Name+".pem"), filepath.Join(folder, id.Name+".key")
	if cert == ca {
		return "", "", errors.New("the name ca is that of the CA's own files: choose another folder or name")
	}
	return cert, key, write(cert, text, key, keyText)
}

// write puts a key and its certificate in place, the key first.
func write(certFile string, cert []byte, keyFile string, key []byte) error {
	if err := atomicfile.Replace(keyFile, key); err != nil {
		return err
	}
	return atomicfile.Replace(certFile, cert)
}

// NewKey makes a key, and its PEM: ECDSA on P-256, which every TLS 1.3 speaks.
func NewKey() (crypto.Signer, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func encode(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// serialNumber draws 127 random bits: nobody guesses them, and no two certificates share them.
func serialNumber() (*big.Int, error) {
	return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
}

// stamp formats a time for messages.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
