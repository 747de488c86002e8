package rest

import (
	"context"

	"github.com/hamadryad/hamadryad/engine/manager/internal/query"
	"github.com/hamadryad/hamadryad/engine/manager/internal/rest/request"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// GetPolicy returns the policy's state, without a call to the policy.
func (s *Server) GetPolicy(ctx context.Context, _ restapi.GetPolicyRequestObject) (restapi.GetPolicyResponseObject, error) {
	accepted, refused, err := s.needs.Read.Verdicts(ctx)
	if err != nil {
		return nil, err
	}
	r := s.needs.Policy.Overview()
	p := restapi.PolicyOf(r)
	for kind := scheduler.DecisionRefuse; int(kind) < len(accepted); kind++ {
		p.Accepted = append(p.Accepted, restapi.Count{Name: kind.String(), Count: int64(accepted[kind])})
	}
	for reason := scheduler.UnknownID; int(reason) < len(refused); reason++ {
		if n := refused[reason]; n > 0 {
			p.Refused = append(p.Refused, restapi.Count{Name: reason.String(), Count: int64(n)})
		}
	}
	if v := s.needs.Pools.View(); v.Generation == r.Generation {
		for _, f := range v.Facts {
			p.Facts = append(p.Facts, restapi.Property{Name: f.Name, Value: f.Value})
		}
	}
	return restapi.GetPolicy200JSONResponse(p), nil
}

// ListDecisions lists the last decisions, the newest first.
func (s *Server) ListDecisions(ctx context.Context, q restapi.ListDecisionsRequestObject) (restapi.ListDecisionsResponseObject, error) {
	before, err := request.NumberOf(request.Decisions, q.Params.Cursor)
	if err != nil {
		return nil, err
	}
	all, came, err := s.needs.Read.Decisions(ctx)
	if err != nil {
		return nil, err
	}
	page := restapi.DecisionList{Decisions: []restapi.Decision{}, Came: int64(came)}
	may, limit := s.needs.Service.MayLook(ctx), request.LimitOf(q.Params.Limit)
	for i := range all {
		d := &all[i]
		if !fits(d, &q.Params) || !mayLook(d, may) {
			continue
		}
		switch page.Total++; {
		case before != 0 && d.Number >= before, page.Truncated:
		case len(page.Decisions) == limit:
			page.Truncated, page.Next = true, request.Cursor(request.Decisions, request.Number(uint64(page.Decisions[limit-1].Number)))
		default:
			page.Decisions = append(page.Decisions, decision(d))
		}
	}
	return restapi.ListDecisions200JSONResponse{Body: page}, nil
}

func fits(d *query.Decision, p *restapi.ListDecisionsParams) bool {
	if p.Job != nil {
		if id := jobID(*p.Job); d.Job != id && d.From != id {
			return false
		}
	}
	return (p.Launcher == nil || d.On == *p.Launcher) && (p.Kind == nil || d.Kind.String() == string(*p.Kind)) &&
		(p.Outcome == nil || d.Accepted() == (*p.Outcome == restapi.ListDecisionsParamsOutcomeAccepted)) &&
		(p.Reason == nil || !d.Accepted() && d.Reason.String() == *p.Reason)
}

// mayLook reports whether the caller may look at a decision: at its job, or at the job that lost
// slots by it.
func mayLook(d *query.Decision, may func(*wire.JobSummary) bool) bool {
	return may(&wire.JobSummary{Job: uint64(d.Job), User: d.User, Pool: d.Pool}) ||
		d.From != 0 && may(&wire.JobSummary{Job: uint64(d.From), User: d.FromUser, Pool: d.FromPool})
}

func decision(d *query.Decision) restapi.Decision {
	x := restapi.Decision{
		Number: int64(d.Number), At: *restapi.TimeOf(max(d.At, 1)), Generation: int64(d.Generation), Round: int64(d.Round), Kind: restapi.DecisionKind(d.Kind.String()),
		Launcher: restapi.Pointer(d.On), Count: restapi.Pointer(d.Count),
		Accepted: d.Accepted(), Detail: restapi.Pointer(d.Detail),
	}
	if d.Job != 0 {
		x.Job = restapi.Pointer(d.Job.String())
	}
	if d.Bundle != 0 {
		x.Bundle = restapi.Pointer(d.Bundle.String())
	}
	if d.Attempt != 0 {
		x.Attempt = restapi.Pointer(d.Attempt.String())
	}
	if d.From != 0 {
		x.From = restapi.Pointer(d.From.String())
	}
	if !d.Accepted() {
		x.Reason = restapi.Pointer(d.Reason.String())
	}
	return x
}
