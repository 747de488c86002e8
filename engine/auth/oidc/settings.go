package oidc

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/hamadryad/hamadryad/engine/auth"
)

// Settings say whose tokens are accepted, and which claims name the user. They can be compared.
type Settings struct {
	// Issuer is the URL that stands in tokens as iss, and below which the issuer describes itself
	// (OpenID Connect Discovery 1.0, section 4); "": no token is accepted.
	Issuer string
	// Audience must be in a token's aud.
	Audience string
	// NameClaim is the claim with the user's name, which follows NamePrefix; NameClaimDefault. The
	// default is the one claim that an issuer never gives to another user (OpenID Connect Core 1.0,
	// section 5.7).
	NameClaim, NamePrefix string
	// GroupsClaim is the claim with the names of groups, each behind GroupsPrefix;
	// GroupsClaimDefault. A token without that claim has no groups.
	GroupsClaim, GroupsPrefix string
	// CA is a file with the certificates that sign the issuer's; "": the system's.
	CA string
}

// Defaults of Settings.
const (
	NameClaimDefault   = "sub"
	GroupsClaimDefault = "groups"
)

// Filled returns the settings with defaults in place of empty fields.
func (s Settings) Filled() Settings {
	s.NameClaim = cmp.Or(s.NameClaim, NameClaimDefault)
	s.GroupsClaim = cmp.Or(s.GroupsClaim, GroupsClaimDefault)
	return s
}

// Check returns what is wrong and which key has it: issuer, audience, namePrefix, groupsPrefix or
// ca. The error is nil if nothing is wrong. Without an issuer nothing else may be set.
func (s Settings) Check() (key string, err error) {
	if s.Filled() == (Settings{}).Filled() {
		return "", nil
	}
	if err := checkURL(s.Issuer); err != nil {
		return "issuer", err
	}
	if s.Audience == "" {
		return "audience", errors.New("it is empty, and tokens that the issuer gave for others would count: name what stands in the tokens' aud for this cluster")
	}
	if err := auth.CheckName(s.NamePrefix + "x"); err != nil {
		return "namePrefix", fmt.Errorf("no name can begin so: %w", err)
	}
	if err := auth.CheckGroup(s.GroupsPrefix + "x"); err != nil {
		return "groupsPrefix", fmt.Errorf("no group's name can begin so: %w", err)
	}
	_, err = roots(s.CA)
	return "ca", err
}

// checkURL returns why a text can't be the URL of an issuer, or nil.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%.200q is no URL of an issuer, which begins with https:// and has no ? and #: take what the issuer calls itself, to the letter", text)
	}
	return nil
}

// caBytesMax bounds the file with the CA's certificates.
const caBytesMax = 1 << 20

// roots are the certificates of a file; nil: the system's.
func roots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > caBytesMax {
		return nil, fmt.Errorf("%s is no file of at most %d bytes", file, caBytesMax)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate in PEM: name the file with the CA that signs the issuer's certificate", file)
	}
	return pool, nil
}
