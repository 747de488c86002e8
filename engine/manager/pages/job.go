package pages

import (
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/pages/draw"
	"github.com/hamadryad/hamadryad/engine/manager/rest/api"
)

// attemptsShown is how many attempts a job's page shows.
const attemptsShown = 50

// jobPage is about one job.
type jobPage struct {
	api.Job
	Over     bool
	Stage    string // that is looked at closely
	Graph    template.HTML
	Timeline template.HTML
	By       string // what a lane of it is
	Skew     *api.Distribution
	Skewed   template.HTML // as a histogram

	Attempts    api.AttemptList
	OfStage     string // whose attempts are shown
	OfState     string // that attempts which are shown are in
	States      []api.AttemptState
	Next, First string
}

var attemptStates = []api.AttemptState{
	api.AttemptStateAssigned, api.AttemptStateRunning, api.AttemptStateStarved, api.AttemptStateSuspended, api.AttemptStateStopping,
	api.AttemptStateFinished, api.AttemptStateFailed, api.AttemptStatePreempted, api.AttemptStateLost, api.AttemptStateKilled,
}

// jobName is the form of a job's name.
var jobName = regexp.MustCompile(`^job-[1-9][0-9]{0,18}$`)

func (s *Server) job(r *http.Request) (string, any, error) {
	id, q := r.PathValue("job"), r.URL.Query()
	if !jobName.MatchString(id) {
		return "", nil, status.Errorf(codes.NotFound, "%.64q is no job: one is called job-7, say", id)
	}
	a, err := s.needs.Shown.GetJob(r.Context(), api.GetJobRequestObject{Job: id})
	if err != nil {
		return "", nil, err
	}
	p := jobPage{Job: a.(api.GetJob200JSONResponse).Body, Stage: q.Get("stage"), States: attemptStates}
	p.Over = p.Ended != nil
	if p.Stage == "" && len(p.Stages) > 0 {
		p.Stage = longest(p.Stages)
	}
	for _, add := range []func(*http.Request, *jobPage, url.Values) error{s.addGraph, s.addTimeline, s.addSkew, s.addAttempts} {
		if err := add(r, &p, q); err != nil {
			return "", nil, err
		}
	}
	return p.ID + " " + p.Name, p, nil
}

// longest is the stage with the most nodes: what is slow mostly is.
func longest(stages []api.Stage) string {
	return slices.MaxFunc(stages, func(x, y api.Stage) int { return x.Nodes - y.Nodes }).Name
}

// addGraph adds how the stages are joined, where that is kept.
func (s *Server) addGraph(r *http.Request, p *jobPage, _ url.Values) error {
	a, err := s.needs.Shown.GetGraph(r.Context(), api.GetGraphRequestObject{Job: p.ID})
	switch {
	case status.Code(err) == codes.NotFound:
		return nil
	case err != nil:
		return err
	}
	p.Graph = draw.Graph(api.Graph(a.(api.GetGraph200JSONResponse)), p.Stages)
	return nil
}

// addTimeline adds what ran when.
func (s *Server) addTimeline(r *http.Request, p *jobPage, q url.Values) error {
	by := api.GetTimelineParamsByLauncher
	if text := q.Get("by"); text != "" {
		if by = api.GetTimelineParamsBy(text); !by.Valid() {
			return status.Errorf(codes.InvalidArgument, "%.64q is nothing that a timeline is drawn by: use launcher or stage", text)
		}
	}
	p.By = string(by)
	a, err := s.needs.Shown.GetTimeline(r.Context(), api.GetTimelineRequestObject{Job: p.ID, Params: api.GetTimelineParams{By: &by}})
	if err != nil {
		return err
	}
	p.Timeline = draw.Timeline(a.(api.GetTimeline200JSONResponse).Body)
	return nil
}

// addSkew adds how long a stage's attempts took.
func (s *Server) addSkew(r *http.Request, p *jobPage, _ url.Values) error {
	if p.Stage == "" {
		return nil
	}
	a, err := s.needs.Shown.GetDistribution(r.Context(), api.GetDistributionRequestObject{Job: p.ID, Params: api.GetDistributionParams{Stage: p.Stage}})
	if err != nil {
		return err
	}
	d := a.(api.GetDistribution200JSONResponse).Body
	p.Skew, p.Skewed = &d, draw.Histogram(d)
	return nil
}

// addAttempts adds a page of the attempts.
func (s *Server) addAttempts(r *http.Request, p *jobPage, q url.Values) error {
	most := attemptsShown
	params := api.ListAttemptsParams{Limit: &most, Cursor: given(q.Get("cursor")), Stage: given(q.Get("stage"))}
	p.OfStage = q.Get("stage")
	if p.OfState = q.Get("state"); p.OfState != "" {
		state := api.AttemptState(p.OfState)
		if !state.Valid() {
			return status.Errorf(codes.InvalidArgument, "%.64q is no state of an attempt: use one of %v", p.OfState, attemptStates)
		}
		params.State = &[]api.AttemptState{state}
	}
	a, err := s.needs.Shown.ListAttempts(r.Context(), api.ListAttemptsRequestObject{Job: p.ID, Params: params})
	if err != nil {
		return err
	}
	p.Attempts = a.(api.ListAttempts200JSONResponse).Body
	p.Next, p.First = turned(q, p.Attempts.Next)
	return nil
}
