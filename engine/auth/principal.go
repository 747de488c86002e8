package auth

import (
	"context"
	"errors"
	"slices"
	"time"
)

// How a principal was proved. Unproven is what somebody says of himself, where access
// control is off.
const (
	Unproven    = "unproven"
	Certificate = "certificate" // a client certificate of the cluster's CA
	Socket      = "socket"      // the kernel's word on the other end of manager.socket
	OIDC        = "oidc"
	Kerberos    = "kerberos"
)

// Principal is who makes a call. The zero Principal is nobody, and may do nothing.
type Principal struct {
	Kind   Kind
	Name   string
	Groups []string // in ascending order, without repetition
	Proof  string   // Certificate, Socket and so on
	By     string   // who acts in its name, "" when it acts itself
	// Shown are the groups that the proof names, of By where somebody acts for another. Those
	// that the manager's configuration adds are looked up anew for what a stream tells later.
	Shown []string
	// Until is when the proof ends by itself, as a token does: nothing goes on under it then.
	// Zero: it is good for as long as its connection.
	Until time.Time
	// Issued is when the certificate or token was that proves it; zero: something else does.
	Issued time.Time
}

// Proved tells whether more than the caller's own word says who it is.
func (p Principal) Proved() bool { return p.Name != "" && p.Proof != "" && p.Proof != Unproven }

// In tells whether the principal is in a group.
func (p Principal) In(group string) bool { return slices.Contains(p.Groups, group) }

// ErrLater is matched by an error that says nothing of who asks: it can't be told yet, and
// can in a moment.
var ErrLater = errors.New("ask again in a moment")

type principalKey struct{}

// With gives a context that carries who makes the call.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// From tells who makes the call. False: nobody was proved, and nothing is to be allowed.
func From(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(Principal)
	return p, ok
}
