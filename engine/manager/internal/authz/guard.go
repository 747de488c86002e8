// Package authz stands before every method and every page of the manager. It checks each request
// against its rule, by kind and role, and browsers' requests by their origin. It writes changes and
// refusals into the audit.
//
//	g := authz.New(log, rules)
//	grpc.ChainUnaryInterceptor(g.AuditUnary, proof.Unary, g.AuthorizeUnary)
//	mux.Handle(pattern, g.Page(pattern, handler, tell))
//	guarded := authz.GuardPages(proof.Pages(mux), authz.PageOptions{Hosts: []string{"manager.example.org"}, Actions: true})
//	http.Server{Handler: g.AuditPages(guarded)}
//
// # Invariants
//
// A request without a rule is refused. Handlers find the caller in the context (auth.From), with
// all groups, and with the user who acts for it. A change or refusal is in the audit before its
// answer leaves. Without rules no caller is refused by role, and names in the audit are unproven.
//
// The rules are one table of methods and pages in engine/auth/access. A test walks all existing
// methods and pages.
//
// Accepted paths are valid UTF-8. Pages refuse a browser that another site's page or name led here.
// Requests that change nothing (GET, HEAD, OPTIONS) are refused only for their Host.
package authz

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/access"
	"github.com/hamadryad/hamadryad/engine/manager/internal/audit"
)

// groupsMax bounds the groups that a request carries into the event log. If a user has more, groups
// that no rule names are dropped first.
const groupsMax = 64

// Guard judges requests. Safe for concurrent use.
type Guard struct {
	log   *audit.Log
	rules atomic.Pointer[access.Rules]
}

// New returns a guard with rules; nil: everybody may do everything.
func New(log *audit.Log, rules *access.Rules) *Guard {
	g := &Guard{log: log}
	g.rules.Store(rules)
	return g
}

// Set puts other rules in force, for the requests that begin from now on and for the next messages
// of open streams.
func (g *Guard) Set(rules *access.Rules) { g.rules.Store(rules) }

// Rules are the rules in force; nil: every caller may do everything.
func (g *Guard) Rules() *access.Rules { return g.rules.Load() }

// admit checks a request, named as access.RuleOf takes it, against its rule. The caller may want to
// act for another user. The returned context has the caller, also when the request is refused.
func (g *Guard) admit(ctx context.Context, request, actsFor string) (context.Context, error) {
	caller, _ := auth.From(ctx)
	rules, e := g.Rules(), audit.Of(ctx)
	var wrong error
	if rules != nil {
		if caller, wrong = settled(rules, caller, actsFor); wrong == nil {
			wrong = revoked(rules, caller)
		}
	}
	ctx = auth.With(ctx, caller)
	e.Asks(caller)
	if wrong != nil {
		return ctx, denied(wrong)
	}
	rule, ok := access.RuleOf(request)
	if !ok {
		return ctx, status.Errorf(codes.PermissionDenied, "%s has no rule of who may ask for it, so nobody may", request)
	}
	if rules != nil {
		if err := rules.May(caller.Kind, access.Caller{Name: caller.Name, Groups: caller.Groups}, rule); err != nil {
			return ctx, denied(err)
		}
	}
	switch {
	case !rule.Changes:
		return ctx, nil
	case rule.Kind == auth.Launcher:
		e.Changes()
		return ctx, nil
	}
	return ctx, e.Change()
}

// revoked refuses a caller whose certificate or token was revoked: its connection is older than the
// revocation, or the proof came with the call. A caller that acts for another user has shown its
// own proof.
func revoked(rules *access.Rules, caller auth.Principal) error {
	if !rules.Revoked.Of(caller) {
		return nil
	}
	return fmt.Errorf("the %s of %s %s is revoked (auth.revoked of the manager): have a new one issued", cmp.Or(proofs[caller.Proof], caller.Proof), caller.Kind, cmp.Or(caller.By, caller.Name))
}

// proofs are the words for proofs that can be revoked.
var proofs = map[string]string{auth.OIDC: "token"}

func denied(err error) error { return status.Error(codes.PermissionDenied, err.Error()) }

// settled is the caller with all its groups, and the user in whose name it acts.
func settled(rules *access.Rules, caller auth.Principal, actsFor string) (auth.Principal, error) {
	if !caller.Proved() {
		return auth.Principal{Kind: caller.Kind, Proof: auth.Unproven}, nil
	}
	self := rules.Known(caller.Name, caller.Groups)
	caller.Shown = caller.Groups
	if caller.Groups = bounded(rules, self.Groups); actsFor == "" || actsFor == caller.Name {
		return caller, nil
	}
	if caller.Kind != auth.User {
		return caller, fmt.Errorf("a %s acts for nobody", caller.Kind)
	}
	if err := auth.CheckName(actsFor); err != nil {
		return caller, fmt.Errorf("nobody can act for that name: %w", err)
	}
	other := rules.Known(actsFor, nil)
	if err := rules.Impersonate(self, other); err != nil {
		return caller, err
	}
	return auth.Principal{Kind: auth.User, Name: actsFor, Groups: bounded(rules, other.Groups), Shown: caller.Shown, Proof: caller.Proof, By: caller.Name, Until: caller.Until, Issued: caller.Issued}, nil
}

// bounded leaves out groups when there are too many, first those that no rule names.
func bounded(rules *access.Rules, groups []string) []string {
	if len(groups) <= groupsMax {
		return groups
	}
	groups = slices.DeleteFunc(slices.Clone(groups), func(g string) bool { return !rules.Names(g) })
	return groups[:min(len(groups), groupsMax)]
}
