package pages

import (
	"fmt"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
)

// decisionsShown is how many decisions a page shows.
const decisionsShown = 50

// policyPage shows the policy's state and decisions.
type policyPage struct {
	restapi.Policy
	Generation  string // as the command line writes it
	Why         string // why the fallback decides, or none does
	Filter      struct{ Job, Launcher, Kind, Outcome, Reason string }
	Kinds       []restapi.DecisionKind
	Outcomes    []restapi.ListDecisionsParamsOutcome
	Decisions   restapi.DecisionList
	Next, First string
}

// refreshAfter is long: how long the policy has decided, and the duration of rounds without
// decisions, have no events.
func (policyPage) refreshAfter() time.Duration { return idleAgain }

var (
	kinds    = []restapi.DecisionKind{restapi.DecisionKindLaunch, restapi.DecisionKindPreempt, restapi.DecisionKindResume, restapi.DecisionKindAdmit, restapi.DecisionKindRefuse}
	outcomes = []restapi.ListDecisionsParamsOutcome{restapi.ListDecisionsParamsOutcomeAccepted, restapi.ListDecisionsParamsOutcomeRefused}
)

func (s *Server) policy(r *http.Request) (string, any, error) {
	a, err := s.needs.Shown.GetPolicy(r.Context(), restapi.GetPolicyRequestObject{})
	if err != nil {
		return "", nil, err
	}
	page := policyPage{Policy: restapi.Policy(a.(restapi.GetPolicy200JSONResponse)), Kinds: kinds, Outcomes: outcomes}
	if g := page.Policy.Generation; g != nil {
		term, start := s.needs.Generation(uint64(*g))
		page.Generation = fmt.Sprintf("%d.%d", term, start)
	}
	page.Why = whyDown(&page.Policy)
	if err := s.addDecisions(r, &page); err != nil {
		return "", nil, err
	}
	return "Policy " + page.Name, page, nil
}

// whyDown is why the policy does not decide: how it failed, or that its start is not answered. The
// newest counts: a start that hangs says nothing of how the policy before it ended.
func whyDown(p *restapi.Policy) string {
	for _, x := range p.Problems { // the newest first
		failed, hangs := x.What == "policy", x.What == "start"
		switch p.State {
		case restapi.PolicyStateRunning:
		case restapi.PolicyStateFallback:
			if failed {
				return x.Text
			}
		default:
			if failed || hangs {
				return x.Text
			}
		}
	}
	return ""
}

// addDecisions adds the last matching decisions.
func (s *Server) addDecisions(r *http.Request, page *policyPage) error {
	q, f, most := r.URL.Query(), &page.Filter, decisionsShown
	f.Job, f.Launcher, f.Kind, f.Outcome, f.Reason = q.Get("job"), q.Get("launcher"), q.Get("kind"), q.Get("outcome"), q.Get("reason")
	p := restapi.ListDecisionsParams{Job: given(f.Job), Launcher: given(f.Launcher), Reason: given(f.Reason), Cursor: given(q.Get("cursor")), Limit: &most}
	if f.Job != "" && !jobName.MatchString(f.Job) {
		return status.Errorf(codes.InvalidArgument, "%.64q is no job: one is called job-7, say", f.Job)
	}
	if f.Kind != "" {
		kind := restapi.DecisionKind(f.Kind)
		if p.Kind = &kind; !kind.Valid() {
			return status.Errorf(codes.InvalidArgument, "%.64q is no kind of decision: %s", f.Kind, oneOf(kinds))
		}
	}
	if f.Outcome != "" {
		outcome := restapi.ListDecisionsParamsOutcome(f.Outcome)
		if p.Outcome = &outcome; !outcome.Valid() {
			return status.Errorf(codes.InvalidArgument, "%.64q is nothing that comes of a decision: %s", f.Outcome, oneOf(outcomes))
		}
	}
	a, err := s.needs.Shown.ListDecisions(r.Context(), restapi.ListDecisionsRequestObject{Params: p})
	if err != nil {
		return err
	}
	page.Decisions = a.(restapi.ListDecisions200JSONResponse).Body
	page.Next, page.First = turned(q, page.Decisions.Next)
	return nil
}
