package auth

import (
	"cmp"
	"errors"
	"strings"
	"time"
)

// Revoked are certificates and tokens that count no more, although they are not over: of an identity,
// written KIND/NAME, those that were issued before a moment. Those of a launcher's workers
// go with it. Nil: none. It is never changed once it is in force.
type Revoked map[string]time.Time

// Always is the moment of an identity whose certificates never count again.
var Always = time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)

// Until is the moment before which certificates of somebody count no more. False: all of
// them count.
func (r Revoked) Until(kind Kind, name string) (time.Time, bool) {
	if kind == Worker {
		kind = Launcher
	}
	until, ok := r[string(kind)+"/"+name]
	return until, ok
}

// Covers tells whether a certificate of somebody that was issued at a moment is revoked.
func (r Revoked) Covers(kind Kind, name string, issued time.Time) bool {
	until, ok := r.Until(kind, name)
	return ok && issued.Before(until)
}

// Of tells whether the certificate is revoked that somebody showed: its own, when it acts for
// another.
func (r Revoked) Of(p Principal) bool {
	return !p.Issued.IsZero() && r.Covers(p.Kind, cmp.Or(p.By, p.Name), p.Issued)
}

var errKind = errors.New("it is launcher/NAME or user/NAME")

// CheckRevocable says why a text can be no key of Revoked, nil when it can. A manager is
// not among them: its launchers could not be told by it.
func CheckRevocable(text string) error {
	kind, name, _ := strings.Cut(text, "/")
	if k := Kind(kind); k != Launcher && k != User {
		return errKind
	}
	return CheckName(name)
}
