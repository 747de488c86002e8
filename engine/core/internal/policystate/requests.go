package policystate

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// request is a pending request for a policy's own page.
type request struct {
	id     uint64
	client uint64 // the client that waits for the answer
	event  scheduler.Requested
}

// Requests are the requests that the policy has not answered, in order. The zero value is empty.
// Not safe for concurrent use.
type Requests struct{ list []request }

// Request asks the policy for one of its own pages, under an id from next, or refuses the request.
// Without an answer it fails after Settings.RequestTimeout.
func (x *Session) Request(s *step.Step, next func() uint64, m *wire.PolicyRequest) {
	g := x.current
	switch {
	case g == nil:
		s.Reply(m.GetClient(), 0, &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: "no policy is running: try again later"})
		return
	case !g.Abilities.Has(scheduler.AbilityLoggedRequests):
		s.Reply(m.GetClient(), 0, g.noPages())
		return
	case len(x.Requests.list) >= s.Set.RequestsMax:
		s.Reply(m.GetClient(), 0, &wire.Failure{
			Kind:    wire.ErrorKind_ERROR_KIND_RESOURCE,
			Message: fmt.Sprintf("%d requests to the policy are under way, which is the limit: try again later", s.Set.RequestsMax),
		})
		return
	}
	id := next()
	s.SetTimer(s.Set.RequestTimeout, step.TimerRequest, id)
	e := scheduler.Requested{
		At: s.Now, Request: id, Method: m.GetMethod(), Path: m.GetPath(), Query: m.GetQuery(), Accept: m.GetAccept(), Body: m.GetBody(),
		Principal: scheduler.Principal{Name: m.GetPrincipal().GetName(), Proof: m.GetPrincipal().GetProof(), Role: m.GetPrincipal().GetRole()},
	}
	x.Requests.list = append(x.Requests.list, request{e.Request, m.GetClient(), e})
	x.Notify(e)
}

func (g *Generation) noPages() *wire.Failure {
	return step.Invalid(fmt.Sprintf("policy %s has no pages", g.Name))
}

// PassRequests sends the previous policy's unanswered requests to its successor.
func (x *Session) PassRequests(s *step.Step) {
	for _, r := range slices.Clone(x.Requests.list) {
		if x.Has(scheduler.AbilityLoggedRequests) {
			r.event.At = s.Now
			x.Notify(r.event)
		} else {
			x.Requests.end(s, r.id, step.Reply{Failure: x.current.noPages()})
		}
	}
}

// Answer passes a policy's answer on to the waiting client.
func (q *Requests) Answer(s *step.Step, a *scheduler.Answer) {
	q.end(s, a.Request, step.Reply{Answer: a})
}

// Expire fails a request that was not answered in time.
func (q *Requests) Expire(s *step.Step, id uint64) {
	q.end(s, id, step.Reply{Failure: &wire.Failure{
		Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: fmt.Sprintf("the policy did not answer within %v: try again later", s.Set.RequestTimeout),
	}})
}

// end ends a request, unless it was answered or has expired before.
func (q *Requests) end(s *step.Step, id uint64, r step.Reply) {
	at := slices.IndexFunc(q.list, func(r request) bool { return r.id == id })
	if at < 0 {
		return
	}
	r.Client = q.list[at].client
	q.list = slices.Delete(q.list, at, at+1)
	s.Emit(r)
}
