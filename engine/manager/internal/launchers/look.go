package launchers

import (
	"context"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/access"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// MayLook reports whether the user of a certificate, which a launcher saw, has any role. Launchers
// have no rules of their own.
func (s *Server) MayLook(_ context.Context, q *wire.LookQuery) (*wire.LookAnswer, error) {
	rules := s.Rules()
	if rules == nil {
		return &wire.LookAnswer{May: true}, nil
	}
	caller := auth.Principal{Kind: auth.User, Name: q.User, Groups: q.Groups, Proof: auth.Certificate}
	if q.IssuedNs != 0 {
		caller.Issued = time.Unix(0, q.IssuedNs)
	}
	may := q.User != "" && !rules.Revoked.Of(caller) && rules.Has(rules.Known(q.User, q.Groups), access.Roles...)
	return &wire.LookAnswer{May: may}, nil
}
