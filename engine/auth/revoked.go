package auth

import (
	"cmp"
	"errors"
	"strings"
	"time"
)

// Revoked are certificates and tokens that no longer count, although they have not expired. For an
// identity, written KIND/NAME, it has a time: what was issued before does not count. A launcher's
// entry covers its workers, too. Nil: none. It never changes once it is in force.
type Revoked map[string]time.Time

// Always is the time for an identity whose certificates never count again.
var Always = time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)

// Until is the time before which an identity's certificates no longer count. False: all of them
// count.
func (r Revoked) Until(kind Kind, name string) (time.Time, bool) {
	if kind == Worker {
		kind = Launcher
	}
	until, ok := r[string(kind)+"/"+name]
	return until, ok
}

// Covers reports whether an identity's certificate that was issued at a time is revoked.
func (r Revoked) Covers(kind Kind, name string, issued time.Time) bool {
	until, ok := r.Until(kind, name)
	return ok && issued.Before(until)
}

// Of reports whether the principal's certificate is revoked: that of the impersonator, if there is
// one.
func (r Revoked) Of(p Principal) bool {
	return !p.Issued.IsZero() && r.Covers(p.Kind, cmp.Or(p.By, p.Name), p.Issued)
}

var errKind = errors.New("it is launcher/NAME or user/NAME")

// CheckRevocable returns why a text can't be a key of Revoked, or nil. A manager is not revocable:
// it could not send that to its launchers.
func CheckRevocable(text string) error {
	kind, name, _ := strings.Cut(text, "/")
	if k := Kind(kind); k != Launcher && k != User {
		return errKind
	}
	return CheckName(name)
}
