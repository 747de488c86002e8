package launchers

import (
	"errors"
	"maps"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// errRevoked ends the stream of a launcher whose certificate was revoked.
var errRevoked = errors.New("the launcher's certificate is revoked (auth.revoked of the manager): join with a new token")

// Revoke replaces the list of revoked certificates: streams of launchers that showed one end, and
// all other launchers get the list.
func (l *Table) Revoke(r auth.Revoked) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if maps.Equal(r, l.revoked) {
		return
	}
	l.revoked = r
	for _, one := range l.byName {
		switch s := one.session; {
		case s == nil:
		case l.covered(s):
			s.cancel(errRevoked)
		default:
			s.mu.Lock()
			s.revoked = revocations(r)
			s.mu.Unlock()
			s.nudge()
		}
	}
}

func (l *Table) covered(s *session) bool {
	return !s.issued.IsZero() && l.revoked.Covers(auth.Launcher, s.join.Name, s.issued)
}

// revocations are the message for launchers, also when the list has become empty.
func revocations(r auth.Revoked) *wire.Revocations {
	all := &wire.Revocations{Until: make(map[string]int64, len(r))}
	for name, until := range r {
		all.Until[name] = until.Unix()
	}
	return all
}
