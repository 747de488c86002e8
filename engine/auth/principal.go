package auth

import (
	"context"
	"errors"
	"slices"
	"time"
)

// How a principal was proved. Unproven is a name that the caller claims, where access control is
// off.
const (
	Unproven    = "unproven"
	Certificate = "certificate" // a client certificate of the cluster's CA
	Socket      = "socket"      // the kernel names the user at the other end of manager.socket
	OIDC        = "oidc"
	Kerberos    = "kerberos"
)

// Principal is the caller. The zero Principal is nobody, and may do nothing.
type Principal struct {
	Kind   Kind
	Name   string
	Groups []string // in ascending order, without repetition
	Proof  string   // Certificate, Socket and so on
	By     string   // the impersonator; "" if the caller acts for itself
	// Shown are the groups that the proof names; for an impersonated caller, the groups of By.
	// Groups from the manager's configuration are not among them: a stream looks them up anew.
	Shown []string
	// Until is when the proof expires by itself, as a token does: nothing continues under it then.
	// Zero: it is valid as long as its connection.
	Until time.Time
	// Issued is when the certificate or token of the proof was issued; zero for other proofs.
	Issued time.Time
}

// Proved reports whether anything but the caller's own claim proves its name.
func (p Principal) Proved() bool { return p.Name != "" && p.Proof != "" && p.Proof != Unproven }

// In reports whether the principal is in a group.
func (p Principal) In(group string) bool { return slices.Contains(p.Groups, group) }

// ErrLater is matched by an error that says nothing about the caller: its proof can't be checked
// now, and can be in a moment.
var ErrLater = errors.New("ask again in a moment")

type principalKey struct{}

// With returns a context that carries the caller.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// From returns the caller. False: no caller was proved, and nothing may be allowed.
func From(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(Principal)
	return p, ok
}
