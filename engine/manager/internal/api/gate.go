package api

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/internal/limits"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// prove replaces a submission's principal with the authenticated one, and removes the credentials,
// so that they do not get into the log. If the policy has an authenticator, every submission needs
// its approval.
func (s *Server) prove(ctx context.Context, spec *wire.JobSpec) error {
	c := scheduler.Credentials{
		Purpose: scheduler.PurposeSubmit, Principal: asker(ctx, spec.GetPrincipal().GetName()), Name: spec.GetName(), Pool: spec.GetPool(),
	}
	for _, p := range spec.Properties {
		c.Properties = append(c.Properties, scheduler.Property{Name: p.GetName(), Value: p.GetValue()})
	}
	spec.Properties = slices.DeleteFunc(spec.Properties, func(p *wire.Property) bool { return scheduler.IsProof(p.GetName()) })
	host, err := s.authenticator(ctx)
	if err != nil {
		return err
	}
	principal := c.Principal
	if host != nil {
		proof, err := host.Prove(ctx, c)
		switch {
		case err != nil:
			return authenticatorDown(err)
		case proof.Denied != nil:
			return status.Errorf(codes.PermissionDenied, "the job was not let in: %s", limits.Cut(scheduler.Printable(string(proof.Denied.Body)), deniedBytesMax))
		}
		principal = proof.Principal
		if err := sound(principal.Name, principal.Proof, principal.Role); err != nil {
			return err
		}
		if err := sameUser(c.Principal, principal); err != nil {
			return err
		}
	}
	p := submitter(ctx, nil)
	p.Name, p.Proof, p.Role = principal.Name, principal.Proof, principal.Role
	spec.Principal = p
	return nil
}

// sameUser refuses a user proved by the policy's authenticator who is not the caller, since the
// audit names the caller. A caller who may act for that user declares it (auth.ActsForKey), and
// then counts as the user.
func sameUser(caller, proved scheduler.Principal) error {
	if caller.Proof == scheduler.Unproven || proved.Name == "" || caller.Name == proved.Name {
		return nil
	}
	return status.Errorf(codes.PermissionDenied, "this was not let in: by %s you are %q, and what the policy wants proves %q: use the key of the same user, or act for that user if you may", caller.Proof, caller.Name, proved.Name)
}

// deniedBytesMax bounds the reason of a refusal that a client gets.
const deniedBytesMax = 1 << 10

// asker is the authenticated caller; without authentication, the name that it claims.
func asker(ctx context.Context, claimed string) scheduler.Principal {
	if p, ok := auth.From(ctx); ok && p.Proved() {
		return scheduler.Principal{Name: p.Name, Proof: p.Proof}
	}
	return scheduler.Principal{Name: claimed, Proof: scheduler.Unproven}
}

// submitter is the principal that the core gets, with its groups and with the user who acts for it.
func submitter(ctx context.Context, claimed *wire.Principal) *wire.Principal {
	p := asker(ctx, claimed.GetName())
	w := &wire.Principal{Name: p.Name, Proof: p.Proof}
	if caller, ok := auth.From(ctx); ok && caller.Proved() {
		w.Groups, w.By = caller.Groups, caller.By
	}
	return w
}

// sound checks the authenticator's texts against the bounds of what a client may send.
func sound(texts ...string) error {
	for _, t := range texts {
		if len(t) > limits.TextBytesMax || !utf8.ValidString(t) {
			return status.Errorf(codes.Internal, "the policy's authenticator gave a name, proof or role that is not UTF-8, or has more than %d bytes", limits.TextBytesMax)
		}
	}
	return nil
}

// authenticator returns the policy to ask for the user, nil if none has to be asked. The error says
// that the policy has to be asked, and is not up.
func (s *Server) authenticator(ctx context.Context) (policy.Host, error) {
	host, can := s.needs.Supervisor.Decider()
	switch {
	case host != nil && can.Has(scheduler.AbilityAuthenticator):
		return host, nil
	case host != nil:
		return nil, nil
	}
	authenticates := false
	if err := s.needs.Inbox.ReadNow(ctx, func(c *core.Core) { authenticates = c.Authenticates() }); err != nil {
		return nil, statusOf(err)
	}
	if authenticates {
		return nil, away("the policy, which authenticates callers, is down: try again later")
	}
	return nil, nil
}

// authenticatorDown is the error of an authenticator that gave no verdict.
func authenticatorDown(err error) error {
	if policy.KindOf(err) == policy.Canceled {
		return status.FromContextError(context.Canceled).Err()
	}
	return away(fmt.Sprintf("no request is let in, because the policy's authenticator failed: %v: try again later", err))
}

// away is the error of a call that has to wait for the policy, or for a launcher. Its detail says
// that the manager itself answers, and that nothing was done: a client that reaches no manager gets
// an error of the same code.
func away(why string) error {
	why = limits.Cut(scheduler.Printable(why), deniedBytesMax)
	s, err := status.New(codes.Unavailable, why).WithDetails(&wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: why})
	if err != nil { // of a message of ours it never is
		return status.Error(codes.Unavailable, why)
	}
	return s.Err()
}
