package pages

import (
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/internal/pages/charts"
	"github.com/hamadryad/hamadryad/engine/manager/internal/rest"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
)

// attemptsShown is how many attempts a job's page shows.
const attemptsShown = 50

// jobPage is about one job.
type jobPage struct {
	restapi.Job
	Over     bool
	Unread   bool          // its attempts can't be read: nothing is drawn of them, as if there were none
	Again    time.Duration // after what time the drawings can be newer; 0: they are of now
	Stage    string        // the selected stage
	Graph    template.HTML
	Timeline template.HTML
	By       string // the meaning of a lane
	Reasons  *restapi.ReasonList
	Waits    template.HTML // these, drawn
	Skew     *restapi.Distribution
	Skewed   template.HTML // as a histogram

	Elements    *elementsPart // nil: it is no job array, or they can't be read
	Asked       url.Values    // the page's parameters
	Attempts    restapi.AttemptList
	OfStage     string // the stage whose attempts are shown
	OfState     string // state of the displayed attempts
	States      []restapi.AttemptState
	Next, First string
}

// refreshAfter is long while the job runs and nothing changes: only durations change.
func (p jobPage) refreshAfter() time.Duration {
	if p.Again == 0 && !p.Over {
		return idleAgain
	}
	return p.Again
}

// With is the query of this page with another value of a parameter, from the first attempts on.
func (p jobPage) With(key, value string) string {
	q := maps.Clone(p.Asked)
	q.Del("cursor")
	q.Set(key, value)
	return "?" + q.Encode()
}

var attemptStates = []restapi.AttemptState{
	restapi.AttemptStateAhead, restapi.AttemptStateAssigned, restapi.AttemptStateRunning, restapi.AttemptStateStarved, restapi.AttemptStateSuspended, restapi.AttemptStateStopping,
	restapi.AttemptStateFinished, restapi.AttemptStateFailed, restapi.AttemptStatePreempted, restapi.AttemptStateLost, restapi.AttemptStateKilled,
}

// oneOf lists the allowed values.
func oneOf[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, x := range list {
		words[i] = string(x)
	}
	return "use one of " + strings.Join(words, ", ")
}

// jobName is the form of a job's name.
var jobName = regexp.MustCompile(`^job-[1-9][0-9]{0,18}$`)

func (s *Server) job(r *http.Request) (string, any, error) {
	id, q := r.PathValue("job"), r.URL.Query()
	if !jobName.MatchString(id) {
		return "", nil, status.Errorf(codes.NotFound, "%.64q is no job: one is called job-7, say", id)
	}
	of, err := wholeOf(id, q)
	if err != nil {
		return "", nil, err
	}
	w, err := s.needs.Shown.GetWhole(r.Context(), of)
	if err != nil {
		return "", nil, err
	}
	p := jobPage{Asked: maps.Clone(q), Job: w.Job, Again: w.Again, Over: w.Job.Ended != nil, By: string(*of.Timeline.By), Skew: w.Distribution, Attempts: w.Attempts, Reasons: w.Reasons, OfStage: q.Get("stage"), OfState: q.Get("state"), States: attemptStates}
	if w.Graph != nil {
		p.Graph = charts.Graph(*w.Graph, p.Stages)
	}
	if p.Array != nil {
		if p.Elements, err = s.elements(r, id); err != nil {
			return "", nil, err
		}
	}
	if p.Unread = w.Job.Damage != nil && w.Attempts.Kept == 0; p.Unread {
		p.Skew = nil
		return p.ID + " " + p.Name, p, nil
	}
	if w.Distribution != nil {
		p.Stage, p.Skewed = w.Distribution.Stage, charts.Histogram(*w.Distribution)
	}
	p.Timeline = charts.Timeline(w.Timeline)
	until := time.Now()
	if p.Ended != nil {
		until = *p.Ended
	}
	p.Waits = charts.Waits(p.Reasons, p.Submitted, until)
	p.Next, p.First = turned(q, p.Attempts.Next)
	return p.ID + " " + p.Name, p, nil
}

// wholeOf reads the parameters of a page's URL.
func wholeOf(job string, q url.Values) (rest.WholeQuery, error) {
	most, by := attemptsShown, restapi.GetTimelineParamsByLauncher
	of := rest.WholeQuery{
		Job: job, Timeline: restapi.GetTimelineParams{By: &by}, Stage: q.Get("stage"),
		Attempts: restapi.ListAttemptsParams{Limit: &most, Cursor: given(q.Get("cursor")), Stage: given(q.Get("stage"))},
	}
	if text := q.Get("by"); text != "" {
		if by = restapi.GetTimelineParamsBy(text); !by.Valid() {
			return of, status.Errorf(codes.InvalidArgument, "%.64q is nothing that a timeline is drawn by: use launcher or stage", text)
		}
	}
	if text := q.Get("state"); text != "" {
		state := restapi.AttemptState(text)
		if !state.Valid() {
			return of, status.Errorf(codes.InvalidArgument, "%.64q is no state of an attempt: %s", text, oneOf(attemptStates))
		}
		of.Attempts.State = &[]restapi.AttemptState{state}
	}
	return of, nil
}
