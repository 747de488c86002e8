package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth"
)

// ErrCertificate is matched by every error about a certificate.
var ErrCertificate = errors.New("certificate refused")

// chainMax bounds how many certificates a peer may show: its own, its launcher's, and the CA's.
// Clients built on OpenSSL send the CA's, too.
const chainMax = 3

// expected describes the peer that one end of a connection expects.
type expected struct {
	kinds []auth.Kind
	name  string // "": any
	usage x509.ExtKeyUsage
}

// PeerIdentity is the identity of the peer, as the handshake proved it. It is for connections that
// were made with a configuration of this package.
func PeerIdentity(s tls.ConnectionState) (auth.Identity, error) {
	if !s.HandshakeComplete || len(s.PeerCertificates) == 0 {
		return auth.Identity{}, fmt.Errorf("%w: the other end showed none", ErrCertificate)
	}
	return identityOf(s.PeerCertificates[0])
}

// PeerIssued is when the peer's certificate was issued, to the second; zero if the peer showed
// none.
func PeerIssued(s tls.ConnectionState) time.Time {
	if len(s.PeerCertificates) == 0 {
		return time.Time{}
	}
	return issued(s.PeerCertificates[0])
}

// issued is when a certificate was issued: sign sets NotBefore earlier by skew.
func issued(c *x509.Certificate) time.Time { return c.NotBefore.Add(skew) }

// PeerGroups are the groups in the peer's certificate, in ascending order. Call PeerIdentity first.
func PeerGroups(s tls.ConnectionState) []string {
	if len(s.PeerCertificates) == 0 {
		return nil
	}
	groups := slices.DeleteFunc(slices.Clone(s.PeerCertificates[0].Subject.Organization), func(g string) bool {
		return g == organization || auth.CheckGroup(g) != nil
	})
	slices.Sort(groups)
	groups = slices.Compact(groups)
	return groups[:min(len(groups), groupsMax)]
}

// identityOf reads the identity in a certificate, which must have exactly one.
func identityOf(c *x509.Certificate) (auth.Identity, error) {
	if len(c.URIs) != 1 {
		return auth.Identity{}, fmt.Errorf("%w: it has %d names where one hamadryad://CLUSTER/KIND/NAME is wanted (subject %.100q): have the cluster's administrator issue one with \"hamadryad ca issue\"",
			ErrCertificate, len(c.URIs), c.Subject)
	}
	id, err := auth.ParseIdentity(c.URIs[0].String())
	if err != nil {
		return id, fmt.Errorf("%w: %w: have the cluster's administrator issue one with \"hamadryad ca issue\"", ErrCertificate, err)
	}
	return id, nil
}

// admit checks that a peer's certificates prove an expected identity and are not revoked.
func (k *Keys) admit(shown []*x509.Certificate, want expected) error {
	proved, err := k.current().admit(shown, want, k.now())
	if err != nil {
		return err
	}
	revoked := k.revoked.Load()
	if revoked == nil {
		return nil
	}
	for _, c := range proved[:len(proved)-1] { // the CA has no identity, so it is not revoked by one
		id, err := identityOf(c)
		if err != nil {
			return err
		}
		if until, _ := revoked.Until(id.Kind, id.Name); revoked.Covers(id.Kind, id.Name, issued(c)) {
			return fmt.Errorf("%w: that of %s was issued at %s and is revoked, as are all of before %s (auth.revoked of the manager): have a new one issued", ErrCertificate, id, stamp(issued(c)), stamp(until))
		}
	}
	return nil
}

// admit checks that a peer's certificates prove an expected identity. It returns their chain, from
// the peer's own to the CA's.
func (s *state) admit(shown []*x509.Certificate, want expected, now time.Time) ([]*x509.Certificate, error) {
	if len(shown) == 0 || len(shown) > chainMax {
		return nil, fmt.Errorf("%w: the other end showed %d", ErrCertificate, len(shown))
	}
	id, proved, err := s.verify(shown, want.usage, now)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(want.kinds, id.Kind) {
		return nil, fmt.Errorf("%w: it is that of %s, and here a %s is wanted", ErrCertificate, id, oneOf(want.kinds))
	}
	if want.name != "" && want.name != id.Name {
		return nil, fmt.Errorf("%w: it is that of %s, and here %s is wanted", ErrCertificate, id, want.name)
	}
	return proved, nil
}

// verify checks a chain to the cluster's CA, and which kinds may stand where in it. It returns the
// chain.
func (s *state) verify(shown []*x509.Certificate, usage x509.ExtKeyUsage, now time.Time) (auth.Identity, []*x509.Certificate, error) {
	id, err := identityOf(shown[0])
	if err != nil {
		return id, nil, err
	}
	if id.Cluster != s.identity.Cluster {
		return id, nil, fmt.Errorf("%w: %s is of another cluster than %s", ErrCertificate, id, s.identity)
	}
	between := x509.NewCertPool()
	for _, c := range shown[1:] {
		between.AddCert(c)
	}
	chains, err := shown[0].Verify(x509.VerifyOptions{Roots: s.roots, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage}})
	if err != nil {
		return id, nil, s.why(id, shown[0], err, now)
	}
	for _, chain := range chains {
		if vouched(id, chain) {
			return id, chain, nil
		}
	}
	return id, nil, fmt.Errorf("%w: %s is not signed by who may: the cluster's CA signs managers, launchers and users, and a launcher its own workers", ErrCertificate, id)
}

// vouched reports whether a verified chain has one of the two valid forms. One is the CA and a
// manager, launcher or user. The other is the CA, a launcher and a worker of that launcher.
func vouched(id auth.Identity, chain []*x509.Certificate) bool {
	switch len(chain) {
	case 2:
		return id.Kind != auth.Worker
	case 3:
		above, err := identityOf(chain[1])
		return err == nil && id.Kind == auth.Worker && above == auth.Identity{Cluster: id.Cluster, Kind: auth.Launcher, Name: id.Name}
	}
	return false
}

// why explains in our own words what is wrong with a chain.
func (s *state) why(id auth.Identity, leaf *x509.Certificate, err error, now time.Time) error {
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil:
		whose := id.String()
		if !invalid.Cert.Equal(leaf) {
			whose = fmt.Sprintf("%s above %s", invalid.Cert.Subject, id)
		}
		return s.lateness(whose, invalid.Cert, now)
	case errors.As(err, &unknown):
		return fmt.Errorf("%w: %s is signed by another CA than this cluster's, whose certificate is in %s (SHA-256 %s): issue one with the CA of this cluster", ErrCertificate, id, s.files.CA, s.pins())
	}
	return fmt.Errorf("%w: %s: %w", ErrCertificate, id, err)
}

// lateness explains that a certificate is not valid yet or any more, and by whose clock.
func (s *state) lateness(whose string, c *x509.Certificate, now time.Time) error {
	says := fmt.Sprintf("by the clock of %s, which says %s", s.identity, stamp(now))
	if now.Before(c.NotBefore) {
		return fmt.Errorf("%w: that of %s begins at %s, which is yet to come %s: set the clock that is wrong", ErrCertificate, whose, stamp(c.NotBefore), says)
	}
	return fmt.Errorf("%w: that of %s ended at %s, which is past %s: issue a new one, or set the clock that is wrong", ErrCertificate, whose, stamp(c.NotAfter), says)
}

func oneOf(kinds []auth.Kind) string {
	text := ""
	for i, k := range kinds {
		if i > 0 {
			text += " or "
		}
		text += string(k)
	}
	return text
}
